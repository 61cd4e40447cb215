-- What the platforms told us: when to come back, and that a chat has a new id.

-- +goose Up
CREATE TABLE block (
    endpoint TEXT NOT NULL,
    scope    BIGINT NOT NULL,
    chat     TEXT NOT NULL,
    message  TEXT NOT NULL,
    until    BIGINT NOT NULL,
    PRIMARY KEY (endpoint, scope, chat, message)
);

CREATE TABLE moved (
    endpoint TEXT NOT NULL,
    old_chat TEXT NOT NULL,
    new_chat TEXT NOT NULL,
    PRIMARY KEY (endpoint, old_chat)
);
