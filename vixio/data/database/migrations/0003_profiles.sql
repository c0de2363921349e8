CREATE TABLE profiles (
    name TEXT PRIMARY KEY,
    content TEXT NOT NULL,
    changed_at BIGINT NOT NULL
);

ALTER TABLE devices ADD COLUMN profile TEXT REFERENCES profiles (name) ON DELETE SET NULL;
