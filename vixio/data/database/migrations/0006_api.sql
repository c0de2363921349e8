CREATE TABLE api_users (
    name TEXT PRIMARY KEY,
    password TEXT NOT NULL,
    changed_at BIGINT NOT NULL
);

CREATE TABLE api_tokens (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    expires_at BIGINT,
    used_at BIGINT,
    revoked_at BIGINT
);

CREATE INDEX api_tokens_expiry ON api_tokens (expires_at);
