-- Rows that a request without a credential causes have the network of the client, an IPv6 /48 or an IPv4 /24. When there
-- are too many rows, the network with the most rows loses its oldest ones. All rows of earlier versions have the empty name.
ALTER TABLE oauth_clients ADD COLUMN network TEXT NOT NULL DEFAULT '';
ALTER TABLE oauth_consents ADD COLUMN network TEXT NOT NULL DEFAULT '';
ALTER TABLE oauth_devices ADD COLUMN network TEXT NOT NULL DEFAULT '';
ALTER TABLE oidc_logins ADD COLUMN network TEXT NOT NULL DEFAULT '';
ALTER TABLE passkey_challenges ADD COLUMN network TEXT NOT NULL DEFAULT '';

-- With these, the rows are counted and ranked without reading them.
CREATE INDEX oauth_consents_by_network ON oauth_consents (network, expires_at DESC, id DESC);
CREATE INDEX oauth_devices_by_network ON oauth_devices (network, expires_at DESC, hash DESC);
CREATE INDEX oidc_logins_by_network ON oidc_logins (network, expires_at DESC, state_hash DESC);
CREATE INDEX passkey_challenges_by_network ON passkey_challenges (network, expires_at DESC, hash DESC)
    WHERE user_id IS NULL;
