-- The whole store. What a person or a model wrote is json or bytea, never text or jsonb: those refuse the character U+0000, which
-- both can write, and jsonb changes the bytes. Ids and names are text; the store replaces U+0000 in them.
--
-- "person" is a user's id. Where a time is NULL, the thing has not happened.

-- +goose Up
CREATE TABLE conversation (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    endpoint text NOT NULL,
    chat     text NOT NULL,
    thread   text NOT NULL,
    UNIQUE (endpoint, chat, thread)
);

CREATE TABLE endpoint (
    name   text PRIMARY KEY,
    resume text NOT NULL
);

-- Chats that got a new id.
CREATE TABLE moved (
    endpoint text NOT NULL,
    old_chat text NOT NULL,
    new_chat text NOT NULL,
    PRIMARY KEY (endpoint, old_chat)
);

-- Who may write: every writing transaction compares the epoch, which grows with each process that takes the name.
CREATE TABLE owner (
    name   text PRIMARY KEY,
    epoch  bigint NOT NULL,
    holder text NOT NULL,
    since  timestamptz NOT NULL
);

-- Calls that must not take effect twice: a repeated one has the token of the first.
CREATE TABLE operation (
    token text PRIMARY KEY,
    at    timestamptz NOT NULL
);
CREATE INDEX operation_at ON operation (at);

CREATE TABLE turn (
    id           text PRIMARY KEY,
    conversation bigint NOT NULL REFERENCES conversation,
    to_chat      text NOT NULL,
    to_thread    text NOT NULL,
    to_kind      smallint NOT NULL,
    reply_to     text NOT NULL,
    state        text NOT NULL CHECK (state IN ('running', 'decided', 'done', 'released')),
    fenced       boolean NOT NULL DEFAULT false,
    stale        boolean NOT NULL DEFAULT false,
    runs         integer NOT NULL DEFAULT 1,
    ending       bytea,
    person       text NOT NULL,
    replaces     text NOT NULL,
    accepted_at  timestamptz NOT NULL,
    begun_at     timestamptz NOT NULL,
    ended_at     timestamptz
) WITH (fillfactor = 80);
CREATE INDEX turn_unfinished ON turn (begun_at, id) WHERE ended_at IS NULL;
CREATE INDEX turn_conversation ON turn (conversation, begun_at);
CREATE INDEX turn_ended ON turn (ended_at) WHERE ended_at IS NOT NULL;

-- A message waits while it has no turn, and is finished once done_at is set: then only its key stays. The key has the chat's id
-- at the time of acceptance, because a chat that gets a new id numbers its messages anew.
CREATE TABLE inbox (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    endpoint     text NOT NULL,
    origin       text NOT NULL,
    thread       text NOT NULL,
    message      text NOT NULL,
    conversation bigint NOT NULL REFERENCES conversation,
    person       text NOT NULL,
    turn         text,
    body         json,
    attempts     integer NOT NULL DEFAULT 0,
    accepted_at  timestamptz NOT NULL,
    done_at      timestamptz,
    UNIQUE (endpoint, origin, thread, message)
);
CREATE INDEX inbox_unfinished ON inbox (conversation, message) WHERE done_at IS NULL;
CREATE INDEX inbox_waiting ON inbox (id) WHERE done_at IS NULL AND turn IS NULL;
CREATE INDEX inbox_turn ON inbox (turn) WHERE done_at IS NULL;
CREATE INDEX inbox_conversation ON inbox (conversation);
CREATE INDEX inbox_done ON inbox (done_at) WHERE done_at IS NOT NULL;

-- One message of a reply. content is a chat.Part without what has a column. It is updated with every edit.
CREATE TABLE part (
    turn       text NOT NULL REFERENCES turn ON DELETE CASCADE,
    idx        integer NOT NULL,
    state      text NOT NULL,
    ref_chat   text NOT NULL,
    ref_thread text NOT NULL,
    ref_kind   smallint NOT NULL,
    ref_id     text NOT NULL,
    source     bytea NOT NULL,
    content    json NOT NULL,
    steps      integer NOT NULL,
    PRIMARY KEY (turn, idx)
) WITH (fillfactor = 50);

-- What a running turn has done so far.
CREATE TABLE step (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    turn      text NOT NULL REFERENCES turn ON DELETE CASCADE,
    kind      text NOT NULL,
    tool_call text NOT NULL,
    body      bytea NOT NULL
);
CREATE INDEX step_turn ON step (turn, id);

-- Entries up to summary_upto are in the summary.
CREATE TABLE session (
    conversation bigint PRIMARY KEY REFERENCES conversation,
    model        text NOT NULL DEFAULT '',
    summary      bytea NOT NULL DEFAULT '',
    summary_upto bigint NOT NULL DEFAULT 0,
    compactions  integer NOT NULL DEFAULT 0,
    summary_at   timestamptz
);

-- The ids of a conversation's entries grow in the order in which their transactions commit: each of them holds the conversation.
CREATE TABLE entry (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation bigint NOT NULL REFERENCES conversation,
    turn         text NOT NULL,
    person       text NOT NULL,
    body         bytea NOT NULL,
    at           timestamptz NOT NULL
);
CREATE INDEX entry_conversation ON entry (conversation, id);
CREATE INDEX entry_at ON entry (at);

CREATE TABLE usage (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation bigint NOT NULL REFERENCES conversation,
    endpoint     text NOT NULL,
    person       text NOT NULL,
    turn         text NOT NULL,
    model        text NOT NULL,
    at           timestamptz NOT NULL,
    prompt       bigint NOT NULL,
    cached       bigint NOT NULL,
    completion   bigint NOT NULL,
    reasoning    bigint NOT NULL,
    calls        bigint NOT NULL,
    estimated    boolean NOT NULL
);
CREATE INDEX usage_conversation ON usage (conversation, at);
CREATE INDEX usage_person ON usage (endpoint, person, at);
CREATE INDEX usage_at ON usage (at);

CREATE TABLE consent (
    conversation bigint NOT NULL REFERENCES conversation,
    person       text NOT NULL,
    tool         text NOT NULL,
    PRIMARY KEY (conversation, person, tool)
);

CREATE TABLE fact (
    endpoint text NOT NULL,
    person   text NOT NULL,
    number   bigint NOT NULL,
    body     bytea NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (endpoint, person, number)
);

-- The number of a person's newest fact, which may be deleted by now: no number is used again.
CREATE TABLE fact_number (
    endpoint text NOT NULL,
    person   text NOT NULL,
    newest   bigint NOT NULL,
    PRIMARY KEY (endpoint, person)
);

CREATE TABLE pairing_request (
    endpoint text NOT NULL,
    person   text NOT NULL,
    name     text NOT NULL,
    code     text NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (endpoint, person)
);

CREATE TABLE admission (
    endpoint    text NOT NULL,
    person      text NOT NULL,
    name        text NOT NULL,
    approved_by text NOT NULL,
    at          timestamptz NOT NULL,
    PRIMARY KEY (endpoint, person)
);

-- Answers of the API server to which its clients may refer; "person" is the name of the client's key.
CREATE TABLE response (
    id       text PRIMARY KEY,
    endpoint text NOT NULL,
    person   text NOT NULL,
    previous text NOT NULL,
    body     bytea NOT NULL,
    messages bytea NOT NULL,
    at       timestamptz NOT NULL
);
CREATE INDEX response_person ON response (endpoint, person);
CREATE INDEX response_at ON response (at);

-- Rate limits that have not ended.
CREATE TABLE block (
    endpoint text NOT NULL,
    scope    bigint NOT NULL,
    ops      bigint NOT NULL,
    chat     text NOT NULL,
    thread   text NOT NULL,
    message  text NOT NULL,
    until    timestamptz NOT NULL,
    PRIMARY KEY (endpoint, scope, ops, chat, thread, message)
);
CREATE INDEX block_until ON block (until);
