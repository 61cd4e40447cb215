-- Answers of the API server to which its clients may refer. "person" is the name of the client's key, "body" the answer in JSON as
-- the client got it, and "messages" what it added to its conversation.

-- +goose Up
CREATE TABLE response (
    id       TEXT NOT NULL PRIMARY KEY,
    endpoint TEXT NOT NULL,
    person   TEXT NOT NULL,
    previous TEXT NOT NULL,
    body     TEXT NOT NULL,
    messages TEXT NOT NULL,
    at       BIGINT NOT NULL
);
CREATE INDEX response_person ON response (endpoint, person);
CREATE INDEX response_at ON response (at);
