-- A store as schema 1 left it: made by the first migration, filled by hand, dumped. Never edited.
PRAGMA application_id = 1952803960;
BEGIN TRANSACTION;
CREATE TABLE conversation (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    endpoint TEXT NOT NULL,
    chat     TEXT NOT NULL,
    thread   TEXT NOT NULL,
    UNIQUE (endpoint, chat, thread)
);
INSERT INTO "conversation" VALUES(1,'telegram','1234','');
INSERT INTO "conversation" VALUES(2,'telegram','-100777','42');
CREATE TABLE endpoint (
    name   TEXT NOT NULL PRIMARY KEY,
    resume TEXT NOT NULL
);
INSERT INTO "endpoint" VALUES('telegram','900001');
CREATE TABLE entry (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation BIGINT NOT NULL REFERENCES conversation (id),
    body         TEXT NOT NULL,
    at           BIGINT NOT NULL
);
INSERT INTO "entry" VALUES(1,1,'{"role":"user","text":"hello"}',1767225605000);
INSERT INTO "entry" VALUES(2,1,'{"role":"assistant","text":"hi"}',1767225605000);
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO "goose_db_version" VALUES(1,0,1,'2026-01-01 00:00:00');
INSERT INTO "goose_db_version" VALUES(2,1,1,'2026-01-01 00:00:00');
CREATE TABLE inbox (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    endpoint     TEXT NOT NULL,
    origin       TEXT NOT NULL,
    thread       TEXT NOT NULL,
    message      TEXT NOT NULL,
    conversation BIGINT NOT NULL REFERENCES conversation (id),
    state        TEXT NOT NULL,
    body         TEXT NOT NULL,
    attempts     BIGINT NOT NULL,
    accepted_at  BIGINT NOT NULL,
    done_at      BIGINT NOT NULL,
    UNIQUE (endpoint, origin, thread, message)
);
INSERT INTO "inbox" VALUES(1,'telegram','1234','','10',1,'done','',1,1767225600000,1767225605000);
INSERT INTO "inbox" VALUES(2,'telegram','-100777','42','11',2,'pending','{"To":{"Chat":"-100777","Thread":"42","Kind":1},"Sender":{"ID":"5","Name":"Ada","Bot":false},"ID":"11","Resume":"900001","Kind":0,"Text":"Wie ist das Wetter?","Command":"","Args":"","Addressed":true,"Reply":true,"Attachments":[{"Name":"a.ogg","MediaType":"audio/ogg","Size":12,"ID":"F1"}],"At":"2026-01-01T00:00:10Z"}',0,1767225610000,0);
CREATE INDEX inbox_unfinished ON inbox (conversation, message) WHERE state <> 'done';
CREATE INDEX inbox_done ON inbox (done_at) WHERE state = 'done';
CREATE INDEX entry_conversation ON entry (conversation, id);
CREATE INDEX entry_at ON entry (at);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('goose_db_version',2);
INSERT INTO "sqlite_sequence" VALUES('conversation',2);
INSERT INTO "sqlite_sequence" VALUES('inbox',2);
INSERT INTO "sqlite_sequence" VALUES('entry',2);
COMMIT;
