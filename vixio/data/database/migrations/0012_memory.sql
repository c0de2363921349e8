CREATE TABLE memories (
    owner TEXT PRIMARY KEY,
    summary TEXT NOT NULL,
    facts TEXT NOT NULL,
    seen_at BIGINT NOT NULL
);

CREATE INDEX memories_seen ON memories (seen_at);

CREATE TABLE memory_items (
    owner TEXT NOT NULL REFERENCES memories (owner) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    item TEXT NOT NULL,
    PRIMARY KEY (owner, number)
);
