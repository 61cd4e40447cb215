-- Several processes share the database: which of them live, which of them owns a chat, and who was given what. Programs that know
-- only schema 1 can't use it: they believe that they are alone.

-- +goose Up

-- The oldest schema that a program must know to use this one. A migration that takes something away raises it.
CREATE TABLE compatibility (
    oldest bigint NOT NULL
);
INSERT INTO compatibility (oldest) VALUES (2);

-- A process of schema 1 that lost its connection must not go on when it is back.
UPDATE owner SET epoch = epoch + 1;

-- A process from its registration to the end of its lease. Its row stays for a while after that, since its calls still count for
-- the platforms' limits. "knows" is the newest schema that its program knows.
CREATE TABLE replica (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name      text NOT NULL,
    version   text NOT NULL,
    knows     bigint NOT NULL,
    endpoints text[] NOT NULL,
    leaving   boolean NOT NULL DEFAULT false,
    began     timestamptz NOT NULL,
    renewed   timestamptz NOT NULL,
    expires   timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Chats with an owner, and those in which work was left. "free": the owner gave the chat up although work is left there. "moved":
-- it was another replica's, and the owner does not know that yet, unless call "told" said so.
CREATE TABLE chat (
    endpoint text NOT NULL,
    chat     text NOT NULL,
    owner    bigint,
    free     boolean NOT NULL DEFAULT false,
    moved    boolean NOT NULL DEFAULT false,
    told     bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (endpoint, chat)
) WITH (fillfactor = 70);
CREATE INDEX chat_owner ON chat (owner) WHERE NOT free;
CREATE INDEX chat_moved ON chat (owner) WHERE moved;

-- The replica that receives, where a platform wants only one.
ALTER TABLE endpoint ADD COLUMN receiver bigint;

-- Unfinished work was given to a replica, or to nobody (0). What is finished has NULL, and so has a message that belongs to a turn.
-- Whoever changes the owner of a chat resets its work to 0, so the indexes find what has no live owner, and no query looks at
-- the work that goes on.
ALTER TABLE turn ADD COLUMN given bigint, ADD COLUMN given_call bigint NOT NULL DEFAULT 0;
UPDATE turn SET given = 0 WHERE ended_at IS NULL;
CREATE INDEX turn_given ON turn (given, given_call) WHERE given IS NOT NULL;
CREATE INDEX turn_begun ON turn (begun_at DESC, id);
DROP INDEX turn_unfinished; -- turn_given finds the same rows
ALTER TABLE inbox ADD COLUMN given bigint, ADD COLUMN given_call bigint NOT NULL DEFAULT 0;
UPDATE inbox SET given = 0 WHERE done_at IS NULL AND turn IS NULL;
CREATE INDEX inbox_given ON inbox (given, given_call) WHERE given IS NOT NULL;

-- Of several indexes of the unfinished messages the planner takes any while its statistics say that there are none. So each query
-- can use only one of these.
CREATE INDEX inbox_message ON inbox (conversation, message);
DROP INDEX inbox_conversation, inbox_unfinished, inbox_waiting, inbox_turn;
CREATE INDEX inbox_turn ON inbox (turn) WHERE done_at IS NULL AND turn IS NOT NULL;

-- Messages for the owner of a chat that are gone once it has them. They are in one order with the inbox.
CREATE TABLE forwarded (
    id           bigint PRIMARY KEY DEFAULT nextval('inbox_id_seq'),
    origin       text NOT NULL,
    conversation bigint NOT NULL REFERENCES conversation,
    body         json NOT NULL,
    accepted_at  timestamptz NOT NULL,
    given        bigint NOT NULL DEFAULT 0,
    given_call   bigint NOT NULL DEFAULT 0
);
CREATE INDEX forwarded_given ON forwarded (given, given_call);
CREATE INDEX forwarded_conversation ON forwarded (conversation);

-- What the replicas may use of the limits of whole endpoints. "ops" and "period" say which limit; times are nanoseconds.
CREATE TABLE claim (
    endpoint text NOT NULL,
    replica  bigint NOT NULL,
    ops      bigint NOT NULL,
    period   bigint NOT NULL,
    count    bigint NOT NULL,
    share    bigint NOT NULL,
    held     bigint NOT NULL,
    wanted   bigint NOT NULL,
    waiting  bigint NOT NULL,
    PRIMARY KEY (endpoint, replica, ops, period)
) WITH (fillfactor = 50);

-- When the turns of a person in the last minute began. Older rows are swept.
CREATE TABLE pace (
    endpoint text NOT NULL,
    person   text NOT NULL,
    began    timestamptz[] NOT NULL,
    PRIMARY KEY (endpoint, person)
) WITH (fillfactor = 50);
