ALTER TABLE turns ADD COLUMN profile TEXT NOT NULL DEFAULT '';

ALTER TABLE turns ADD COLUMN wait_ms BIGINT;

ALTER TABLE turns ADD COLUMN input_tokens BIGINT NOT NULL DEFAULT 0;

ALTER TABLE turns ADD COLUMN output_tokens BIGINT NOT NULL DEFAULT 0;

DROP INDEX turns_at;

CREATE INDEX turns_at ON turns (
    at, turn, session_id, outcome, profile, wait_ms, input_tokens, output_tokens
);

DROP INDEX turns_device;

CREATE INDEX turns_device ON turns (device_id, at, turn, session_id);
