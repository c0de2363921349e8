CREATE TABLE people (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    added_at BIGINT NOT NULL
);

ALTER TABLE devices ADD COLUMN person_id TEXT REFERENCES people (id) ON DELETE SET NULL;

CREATE INDEX devices_person ON devices (person_id);
