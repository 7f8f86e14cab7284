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
        top_n, documents, routes, rereads, evidence, evidence_why, reasoning_rules, weight_evidence, weight_agreement, weight_source,
        weight_fit, on_error, patience_seconds, versions, source_rule, pairs, format, language) = 0);

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
