CREATE TABLE devices (
    id TEXT PRIMARY KEY,
    client_id TEXT NOT NULL DEFAULT '',
    name TEXT NOT NULL DEFAULT '',
    board TEXT NOT NULL DEFAULT '',
    chip TEXT NOT NULL DEFAULT '',
    firmware TEXT NOT NULL DEFAULT '',
    serial TEXT NOT NULL DEFAULT '',
    address TEXT NOT NULL DEFAULT '',
    language TEXT NOT NULL DEFAULT '',
    features TEXT NOT NULL DEFAULT '[]',
    tools TEXT NOT NULL DEFAULT '[]',
    first_seen BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    claimed_at BIGINT,
    claimed_by TEXT NOT NULL DEFAULT '',
    blocked_at BIGINT,
    block_reason TEXT NOT NULL DEFAULT '',
    code TEXT UNIQUE,
    code_at BIGINT,
    challenge TEXT NOT NULL DEFAULT '',
    asking_client TEXT NOT NULL DEFAULT '',
    hmac_key TEXT NOT NULL DEFAULT '',
    verified_at BIGINT,
    tokens_from BIGINT NOT NULL DEFAULT 0
);

CREATE INDEX devices_last_seen ON devices (last_seen);

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    device_id TEXT NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    client_id TEXT NOT NULL,
    issued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    revoked_at BIGINT
);

CREATE INDEX tokens_device ON tokens (device_id, issued_at);

CREATE INDEX tokens_expiry ON tokens (expires_at);

CREATE TABLE wrong_codes (
    actor TEXT NOT NULL,
    at BIGINT NOT NULL
);

CREATE INDEX wrong_codes_actor ON wrong_codes (actor, at);

CREATE TABLE audit (
    id BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    detail TEXT NOT NULL DEFAULT '{}'
);
