-- What came in, and what was said before. Times are milliseconds since 1970 in UTC. An id that grows is
-- "INTEGER PRIMARY KEY AUTOINCREMENT" here and "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY" in
-- PostgreSQL; nothing else in these files knows its database.

-- +goose Up
CREATE TABLE conversation (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    endpoint TEXT NOT NULL,
    chat     TEXT NOT NULL,
    thread   TEXT NOT NULL,
    UNIQUE (endpoint, chat, thread)
);

CREATE TABLE endpoint (
    name   TEXT NOT NULL PRIMARY KEY,
    resume TEXT NOT NULL
);

-- The key has the chat's id at the time of acceptance: a chat that gets a new id numbers its messages anew,
-- so that equal ids before and after are different messages.
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
CREATE INDEX inbox_unfinished ON inbox (conversation, message) WHERE state <> 'done';
CREATE INDEX inbox_done ON inbox (done_at) WHERE state = 'done';

CREATE TABLE entry (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation BIGINT NOT NULL REFERENCES conversation (id),
    body         TEXT NOT NULL,
    at           BIGINT NOT NULL
);
CREATE INDEX entry_conversation ON entry (conversation, id);
CREATE INDEX entry_at ON entry (at);
