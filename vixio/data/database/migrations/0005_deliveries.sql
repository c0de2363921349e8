CREATE TABLE deliveries (
    id TEXT PRIMARY KEY,
    series TEXT NOT NULL,
    kind TEXT NOT NULL,
    device_id TEXT NOT NULL,
    text TEXT NOT NULL,
    length_ms BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    rule TEXT NOT NULL,
    zone TEXT NOT NULL,
    priority INTEGER NOT NULL,
    expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    sender TEXT NOT NULL,
    state TEXT NOT NULL,
    owner TEXT NOT NULL,
    lease_until BIGINT NOT NULL,
    attempts INTEGER NOT NULL,
    ended_at BIGINT,
    heard TEXT NOT NULL,
    reason TEXT NOT NULL
);

CREATE INDEX deliveries_due ON deliveries (state, not_before);

CREATE INDEX deliveries_device ON deliveries (device_id, state, due_at);

CREATE INDEX deliveries_series ON deliveries (series, due_at);
