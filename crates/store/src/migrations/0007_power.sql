-- `saved_power`: the permissions that the user who last saved the shared code held at that time. A JSON
-- list, or NULL for all permissions. Code that was saved before this migration counts as saved by an
-- administrator.
ALTER TABLE scripts ADD COLUMN saved_power TEXT;
ALTER TABLE templates ADD COLUMN saved_power TEXT;
ALTER TABLE event_sinks ADD COLUMN saved_power TEXT;

-- The user who set the health check, or who created the agent token; NULL if it was the owner of the
-- space.
ALTER TABLE spaces ADD COLUMN health_check_by TEXT;
ALTER TABLE agent_tokens ADD COLUMN made_by TEXT;
CREATE INDEX spaces_by_health_check_by ON spaces (health_check_by)
    WHERE health_check_by IS NOT NULL;
CREATE INDEX agent_tokens_by_made_by ON agent_tokens (made_by) WHERE made_by IS NOT NULL;
