-- A refusal closes some kinds of calls only, where the platform says which; 0 is all of them.

-- +goose Up
CREATE TABLE block_by_ops (
    endpoint TEXT NOT NULL,
    scope    BIGINT NOT NULL,
    ops      BIGINT NOT NULL,
    chat     TEXT NOT NULL,
    thread   TEXT NOT NULL,
    message  TEXT NOT NULL,
    until    BIGINT NOT NULL,
    PRIMARY KEY (endpoint, scope, ops, chat, thread, message)
);
INSERT INTO block_by_ops (endpoint, scope, ops, chat, thread, message, until)
SELECT endpoint, scope, 0, chat, thread, message, until FROM block;
DROP TABLE block;
ALTER TABLE block_by_ops RENAME TO block;
