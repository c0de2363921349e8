CREATE TABLE turns (
    id TEXT PRIMARY KEY,
    device_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn BIGINT NOT NULL,
    at BIGINT NOT NULL,
    heard TEXT NOT NULL,
    said TEXT NOT NULL,
    outcome TEXT NOT NULL,
    error TEXT NOT NULL,
    stages TEXT NOT NULL,
    tools TEXT NOT NULL,
    models TEXT NOT NULL
);

CREATE INDEX turns_device ON turns (device_id, at);

CREATE INDEX turns_session ON turns (session_id, turn);

CREATE INDEX turns_at ON turns (at);
