CREATE TABLE daily_turns (
    device_id TEXT NOT NULL,
    day TEXT NOT NULL,
    turns BIGINT NOT NULL,
    PRIMARY KEY (device_id, day)
);

CREATE INDEX daily_turns_day ON daily_turns (day);
