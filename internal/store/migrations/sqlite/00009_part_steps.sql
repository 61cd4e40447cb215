-- How many steps a turn's journal had when a part was recorded: which attempt of a model wrote its text.

-- +goose Up
ALTER TABLE part ADD COLUMN steps BIGINT NOT NULL DEFAULT 0;
