CREATE TABLE firmware_releases (
    board TEXT NOT NULL,
    version TEXT NOT NULL,
    id BIGINT NOT NULL UNIQUE,
    chip TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    elf_sha256 TEXT NOT NULL,
    size BIGINT NOT NULL,
    percent DOUBLE PRECISION NOT NULL,
    devices TEXT NOT NULL,
    paused INTEGER NOT NULL,
    forced INTEGER NOT NULL,
    released_at BIGINT NOT NULL,
    retry_from BIGINT NOT NULL,
    PRIMARY KEY (board, version)
);

CREATE TABLE firmware_attempts (
    id BIGINT PRIMARY KEY,
    device_id TEXT NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    release_id BIGINT NOT NULL,
    board TEXT NOT NULL,
    version TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    elf_sha256 TEXT NOT NULL,
    from_version TEXT NOT NULL,
    forced INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    size BIGINT NOT NULL,
    sent BIGINT NOT NULL,
    offered_at BIGINT NOT NULL,
    started_at BIGINT,
    finished_at BIGINT,
    ended_at BIGINT
);

CREATE INDEX firmware_attempts_device ON firmware_attempts (device_id, offered_at);

CREATE INDEX firmware_attempts_offered ON firmware_attempts (offered_at);
