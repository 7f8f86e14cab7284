-- What replies show of a model's tokens.

-- Characters a token, where that is fewer than the row says.
ALTER TABLE tq.model
    ADD COLUMN shown_chars_per_token real,
    ADD CONSTRAINT model_shown_chars_per_token_check CHECK (shown_chars_per_token BETWEEN 0.5 AND chars_per_token);

-- Those that a question's prompts were made for, by model: a replay makes the same ones.
ALTER TABLE tq.query ADD COLUMN chars_per_token jsonb NOT NULL DEFAULT '{}';
