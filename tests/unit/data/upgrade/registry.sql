BEGIN TRANSACTION;
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
, address TEXT NOT NULL DEFAULT '', user_agent TEXT NOT NULL DEFAULT '');
CREATE TABLE api_users (
    name TEXT PRIMARY KEY,
    password TEXT NOT NULL,
    changed_at BIGINT NOT NULL
);
CREATE TABLE audit (
    id BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    detail TEXT NOT NULL DEFAULT '{}'
);
INSERT INTO "audit" VALUES(1,1795792453394,'command:ada','added','device:02:00:00:00:00:01','{}');
INSERT INTO "audit" VALUES(2,1795792453810,'command:ada','person added','person:7523af292aea4aca','{"name": "Anna"}');
INSERT INTO "audit" VALUES(3,1795792454231,'command:ada','given','device:02:00:00:00:00:01','{"person": "7523af292aea4aca"}');
INSERT INTO "audit" VALUES(4,1795792464604,'command:ada','profile written','profile:child','{"keys": "language, user"}');
INSERT INTO "audit" VALUES(5,1795792465003,'command:ada','assigned','device:02:00:00:00:00:01','{"profile": "child"}');
INSERT INTO "audit" VALUES(6,1795792465427,'command:ada','added','device:02:00:00:00:00:02','{}');
INSERT INTO "audit" VALUES(7,1795792466042,'command:ada','set','reminder:d5b48ccf23b9','{"kind": "reminder", "device": "02:00:00:00:00:01"}');
CREATE TABLE daily_turns (
    device_id TEXT NOT NULL,
    day TEXT NOT NULL,
    turns BIGINT NOT NULL,
    PRIMARY KEY (device_id, day)
);
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
INSERT INTO "deliveries" VALUES('d5b48ccf23b9','d5b48ccf23b9','reminder','02:00:00:00:00:01','water the plants',86313600000,1882106065957,1882106065957,'','',1,1882192465957,1795792466041,'command:ada','','pending','',0,0,NULL,'','');
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
, profile TEXT REFERENCES profiles (name) ON DELETE SET NULL, person_id TEXT REFERENCES people (id) ON DELETE SET NULL, rssi BIGINT);
INSERT INTO "devices" VALUES('02:00:00:00:00:01','c0699683-0c11-404b-980a-2b38ca381b78','Kitchen','simulated-board','esp32s3','2.0.3','','127.0.0.1','en-US','["mcp"]','["self.get_device_status", "self.audio_speaker.set_volume", "self.screen.set_brightness", "self.screen.set_theme"]',1795792453394,1795792472450,1795792453394,'command:ada',NULL,'',NULL,NULL,'','','',NULL,1795792453394,'child','7523af292aea4aca',-42);
INSERT INTO "devices" VALUES('02:00:00:00:00:02','909d299c-ce00-4bf4-bd94-f3d2c3e765cb','Hall','simulated-board','esp32s3','2.0.3','','127.0.0.1','en-US','["mcp"]','["self.get_device_status", "self.audio_speaker.set_volume", "self.screen.set_brightness", "self.screen.set_theme"]',1795792465427,1795792477942,1795792465427,'command:ada',NULL,'',NULL,NULL,'','','',NULL,1795792465427,NULL,NULL,-42);
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
CREATE TABLE people (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    added_at BIGINT NOT NULL
);
INSERT INTO "people" VALUES('7523af292aea4aca','Anna',1795792453810);
CREATE TABLE profile_versions (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    content TEXT NOT NULL,
    removed INTEGER NOT NULL,
    changed_at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    PRIMARY KEY (name, version)
);
INSERT INTO "profile_versions" VALUES('child',1,'{"language": "de", "user": "Ada"}',0,1795792464604,'command:ada');
CREATE TABLE profiles (
    name TEXT PRIMARY KEY,
    content TEXT NOT NULL,
    changed_at BIGINT NOT NULL
);
INSERT INTO "profiles" VALUES('child','{"language": "de", "user": "Ada"}',1795792464604);
CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    device_id TEXT NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    client_id TEXT NOT NULL,
    issued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    revoked_at BIGINT
);
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
INSERT INTO "turns" VALUES('f65529cf-a0a1-43d7-84fe-e159fe17f9ab/1','02:00:00:00:00:01','f65529cf-a0a1-43d7-84fe-e159fe17f9ab',1,1795792467387,'remember that I like tea','Okay, I will remember: i like tea.','answered','','{"turn_end": 0, "transcript": 0, "first_token": 139, "first_sentence": 139, "first_audio": 146, "speech_start": 146, "first_frame": 312, "playout_end": 2993}','[{"name": "remember_fact", "arguments": "{\"fact\": \"I like tea\"}", "output": "{\"remembered\": \"I like tea\"}", "success": true, "ms": 54, "source": "builtin"}]','[{"model": "phrasebook", "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "passed_over": []}, {"model": "phrasebook", "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "passed_over": []}]');
INSERT INTO "turns" VALUES('f65529cf-a0a1-43d7-84fe-e159fe17f9ab/2','02:00:00:00:00:01','f65529cf-a0a1-43d7-84fe-e159fe17f9ab',2,1795792470383,'what time is it','It is 3:14 PM.','answered','','{"turn_end": 0, "transcript": 0, "first_token": 2, "first_sentence": 3, "first_audio": 4, "speech_start": 3, "first_frame": 164, "playout_end": 2065}','[{"name": "get_time", "arguments": "{}", "output": "2026-11-27 15:14:30", "success": true, "ms": 0, "source": "builtin"}]','[{"model": "phrasebook", "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "passed_over": []}, {"model": "phrasebook", "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "passed_over": []}]');
INSERT INTO "turns" VALUES('b6c84773-25d0-4391-96c4-c1e37a8d1635/1','02:00:00:00:00:02','b6c84773-25d0-4391-96c4-c1e37a8d1635',1,1795792472461,'remember that I am allergic to nuts','Okay, I will remember: i am allergic to nuts.','answered','','{"turn_end": 0, "transcript": 0, "first_token": 22, "first_sentence": 23, "first_audio": 28, "speech_start": 29, "first_frame": 189, "playout_end": 3290}','[{"name": "remember_fact", "arguments": "{\"fact\": \"I am allergic to nuts\"}", "output": "{\"remembered\": \"I am allergic to nuts\"}", "success": true, "ms": 11, "source": "builtin"}]','[{"model": "phrasebook", "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "passed_over": []}, {"model": "phrasebook", "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "passed_over": []}]');
INSERT INTO "turns" VALUES('b6c84773-25d0-4391-96c4-c1e37a8d1635/2','02:00:00:00:00:02','b6c84773-25d0-4391-96c4-c1e37a8d1635',2,1795792475754,'hello','Hello! What can I do for you?','answered','','{"turn_end": 0, "transcript": 0, "first_token": 2, "first_sentence": 3, "first_audio": 4, "speech_start": 3, "first_frame": 165, "playout_end": 2185}','[]','[{"model": "phrasebook", "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "passed_over": []}]');
CREATE TABLE vixio_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at BIGINT NOT NULL
);
INSERT INTO "vixio_migrations" VALUES(1,'devices',1795792453391);
INSERT INTO "vixio_migrations" VALUES(2,'firmware',1795792453391);
INSERT INTO "vixio_migrations" VALUES(3,'profiles',1795792453391);
INSERT INTO "vixio_migrations" VALUES(4,'daily_turns',1795792453391);
INSERT INTO "vixio_migrations" VALUES(5,'deliveries',1795792453391);
INSERT INTO "vixio_migrations" VALUES(6,'api',1795792453392);
INSERT INTO "vixio_migrations" VALUES(7,'turns',1795792453392);
INSERT INTO "vixio_migrations" VALUES(8,'people',1795792453392);
INSERT INTO "vixio_migrations" VALUES(9,'profile_versions',1795792453392);
INSERT INTO "vixio_migrations" VALUES(10,'logins',1795792453393);
INSERT INTO "vixio_migrations" VALUES(11,'signal',1795792453393);
CREATE TABLE wrong_codes (
    actor TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX devices_last_seen ON devices (last_seen);
CREATE INDEX tokens_device ON tokens (device_id, issued_at);
CREATE INDEX tokens_expiry ON tokens (expires_at);
CREATE INDEX wrong_codes_actor ON wrong_codes (actor, at);
CREATE INDEX firmware_attempts_device ON firmware_attempts (device_id, offered_at);
CREATE INDEX firmware_attempts_offered ON firmware_attempts (offered_at);
CREATE INDEX daily_turns_day ON daily_turns (day);
CREATE INDEX deliveries_due ON deliveries (state, not_before);
CREATE INDEX deliveries_device ON deliveries (device_id, state, due_at);
CREATE INDEX deliveries_series ON deliveries (series, due_at);
CREATE INDEX api_tokens_expiry ON api_tokens (expires_at);
CREATE INDEX turns_device ON turns (device_id, at);
CREATE INDEX turns_session ON turns (session_id, turn);
CREATE INDEX turns_at ON turns (at);
CREATE INDEX devices_person ON devices (person_id);
COMMIT;
