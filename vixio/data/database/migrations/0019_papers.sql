CREATE TABLE papers (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    origin TEXT NOT NULL,
    digest TEXT NOT NULL,
    size BIGINT NOT NULL,
    pages BIGINT NOT NULL,
    state TEXT NOT NULL,
    problem TEXT NOT NULL,
    added_at BIGINT NOT NULL
);

CREATE INDEX papers_owner ON papers (owner, name);

CREATE TABLE paper_passages (
    number BIGINT PRIMARY KEY,
    paper_id TEXT NOT NULL REFERENCES papers (id) ON DELETE CASCADE,
    page BIGINT NOT NULL,
    heading TEXT NOT NULL,
    text TEXT NOT NULL
);

CREATE INDEX paper_passages_paper ON paper_passages (paper_id);

CREATE TABLE paper_vectors (
    number BIGINT PRIMARY KEY REFERENCES paper_passages (number) ON DELETE CASCADE,
    model TEXT NOT NULL,
    vector BYTEA NOT NULL
);

-- sqlite
CREATE VIRTUAL TABLE paper_index USING fts5 (title, words, tokenize = 'ascii');

-- sqlite
CREATE VIRTUAL TABLE paper_index_words USING fts5vocab (paper_index, row);

-- sqlite
CREATE TRIGGER paper_unindexed AFTER DELETE ON paper_passages BEGIN DELETE FROM paper_index WHERE rowid = old.number; END;

-- postgresql
CREATE TABLE paper_index (
    number BIGINT PRIMARY KEY REFERENCES paper_passages (number) ON DELETE CASCADE,
    words TSVECTOR NOT NULL
);

-- postgresql
CREATE INDEX paper_index_words ON paper_index USING GIN (words);
