-- Who asked what, summaries, chosen models, what turns used, and who was let in. "person" is a user's id: "user" is a
-- word of PostgreSQL's own.

-- +goose Up
ALTER TABLE entry ADD COLUMN turn TEXT NOT NULL DEFAULT '';
ALTER TABLE entry ADD COLUMN person TEXT NOT NULL DEFAULT '';
CREATE INDEX entry_turn ON entry (conversation, turn);

-- A turn that is stale knows a history that was changed meanwhile: its summary would bring back what is gone.
ALTER TABLE turn ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE turn ADD COLUMN replaces TEXT NOT NULL DEFAULT '';
ALTER TABLE turn ADD COLUMN stale BIGINT NOT NULL DEFAULT 0;
ALTER TABLE turn DROP COLUMN tokens;

CREATE TABLE session (
    conversation BIGINT NOT NULL PRIMARY KEY REFERENCES conversation (id),
    model        TEXT NOT NULL,
    summary      TEXT NOT NULL,
    folded       BIGINT NOT NULL,
    folds        BIGINT NOT NULL,
    at           BIGINT NOT NULL
);

CREATE TABLE usage (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation BIGINT NOT NULL REFERENCES conversation (id),
    endpoint     TEXT NOT NULL,
    person       TEXT NOT NULL,
    turn         TEXT NOT NULL,
    model        TEXT NOT NULL,
    at           BIGINT NOT NULL,
    prompt       BIGINT NOT NULL,
    cached       BIGINT NOT NULL,
    completion   BIGINT NOT NULL,
    reasoning    BIGINT NOT NULL,
    calls        BIGINT NOT NULL,
    estimated    BIGINT NOT NULL
);
CREATE INDEX usage_conversation ON usage (conversation, at);
CREATE INDEX usage_person ON usage (endpoint, person, at);
CREATE INDEX usage_at ON usage (at);

CREATE TABLE knocking (
    endpoint TEXT NOT NULL,
    person   TEXT NOT NULL,
    name     TEXT NOT NULL,
    code     TEXT NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (endpoint, person)
);

CREATE TABLE admitted (
    endpoint    TEXT NOT NULL,
    person      TEXT NOT NULL,
    name        TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    at          BIGINT NOT NULL,
    PRIMARY KEY (endpoint, person)
);
