-- What a running turn has done so far, what people approved once and for all, and what they asked to be remembered.

-- +goose Up
CREATE TABLE step (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    turn      TEXT NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    kind      TEXT NOT NULL,
    tool_call TEXT NOT NULL,
    body      TEXT NOT NULL
);
CREATE INDEX step_turn ON step (turn, id);

CREATE TABLE consent (
    conversation BIGINT NOT NULL REFERENCES conversation (id),
    person       TEXT NOT NULL,
    tool         TEXT NOT NULL,
    PRIMARY KEY (conversation, person, tool)
);

CREATE TABLE fact (
    endpoint TEXT NOT NULL,
    person   TEXT NOT NULL,
    number   BIGINT NOT NULL,
    body     TEXT NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (endpoint, person, number)
);

-- The number of a person's newest fact, which may be deleted by now: none is used again.
CREATE TABLE fact_number (
    endpoint TEXT NOT NULL,
    person   TEXT NOT NULL,
    newest   BIGINT NOT NULL,
    PRIMARY KEY (endpoint, person)
);
