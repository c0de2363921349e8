CREATE TABLE turn_sounds (
    turn_id TEXT PRIMARY KEY REFERENCES turns (id) ON DELETE CASCADE,
    device_id TEXT NOT NULL,
    at BIGINT NOT NULL,
    size BIGINT NOT NULL,
    pcm BYTEA NOT NULL
);

CREATE INDEX turn_sounds_at ON turn_sounds (at, turn_id, size);

CREATE INDEX turn_sounds_device ON turn_sounds (device_id, at);
