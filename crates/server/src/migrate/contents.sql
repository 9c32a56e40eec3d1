-- The rows of the source database in the migration tests. Not all of them are copied.

INSERT INTO meta (key, value)
    VALUES ('server_id', '01890a5d-ac96-774b-bcce-b302099a8057'), ('secret_key_check', 'c2Vj');
INSERT INTO users (id, username, password_hash, active, created_at, quotas, last_seen_at)
    VALUES ('u1', 'ann', 'h', 1, 5, NULL, 7), ('u2', 'ünal', '', 0, 5, NULL, NULL);
INSERT INTO groups (id, name, created_at) VALUES ('g1', 'ops', 1);
INSERT INTO user_groups (user_id, group_id) VALUES ('u1', 'g1');
INSERT INTO user_roles (user_id, role_id) SELECT 'u1', id FROM roles WHERE name = 'admin';
INSERT INTO api_tokens (id, user_id, name, hash, scopes, created_at, expires_at, last_used_at, parent_id)
    VALUES ('t1', 'u1', 'n', X'00FF27', '[]', 1, NULL, NULL, NULL);
INSERT INTO sessions (id, user_id, hash, created_at, expires_at, last_used_at, address, user_agent, must_enrol)
    VALUES ('s1', 'u1', X'01', 1, 9223372036854775807, NULL, '', 'curl', 0);
INSERT INTO templates (id, name, ports, startup_script_id, health_check, custom_fields, created_at, saved_power)
    VALUES ('tp1', 'small', '[]', NULL, NULL, '{}', 1, '["use_spaces"]');
INSERT INTO spaces (id, name, owner_id, state, health, runtime, template_id, health_check, node_id,
        space_urls, created_at) VALUES
    ('sp1', 'lab', 'u1', 'deployed', 'unknown', 'external', 'tp1', '{}',
        '01890a5d-ac96-774b-bcce-b302099a8057', '[]', 1),
    ('sp2', 'new', 'u1', 'created', 'unknown', 'external', NULL, '{}', NULL, '[]', 1);
INSERT INTO agent_tokens (id, space_id, hash, kind, created_at, made_by)
    VALUES ('at1', 'sp1', X'02', 'agent', 1, 'u2');
INSERT INTO scripts (id, owner_key, owner_id, name, kind, description, source, params_schema, created_at, updated_at,
        saved_power, title, annotations)
    VALUES ('sc1', 'u1', 'u1', 'go', 'tool', '', 'x = ''?1 $1''', NULL, 1, 1, '[]', 'Go', '{"read_only":true}');
INSERT INTO event_sinks (id, owner_key, owner_id, name, description, patterns, type, active, config,
        secret, previous_secret, previous_until, created_at, saved_power, sealed_headers) VALUES
    ('k1', 'u1', 'u1', 'hook', '', '["*"]', 'webhook', 1, '{}', X'0102', NULL, NULL, 1,
        NULL, X'05'),
    ('k2', 'global', 'u1', 'all', '', '["*"]', 'webhook', 1, '{}', X'03', X'', 5, 1, '[]', NULL);
INSERT INTO lanes (id, delivery_kind, owner_key, owner_id, sink_id, method, patterns, formatters, active, tail,
        depth, next_at, failures, starts, lease_owner, lease_until, fence, dropped) VALUES
    ('l1', 'webhook', 'u1', 'u1', 'k1', NULL, '["*"]', '[]', 1, 450, 3, 0, 0, 1,
        '01890a5d-ac96-774b-bcce-b302099a8057', 9999999999999, 7, 0),
    ('l2', 'webhook', 'global', 'u1', 'k2', NULL, '["*"]', '[]', 1, 450, 0, 0, 0, 0, NULL, 0, 0, 2);
INSERT INTO lane_declarations (lane_id, space_id, server_id)
    VALUES ('l1', 'sp1', '01890a5d-ac96-774b-bcce-b302099a8057');
INSERT INTO lane_patterns (lane_id, owner_key, chars, text) VALUES ('l1', 'u1', 0, ''), ('l2', 'global', 0, '');
INSERT INTO lane_feeds (lane_id, n, selection, position, total, queued, started_at)
    VALUES ('l1', 1, '{"kind":"deliveries","numbers":[1]}', '0', 10, 2, 1);
INSERT INTO event_numbers (id, newest) VALUES (1, 1000);
INSERT INTO servers (id, url, svc_version, started_at, seen_at, links, draining, advertise_url, side_links)
    VALUES ('01890a5d-ac96-774b-bcce-b302099a8057', 'http://a', '0', 1, 1, 0, 0, 'http://a', 1);
INSERT INTO limit_use (server_id, at, uses) VALUES ('01890a5d-ac96-774b-bcce-b302099a8057', 1, '{}');
INSERT INTO login_failures (slot, count, last) VALUES (1, 1, 1);
INSERT INTO log_requests (id, at, server_id, space_id, after_line, line_limit, lines)
    VALUES ('r1', 1, '01890a5d-ac96-774b-bcce-b302099a8057', 'sp1', NULL, 10, NULL);
INSERT INTO audit_usage (owner_key, day, bytes) VALUES ('u1', 20000, 300), ('system u1', 20000, 600);
INSERT INTO event_usage (owner_key, bytes) VALUES ('u1', 4096), ('global', 512);
INSERT INTO zone_changes (id, at, kind, key) VALUES (1, 1, 'groups', '');
INSERT INTO idempotency_keys (user_id, key, body_hash, event_id, event_type, expires_at)
    VALUES ('u1', 'key', X'04', 'e00001', 'a', 5);

INSERT INTO oauth_clients (id, client_id, kind, name, redirect_uris, secret_hash, fresh_until, blocked, created_at,
        last_used_at, network)
    VALUES ('c1', 'x', 'registered', 'App', '[]', NULL, 0, 0, 1, NULL, '::/48');
INSERT INTO oauth_grants (id, user_id, client_id, scopes, resource, redirect_host, created_at, last_used_at, expires_at)
    VALUES ('gr1', 'u1', 'c1', 'mcp', 'http://a/mcp', 'a', 1, NULL, 9);
INSERT INTO oauth_tokens (id, grant_id, user_id, kind, hash, scopes, created_at, expires_at, replaced_at)
    VALUES ('ot1', 'gr1', 'u1', 'refresh', X'06', 'mcp', 1, 9, NULL);
INSERT INTO sources (id, owner_id, name, description, token_hash, verify, event_type, headers, active, secret,
        previous_secret, previous_until, created_at)
    VALUES ('so1', 'u1', 'github', '', X'09', '{"type":"github"}', '{}', '[]', 1, X'0A', NULL, NULL, 1);
INSERT INTO schedules (id, owner_id, name, description, cron, timezone, payload, missed, active, next_at, last_at,
        last_event_id, failure, created_at)
    VALUES ('sh1', 'u1', 'nightly', '', '0 2 * * *', 'Europe/Berlin', '{"a":1}', 'once', 1, 99, NULL, NULL, NULL, 1);
INSERT INTO call_blocks (id, owner_id, first_at, last_at, row_count, data, kept)
    VALUES ('cb1', 'u1', 1, 2, 3, X'01FF', 1);
INSERT INTO call_block_callers (user_id, last_at, block_id) VALUES ('u1', 2, 'cb1');
INSERT INTO call_payloads (id, owner_id, first_at, last_at, byte_count, data, kept)
    VALUES ('cp1', 'u1', 1, 2, 2, X'01FF', 1);
INSERT INTO method_stats (id, owner_id, starts_at, period_ms, data) VALUES ('ms1', 'u1', 60000, 60000, X'0100');
INSERT INTO call_stats (id, owner_id, starts_at, period_ms, data)
    VALUES ('cs1', '00000000-0000-0000-0000-000000000000', 60000, 60000, X'0100');
INSERT INTO oauth_consents (id, client_id, redirect_uri, state, challenge, scopes, resource, issuer, session_id,
        expires_at, network)
    VALUES ('co1', 'c1', 'http://a/', NULL, 'x', 'mcp', '', '', NULL, 9, '::/48');
INSERT INTO oauth_codes (hash, user_id, client_id, redirect_uri, challenge, scopes, resource, expires_at, used_at,
        grant_id, token_id)
    VALUES (X'07', 'u1', 'c1', 'http://a/', 'x', 'mcp', '', 9, NULL, NULL, NULL);
INSERT INTO oauth_devices (hash, user_code, client_id, name, address, state, user_id, created_at, expires_at,
        polled_at, poll_seconds, network)
    VALUES (X'08', 'BCDFGHJK', 'c1', 'n', '::1', 'pending', NULL, 1, 9, NULL, 5, '::/48');
INSERT INTO totp (user_id, secret, last_step, wrong_codes, created_at) VALUES ('u1', X'09', 5, 0, 1);
INSERT INTO recovery_codes (user_id, hash) VALUES ('u1', X'0A'), ('u1', X'0B');
INSERT INTO totp_enrolments (user_id, secret, expires_at) VALUES ('u1', X'0C', 9);
INSERT INTO pending_logins (hash, user_id, proof, tries, expires_at) VALUES (X'0D', 'u1', X'0E', 0, 9);
INSERT INTO passkeys (id, user_id, name, credential_id, public_key, counter, created_at, last_used_at)
    VALUES ('pk1', 'u1', 'Phone', X'0F', X'10', 3, 1, NULL);
INSERT INTO passkey_challenges (hash, purpose, user_id, expires_at, network) VALUES (X'11', 'login', NULL, 9, '::/48');

INSERT INTO oidc_providers (id, name, label, issuer, client_id, sealed_secret, scopes, enabled, create_users,
        required_claims, groups_claim, mappings, created_at)
    VALUES ('op1', 'corp', 'Corp', 'https://id', 'svc', X'09', '["openid"]', 1, 0, '{}', 'groups', '[]', 1);
INSERT INTO oidc_identities (id, provider_id, user_id, issuer, sub, email, display_name, created_at, last_login_at)
    VALUES ('oi1', 'op1', 'u1', 'https://id', 'sub', 'a@b', NULL, 1, 9);
INSERT INTO oidc_memberships (identity_id, kind, target_id) VALUES ('oi1', 'group', 'g1');
INSERT INTO oidc_sessions (session_id, identity_id, sid) VALUES ('s1', 'oi1', 'sid');
INSERT INTO oidc_grants (target_id, identity_id, sid) VALUES ('gr1', 'oi1', 'sid');
INSERT INTO oidc_pending_grants (hash, identity_id, sid, expires_at) VALUES (X'12', 'oi1', 'sid', 9);
INSERT INTO oidc_logins (state_hash, browser_hash, provider_id, nonce, verifier, redirect_uri, return_to,
        link_session_id, expires_at, network)
    VALUES (X'0A', X'0B', 'op1', 'n', 'v', 'http://a/', '/', NULL, 9, '::/48');
INSERT INTO oidc_logout_tokens (hash, expires_at) VALUES (X'0C', 9);

WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
INSERT INTO events (id, type, ts, owner_id, space_id, actor, data, charged_to, seq, trace)
    SELECT printf('e%05d', i), 'a', -i, 'u1', '', '{}',
    '{"text":"Grüße 🦀 ' || i || '"}', CASE WHEN i = 7 THEN 'global' END, i,
    CASE WHEN i = 8 THEN '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 a=1' END FROM n;

WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 450)
INSERT INTO deliveries (lane_id, n, event_id, event_type, state, queued_at, finished_at)
    SELECT lanes.id, i, printf('e%05d', i), 'a',
    CASE WHEN i > 447 THEN 'pending' ELSE 'delivered' END, i, CASE WHEN i > 447 THEN NULL ELSE i END
    FROM lanes, n;

INSERT INTO attempts (lane_id, n, attempt, at, status, ms, error, output)
    SELECT lane_id, n, a.attempt, 1, NULL, 2, 'no "answer"', 'a' || char(0) || 'b'
    FROM deliveries, (SELECT 1 AS attempt UNION ALL SELECT 2) a;

WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
INSERT INTO audit (id, at, actor, action, target_type, target_id, detail, occurrences, event_id)
    SELECT printf('a%05d', i), i, 'ann', 'x', 'user', 'u1', '{}', 1, NULL FROM n;
