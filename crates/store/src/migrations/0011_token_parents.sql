-- The token that a token was made with; revoking it revokes this one too. Without a foreign key:
-- servers of the version before delete tokens one by one.
ALTER TABLE api_tokens ADD COLUMN parent_id TEXT;
CREATE INDEX api_tokens_by_parent ON api_tokens (parent_id) WHERE parent_id IS NOT NULL;
