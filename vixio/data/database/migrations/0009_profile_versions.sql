CREATE TABLE profile_versions (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    content TEXT NOT NULL,
    removed INTEGER NOT NULL,
    changed_at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    PRIMARY KEY (name, version)
);

INSERT INTO profile_versions (name, version, content, removed, changed_at, actor)
SELECT name, 1, content, 0, changed_at, '' FROM profiles;
