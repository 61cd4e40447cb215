-- How often a message of a reply may have been made, so that a crash in its making comes to an end.

-- +goose Up
ALTER TABLE part ADD COLUMN tries BIGINT NOT NULL DEFAULT 0;
