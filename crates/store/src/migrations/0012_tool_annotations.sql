-- The title of a tool script, and its annotations as JSON. Each is NULL if the script has none.
ALTER TABLE scripts ADD COLUMN title TEXT;
ALTER TABLE scripts ADD COLUMN annotations TEXT;
