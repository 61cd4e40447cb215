-- Turns and what of their replies stands where.

-- +goose Up
CREATE TABLE turn (
    id           TEXT NOT NULL PRIMARY KEY,
    conversation BIGINT NOT NULL REFERENCES conversation (id),
    to_chat      TEXT NOT NULL,
    to_thread    TEXT NOT NULL,
    to_kind      BIGINT NOT NULL,
    reply_to     TEXT NOT NULL,
    state        TEXT NOT NULL,
    fenced       BIGINT NOT NULL,
    runs         BIGINT NOT NULL,
    ending       TEXT NOT NULL,
    tokens       TEXT NOT NULL,
    accepted_at  BIGINT NOT NULL,
    begun_at     BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL
);
CREATE INDEX turn_unfinished ON turn (conversation) WHERE state IN ('running', 'decided');
CREATE INDEX turn_conversation ON turn (conversation);
CREATE INDEX turn_ended ON turn (ended_at) WHERE ended_at > 0;

CREATE TABLE part (
    turn       TEXT NOT NULL REFERENCES turn (id) ON DELETE CASCADE,
    idx        BIGINT NOT NULL,
    state      TEXT NOT NULL,
    ref_chat   TEXT NOT NULL,
    ref_thread TEXT NOT NULL,
    ref_kind   BIGINT NOT NULL,
    ref_id     TEXT NOT NULL,
    source     TEXT NOT NULL,
    body       TEXT NOT NULL,
    spans      TEXT NOT NULL,
    has_cursor BIGINT NOT NULL,
    create_key TEXT NOT NULL,
    plain      TEXT NOT NULL,
    is_file    BIGINT NOT NULL,
    cut        BIGINT NOT NULL,
    first_at   BIGINT NOT NULL,
    PRIMARY KEY (turn, idx)
);

ALTER TABLE inbox ADD COLUMN turn TEXT NOT NULL DEFAULT '';
CREATE INDEX inbox_turn ON inbox (turn) WHERE turn <> '';
