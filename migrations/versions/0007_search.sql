-- What a question is after, how it is searched, and all that is kept of it.

-- ---------------------------------------------------------------- how it is searched

ALTER TABLE tq.strategy
    ADD COLUMN evidence_why text NOT NULL DEFAULT 'line'
        CONSTRAINT strategy_evidence_why_check CHECK (evidence_why IN ('line', 'summary')),
    ADD COLUMN mode text NOT NULL DEFAULT 'tree'
        CONSTRAINT strategy_mode_check CHECK (mode IN ('tree', 'single-pass', 'chunked-tree')),
    ADD COLUMN merge text NOT NULL DEFAULT 'union'
        CONSTRAINT strategy_merge_check CHECK (
            merge ~ '^(union|top [1-9]\d{0,2}|vote [1-9] of [1-9])$'
            AND (merge !~ '^vote' OR split_part(merge, ' ', 2) <= split_part(merge, ' ', 4))),
    ADD COLUMN model_write text CONSTRAINT strategy_model_write_fkey REFERENCES tq.model;

INSERT INTO tq.setting (name, value, minimum, maximum, description) VALUES
('parallel_calls', '16', 1, 1000, 'Calls of one question that run at once, at most; the model''s concurrency holds as well.'),
('model_write', '""', NULL, NULL, 'Model that composes answers of several routes; empty for the setting model. A strategy''s model goes first.');

-- ---------------------------------------------------------------- what is kept of it

-- Every question asked until now was after a what.
ALTER TABLE tq.route
    ADD COLUMN part text NOT NULL DEFAULT 'what'
        CONSTRAINT route_part_check CHECK (part IN ('what', 'why', 'how'));
ALTER TABLE tq.route ALTER COLUMN part DROP DEFAULT;

-- [{"reply", "rejected"}]: what the model said, the replies that were thrown away first, each with its reason.
ALTER TABLE tq.read ADD COLUMN replies jsonb NOT NULL DEFAULT '[]';

-- Calls that read no node: plan, select, compare, write.
CREATE TABLE tq.step (
    query_id uuid NOT NULL REFERENCES tq.query ON DELETE CASCADE,
    ordinal int NOT NULL,
    purpose text NOT NULL,
    document_id uuid REFERENCES tq.document ON DELETE CASCADE,
    told text NOT NULL,
    replies jsonb NOT NULL,
    input_tokens int NOT NULL,
    output_tokens int NOT NULL,
    elapsed_ms real NOT NULL,
    PRIMARY KEY (query_id, ordinal)
);
CREATE INDEX step_document_idx ON tq.step (document_id) WHERE document_id IS NOT NULL;

-- Functions of another signature from now on.
DROP FUNCTION IF EXISTS tq_private.select_walk(text, text);
DROP FUNCTION IF EXISTS tq.explain(uuid);
