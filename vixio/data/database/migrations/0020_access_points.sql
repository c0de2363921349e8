CREATE TABLE access_points (
    digest TEXT PRIMARY KEY,
    profile TEXT UNIQUE REFERENCES profiles (name) ON DELETE CASCADE,
    device_id TEXT UNIQUE REFERENCES devices (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    CHECK ((profile IS NULL) <> (device_id IS NULL))
);
