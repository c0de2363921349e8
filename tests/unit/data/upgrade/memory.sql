BEGIN TRANSACTION;
CREATE TABLE vixio_messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL,
        message_data TEXT NOT NULL,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        FOREIGN KEY (session_id) REFERENCES vixio_sessions (session_id) ON DELETE CASCADE
    );
INSERT INTO "vixio_messages" VALUES(1,'person:7523af292aea4aca/facts','{"role": "user", "content": [{"type": "input_text", "text": "I like tea"}]}','2026-11-27 15:14:27');
INSERT INTO "vixio_messages" VALUES(2,'02:00:00:00:00:01','{"role": "user", "content": "remember that I like tea"}','2026-11-27 15:14:30');
INSERT INTO "vixio_messages" VALUES(3,'02:00:00:00:00:01','{"type": "function_call", "call_id": "call_ca57298bf63a4364bc72188e", "name": "remember_fact", "arguments": "{\"fact\": \"I like tea\"}"}','2026-11-27 15:14:30');
INSERT INTO "vixio_messages" VALUES(4,'02:00:00:00:00:01','{"type": "function_call_output", "call_id": "call_ca57298bf63a4364bc72188e", "output": "{\"remembered\": \"I like tea\"}"}','2026-11-27 15:14:30');
INSERT INTO "vixio_messages" VALUES(5,'02:00:00:00:00:01','{"role": "assistant", "content": "Okay, I will remember: i like tea."}','2026-11-27 15:14:30');
INSERT INTO "vixio_messages" VALUES(6,'02:00:00:00:00:01','{"role": "user", "content": "what time is it"}','2026-11-27 15:14:32');
INSERT INTO "vixio_messages" VALUES(7,'02:00:00:00:00:01','{"type": "function_call", "call_id": "call_6e204328d4804360bf44184f", "name": "get_time", "arguments": "{}"}','2026-11-27 15:14:32');
INSERT INTO "vixio_messages" VALUES(8,'02:00:00:00:00:01','{"type": "function_call_output", "call_id": "call_6e204328d4804360bf44184f", "output": "2026-11-27 15:14:30"}','2026-11-27 15:14:32');
INSERT INTO "vixio_messages" VALUES(9,'02:00:00:00:00:01','{"role": "assistant", "content": "It is 3:14 PM."}','2026-11-27 15:14:32');
INSERT INTO "vixio_messages" VALUES(10,'02:00:00:00:00:02/facts','{"role": "user", "content": [{"type": "input_text", "text": "I am allergic to nuts"}]}','2026-11-27 15:14:32');
INSERT INTO "vixio_messages" VALUES(11,'02:00:00:00:00:02','{"role": "user", "content": "remember that I am allergic to nuts"}','2026-11-27 15:14:35');
INSERT INTO "vixio_messages" VALUES(12,'02:00:00:00:00:02','{"type": "function_call", "call_id": "call_fd9f5e88405d4299951629b9", "name": "remember_fact", "arguments": "{\"fact\": \"I am allergic to nuts\"}"}','2026-11-27 15:14:35');
INSERT INTO "vixio_messages" VALUES(13,'02:00:00:00:00:02','{"type": "function_call_output", "call_id": "call_fd9f5e88405d4299951629b9", "output": "{\"remembered\": \"I am allergic to nuts\"}"}','2026-11-27 15:14:35');
INSERT INTO "vixio_messages" VALUES(14,'02:00:00:00:00:02','{"role": "assistant", "content": "Okay, I will remember: i am allergic to nuts."}','2026-11-27 15:14:35');
INSERT INTO "vixio_messages" VALUES(15,'02:00:00:00:00:02','{"role": "user", "content": "hello"}','2026-11-27 15:14:37');
INSERT INTO "vixio_messages" VALUES(16,'02:00:00:00:00:02','{"role": "assistant", "content": "Hello! What can I do for you?"}','2026-11-27 15:14:37');
CREATE TABLE vixio_sessions (
        session_id TEXT PRIMARY KEY,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
    );
INSERT INTO "vixio_sessions" VALUES('person:7523af292aea4aca/facts','2026-11-27 15:14:27','2026-11-27 15:14:27');
INSERT INTO "vixio_sessions" VALUES('02:00:00:00:00:01','2026-11-27 15:14:30','2026-11-27 15:14:32');
INSERT INTO "vixio_sessions" VALUES('02:00:00:00:00:02/facts','2026-11-27 15:14:32','2026-11-27 15:14:32');
INSERT INTO "vixio_sessions" VALUES('02:00:00:00:00:02','2026-11-27 15:14:35','2026-11-27 15:14:37');
CREATE INDEX idx_vixio_messages_session_id
    ON vixio_messages (session_id, id)
    ;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('vixio_messages',16);
COMMIT;
