-- Some platforms count what is sent over one thread and not over its chat.

-- +goose Up
CREATE TABLE block_by_thread (
    endpoint TEXT NOT NULL,
    scope    BIGINT NOT NULL,
    chat     TEXT NOT NULL,
    thread   TEXT NOT NULL,
    message  TEXT NOT NULL,
    until    BIGINT NOT NULL,
    PRIMARY KEY (endpoint, scope, chat, thread, message)
);
INSERT INTO block_by_thread (endpoint, scope, chat, thread, message, until)
SELECT endpoint, scope, chat, '', message, until FROM block;
DROP TABLE block;
ALTER TABLE block_by_thread RENAME TO block;
