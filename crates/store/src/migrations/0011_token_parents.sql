-- The token that created this token. Revoking the parent revokes this token too. Not a foreign key:
-- servers of the previous version delete a token without the tokens that it created.
ALTER TABLE api_tokens ADD COLUMN parent_id TEXT;
CREATE INDEX api_tokens_by_parent ON api_tokens (parent_id) WHERE parent_id IS NOT NULL;
