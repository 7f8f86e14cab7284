-- Remote models, budgets, stored replies, and what a call cost.

-- ---------------------------------------------------------------- models

ALTER TABLE tq.model
    DROP CONSTRAINT model_driver_check,
    ADD COLUMN slot int GENERATED ALWAYS AS IDENTITY CONSTRAINT model_slot_key UNIQUE,
    ADD COLUMN base_url text,
    ADD COLUMN remote_name text,
    ADD COLUMN cached_price numeric NOT NULL DEFAULT 0,
    ADD CONSTRAINT model_driver_check CHECK (driver IN ('extractive', 'anthropic', 'openai')),
    ADD CONSTRAINT model_cached_price_check CHECK (cached_price >= 0),
    -- No user or password inside: an address is shown to whoever may read this table.
    ADD CONSTRAINT model_base_url_check CHECK (base_url ~ '^https?://[^@/?#\s]+(/[^@?#\s]*)?$'),
    ADD CONSTRAINT model_remote_name_check CHECK (driver = 'extractive' OR remote_name <> '' AND remote_name IS NOT NULL),
    -- The prompts' own words need a share of the input, and the worst case of a summary has to fit the output.
    ADD CONSTRAINT model_input_room_check CHECK (input_tokens * chars_per_token >= 12000),
    ADD CONSTRAINT model_output_room_check CHECK (
        summary_tokens + 64 + 20 * greatest(3, least(20, summary_tokens / 48)) <= output_tokens);

-- Until when a model pauses after a rate limit, in milliseconds since 1970. Sequences, because setval is seen by every
-- session at once and outlives a rollback. Models share them by slot, modulo 32: a collision pauses one too many.
DO $$
BEGIN
    FOR n IN 0..31 LOOP
        EXECUTE format('CREATE SEQUENCE tq_private.pause_%s', n);
    END LOOP;
END $$;

INSERT INTO tq.setting (name, value, minimum, maximum, description) VALUES
('model_mark', '""', NULL, NULL, 'Model that marks boundaries; empty for the document''s, which is the setting model.'),
('model_summarise', '""', NULL, NULL, 'Model that writes summaries; empty for the document''s, which is the setting model.'),
('model_plan', '""', NULL, NULL, 'Model that splits questions; empty for the setting model. A strategy''s model goes first.'),
('model_read', '""', NULL, NULL, 'Model that reads nodes; empty for the setting model. A strategy''s model goes first.'),
('model_compare', '""', NULL, NULL, 'Model that compares claims; empty for the setting model. A strategy''s model goes first.'),
('reuse_replies', 'true', NULL, NULL, 'Take the reply that an earlier question of the same asker got to the very same request.'),
('reply_days', '30', 1, 36500, 'Days that replies of ingest are kept.');

-- ---------------------------------------------------------------- budgets

ALTER TABLE tq.strategy
    ADD COLUMN max_calls int,
    ADD COLUMN max_tokens bigint,
    ADD COLUMN max_cost numeric,
    ADD COLUMN max_seconds real,
    ADD COLUMN document_calls int,
    ADD COLUMN document_tokens bigint,
    ADD COLUMN document_cost numeric,
    ADD COLUMN patience_seconds real NOT NULL DEFAULT 30,
    ADD CONSTRAINT strategy_max_calls_check CHECK (max_calls >= 1),
    ADD CONSTRAINT strategy_max_tokens_check CHECK (max_tokens >= 1),
    ADD CONSTRAINT strategy_max_cost_check CHECK (max_cost > 0),
    ADD CONSTRAINT strategy_max_seconds_check CHECK (max_seconds > 0),
    ADD CONSTRAINT strategy_document_calls_check CHECK (document_calls >= 1),
    ADD CONSTRAINT strategy_document_tokens_check CHECK (document_tokens >= 1),
    ADD CONSTRAINT strategy_document_cost_check CHECK (document_cost > 0),
    ADD CONSTRAINT strategy_patience_seconds_check CHECK (patience_seconds BETWEEN 0 AND 3600);

-- ---------------------------------------------------------------- calls and replies

ALTER TABLE tq.model_call
    ADD COLUMN cached_tokens bigint NOT NULL DEFAULT 0,
    ADD COLUMN cost numeric NOT NULL DEFAULT 0;
UPDATE tq.model_call AS c
SET cost = (c.input_tokens * m.input_price + c.output_tokens * m.output_price) / 1000000
FROM tq.model AS m WHERE m.name = c.model AND (m.input_price > 0 OR m.output_price > 0);

ALTER TABLE tq.query ADD COLUMN prompts text;

-- Replies of ingest by the whole request, shared by all documents; written by workers alone.
CREATE TABLE tq_private.reply (
    fingerprint text PRIMARY KEY,
    purpose text NOT NULL,
    reply jsonb NOT NULL,
    kept_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX reply_kept_at_idx ON tq_private.reply (kept_at);

-- Replies of a question, so that it can be replayed. Never shared with another asker: whoever may record a question could
-- forge them.
CREATE TABLE tq_private.query_reply (
    query_id uuid NOT NULL REFERENCES tq.query ON DELETE CASCADE,
    fingerprint text NOT NULL,
    purpose text NOT NULL,
    reply jsonb NOT NULL,
    accepted boolean NOT NULL,
    PRIMARY KEY (query_id, fingerprint)
);
CREATE INDEX query_reply_fingerprint_idx ON tq_private.query_reply (fingerprint);
