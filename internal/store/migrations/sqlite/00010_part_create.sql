-- The create of a part as it was tried, in JSON, where the platform needs that to find a message of unknown outcome.

-- +goose Up
ALTER TABLE part ADD COLUMN tried TEXT NOT NULL DEFAULT '';
