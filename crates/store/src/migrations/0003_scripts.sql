-- Stored scripts. `owner_key` is the owner's id, or 'global'. Kind and owner never change.
CREATE TABLE scripts (
    id TEXT PRIMARY KEY,
    owner_key TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    description TEXT NOT NULL,
    source TEXT NOT NULL,
    params_schema TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX scripts_by_name ON scripts (owner_key, kind, name);

-- For the search for uses of a script before it is deleted.
CREATE INDEX spaces_by_startup_script ON spaces (startup_script_id)
    WHERE startup_script_id IS NOT NULL;
