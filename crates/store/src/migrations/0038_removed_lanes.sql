-- `removed_from`: the former `owner_key` of a removed lane. Its deliveries, and then the lane, are removed in small steps;
-- until then their texts count in `event_usage` of this key. NULL for all other lanes.
ALTER TABLE lanes ADD COLUMN removed_from TEXT;
CREATE INDEX lanes_removed ON lanes (removed_from, id) WHERE removed_from IS NOT NULL;

-- Lists of spaces do not read deleted spaces.
CREATE INDEX spaces_present ON spaces (id) WHERE state <> 'deleted';
CREATE INDEX spaces_present_by_owner ON spaces (owner_id, id) WHERE state <> 'deleted';

-- Apps that no user has ever connected, for the limit of their number.
CREATE INDEX oauth_clients_never_used ON oauth_clients (network, fresh_until DESC, id DESC)
    WHERE last_used_at IS NULL AND blocked = 0 AND kind IN ('registered', 'metadata');
