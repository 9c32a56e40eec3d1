-- The title of a tool script, and its annotations as JSON; NULL if there are none.
ALTER TABLE scripts ADD COLUMN title TEXT;
ALTER TABLE scripts ADD COLUMN annotations TEXT;
