-- The use-case layer.

-- ---------------------------------------------------------------- what ingest may cost is no use case's to decide

INSERT INTO tq.setting (name, value, minimum, maximum, description)
SELECT v.name, coalesce(to_jsonb(v.value), '-1'), -1, v.maximum, v.description
FROM tq.strategy AS s
CROSS JOIN LATERAL (VALUES
    ('document_calls', s.document_calls::numeric, 1000000000, 'Calls of a model that ingest of one document may take, extracts after; -1 for no limit.'),
    ('document_tokens', s.document_tokens, 1000000000000, 'Tokens in and out that ingest of one document may take, extracts after; -1 for no limit.'),
    ('document_cost', s.document_cost, 1000000000, 'Money that ingest of one document may cost, extracts after; -1 for no limit.')
) AS v (name, value, maximum, description)
WHERE s.name = 'default';
INSERT INTO tq.setting (name, value, minimum, maximum, description) VALUES
('possible_queries', '"root, plan"', NULL, NULL,
 'Where a question is shown the documents'' possible queries: nowhere, or any of root, nodes, plan.');
ALTER TABLE tq.setting ADD CONSTRAINT setting_possible_queries_check CHECK (
    name <> 'possible_queries' OR value #>> '{}' ~ '^(nowhere|(root|nodes|plan)(, ?(root|nodes|plan)){0,2})$');
ALTER TABLE tq.strategy DROP COLUMN document_calls, DROP COLUMN document_tokens, DROP COLUMN document_cost;

-- ---------------------------------------------------------------- strategies

-- Until here the check of the rules was a trigger of its own.
DROP TRIGGER IF EXISTS strategy_rules_fit ON tq.strategy;
DROP FUNCTION IF EXISTS tq_private.check_rules();

-- -1 says no limit, where the strategy inherited from has one.
ALTER TABLE tq.strategy
    ADD COLUMN inherits text,
    ADD COLUMN scope text,
    ADD COLUMN versions text,
    ADD COLUMN source_rule text,
    ADD COLUMN pairs int,
    ADD COLUMN model_plan text,
    ADD COLUMN model_read text,
    ADD COLUMN model_compare text,
    ADD COLUMN format text,
    ADD COLUMN language text,
    DROP CONSTRAINT strategy_weights_check,
    DROP CONSTRAINT strategy_max_calls_check,
    DROP CONSTRAINT strategy_max_tokens_check,
    DROP CONSTRAINT strategy_max_cost_check,
    DROP CONSTRAINT strategy_max_seconds_check,
    ADD CONSTRAINT strategy_model_plan_fkey FOREIGN KEY (model_plan) REFERENCES tq.model,
    ADD CONSTRAINT strategy_model_read_fkey FOREIGN KEY (model_read) REFERENCES tq.model,
    ADD CONSTRAINT strategy_model_compare_fkey FOREIGN KEY (model_compare) REFERENCES tq.model,
    ADD CONSTRAINT strategy_max_calls_check CHECK (max_calls >= 1 OR max_calls = -1),
    ADD CONSTRAINT strategy_max_tokens_check CHECK (max_tokens >= 1 OR max_tokens = -1),
    ADD CONSTRAINT strategy_max_cost_check CHECK (max_cost > 0 AND max_cost <= 1000000000 OR max_cost = -1),
    ADD CONSTRAINT strategy_max_seconds_check CHECK (max_seconds > 0 AND max_seconds <= 86400 OR max_seconds = -1),
    ADD CONSTRAINT strategy_versions_check CHECK (versions IN ('current', 'all')),
    ADD CONSTRAINT strategy_pairs_check CHECK (pairs BETWEEN 0 AND 1000),
    ADD CONSTRAINT strategy_format_check CHECK (format IN ('rows', 'json', 'markdown', 'text', 'html')),
    ADD CONSTRAINT strategy_language_check CHECK (language IN ('english', 'german'));

-- What a strategy does not say itself it has from the one it inherits from; in the end from `default`, which says all. A
-- value that another strategy has in common with `default` may as well have come from there.
DO $$
DECLARE
    setting record;
BEGIN
    FOR setting IN
        SELECT a.attname AS name FROM pg_attribute AS a
        WHERE a.attrelid = 'tq.strategy'::regclass AND a.attnum > 0 AND NOT a.attisdropped
            AND a.attname NOT IN ('name', 'description', 'inherits')
    LOOP
        EXECUTE format('ALTER TABLE tq.strategy ALTER COLUMN %I DROP NOT NULL, ALTER COLUMN %1$I DROP DEFAULT', setting.name);
        EXECUTE format('UPDATE tq.strategy AS s SET %I = NULL FROM tq.strategy AS d
                        WHERE d.name = ''default'' AND s.name <> ''default'' AND s.%1$I = d.%1$I', setting.name);
    END LOOP;
END $$;
UPDATE tq.strategy SET inherits = 'default' WHERE name <> 'default';
UPDATE tq.strategy SET
    versions = 'current', source_rule = 'source_weight * CASE WHEN current THEN 1 ELSE 0.8 END', pairs = 16,
    format = 'rows', language = 'english'
WHERE name = 'default';
ALTER TABLE tq.strategy
    ALTER COLUMN inherits SET DEFAULT 'default',
    -- Deferred, so that what is wrong with a chain is said in words before.
    ADD CONSTRAINT strategy_inherits_fkey FOREIGN KEY (inherits) REFERENCES tq.strategy ON UPDATE CASCADE
        DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT strategy_inherits_check CHECK ((name = 'default') = (inherits IS NULL)),
    ADD CONSTRAINT strategy_default_whole_check CHECK (name <> 'default' OR num_nulls(
        top_n, documents, routes, rereads, evidence, evidence_why, mode, merge, reasoning_rules, weight_evidence, weight_agreement,
        weight_source, weight_fit, on_error, patience_seconds, versions, source_rule, pairs, format, language) = 0);

-- Shipped examples, each a use case of its own; one of that name that is there already stays as it is.
INSERT INTO tq.strategy (name, description, top_n, documents, routes, pairs)
VALUES ('lookup', 'One fact, quickly: the best answer alone, and whether another contradicts it.', 1, 20, 4, 4)
ON CONFLICT (name) DO NOTHING;
INSERT INTO tq.strategy (name, description, top_n, documents, routes, rereads, pairs, reasoning_rules)
VALUES ('audit', 'All that bears on a question, from source lines, with every contradiction.', 50, 1000, 32, 4, 200,
        'A reason counts only where a line states it as the reason. What is usual, likely or implied is none.')
ON CONFLICT (name) DO NOTHING;
INSERT INTO tq.strategy (name, description, versions, source_rule, top_n, routes, pairs)
VALUES ('compare', 'What sources and their versions say, beside each other; old versions count as much as new ones.',
        'all', 'source_weight', 20, 16, 100)
ON CONFLICT (name) DO NOTHING;
INSERT INTO tq.strategy (name, description, evidence, evidence_why, top_n, documents, routes, pairs, max_seconds)
VALUES ('triage', 'A first look over many documents, from their summaries: where would an answer be?', 'summary', 'summary', 3, 500, 2, 4, 20)
ON CONFLICT (name) DO NOTHING;
INSERT INTO tq.strategy (name, inherits, description, top_n, documents, routes, pairs, max_calls, max_tokens, max_cost, max_seconds)
VALUES ('exhaustive', 'audit', 'Everything that can be found, whatever it takes: no limit, nothing held back.', 1000, 10000, 200, 1000, -1, -1, -1, -1)
ON CONFLICT (name) DO NOTHING;

-- Every version of what a strategy amounts to, with all that it inherits; written by a trigger alone. parsed: the
-- expressions as trees, see tq.strategy.filter. No foreign key: an old answer names its version when the strategy is gone.
CREATE TABLE tq.strategy_version (
    strategy text NOT NULL,
    version int NOT NULL CONSTRAINT strategy_version_check CHECK (version >= 1),
    settings jsonb NOT NULL,
    comes_from jsonb NOT NULL,
    parsed jsonb NOT NULL,
    changed_by name NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (strategy, version)
);

ALTER TABLE tq.query ADD COLUMN strategy_version int;

-- ---------------------------------------------------------------- possible queries and corrections

ALTER TABLE tq.possible_query ADD CONSTRAINT possible_query_not_blank_check CHECK (btrim(question) <> '');

-- What a reader says of an answer. what: the right one, NULL where nothing settles the question. The place is kept as it
-- was named; with its document it goes.
CREATE TABLE tq.correction (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    answer_id uuid NOT NULL REFERENCES tq.answer ON DELETE CASCADE,
    what text CONSTRAINT correction_what_check CHECK (length(btrim(what)) BETWEEN 1 AND 10000),
    note text NOT NULL DEFAULT '' CONSTRAINT correction_note_check CHECK (length(note) <= 10000),
    document_id uuid,
    line_start int,
    line_end int,
    corrected_by name NOT NULL,
    corrected_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT correction_says_something_check CHECK (what IS NOT NULL OR note <> ''),
    CONSTRAINT correction_place_check CHECK (
        num_nulls(line_start, line_end) IN (0, 2) AND (document_id IS NULL OR 1 <= line_start AND line_start <= line_end)),
    CONSTRAINT correction_document_fkey FOREIGN KEY (document_id) REFERENCES tq.document ON DELETE SET NULL (document_id)
);
CREATE INDEX correction_answer_idx ON tq.correction (answer_id);

-- A question with the answer that it should get: what, or NULL where nothing settles it, and where it stands.
CREATE TABLE tq.test_query (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    document text,
    question text NOT NULL CONSTRAINT test_query_question_check CHECK (btrim(question) <> ''),
    strategy text NOT NULL DEFAULT 'default',
    what text CONSTRAINT test_query_what_check CHECK (btrim(what) <> ''),
    expected_document text,
    line_start int,
    line_end int,
    correction_id uuid REFERENCES tq.correction ON DELETE SET NULL,
    added_by name NOT NULL DEFAULT current_user,
    added_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT test_query_place_check CHECK (
        num_nulls(expected_document, line_start, line_end) = 3 OR 1 <= line_start AND line_start <= line_end AND expected_document <> '')
);
CREATE INDEX test_query_correction_idx ON tq.test_query (correction_id);
