-- Strategies: values that do not fit are refused in words, what is not said is inherited, every version is kept.
--
-- A new setting of strategies is a column of tq.strategy without NOT NULL and DEFAULT, with a value in the row `default`.

-- ---------------------------------------------------------------- a value that does not fit

-- One place says what is allowed, the CHECK; its comment says it to people.
CREATE OR REPLACE FUNCTION tq_private.check_values() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    guard record;
    holds boolean;
    written constant jsonb := to_jsonb(NEW);
    subject text;
BEGIN
    FOR guard IN
        SELECT c.conname, pg_get_expr(c.conbin, c.conrelid) AS expression, pg_get_constraintdef(c.oid) AS definition,
               obj_description(c.oid, 'pg_constraint') AS hint,
               (SELECT a.atttypid = 'text'::regtype FROM pg_attribute AS a
                WHERE a.attrelid = c.conrelid AND a.attnum = c.conkey[1]) AS text,
               ARRAY(SELECT a.attname::text FROM unnest(c.conkey) AS k JOIN pg_attribute AS a
                     ON a.attrelid = c.conrelid AND a.attnum = k) AS columns
        FROM pg_constraint AS c WHERE c.conrelid = TG_RELID AND c.contype = 'c' ORDER BY c.conname
    LOOP
        EXECUTE format('SELECT %s FROM (SELECT ($1).*) AS r', guard.expression) INTO holds USING NEW;
        IF NOT holds THEN
            subject := CASE WHEN TG_TABLE_NAME = 'setting' THEN 'the setting ' || (written ->> 'name')
                            WHEN cardinality(guard.columns) = 1 THEN format('tq.%s.%s', TG_TABLE_NAME, guard.columns[1])
                            ELSE format('tq.%s %s', TG_TABLE_NAME, tq_private.shown(written ->> 'name')) END;
            RAISE EXCEPTION USING ERRCODE = 'TQ021', MESSAGE = format('invalid value for %s', subject),
                DETAIL = CASE
                    WHEN TG_TABLE_NAME = 'setting' THEN format('It is %s.', left((written -> 'value')::text, 100))
                    WHEN cardinality(guard.columns) = 1 THEN format('It is %s.', CASE
                        WHEN guard.text
                        THEN tq_private.shown(written ->> guard.columns[1]) ELSE written ->> guard.columns[1] END)
                    ELSE (SELECT string_agg(format('%s is %s', c, coalesce(left(written ->> c, 40), 'NULL')), ', ')
                          FROM unnest(guard.columns) AS c WHERE written -> c = 'null' OR cardinality(guard.columns) < 4) || '.' END,
                HINT = CASE WHEN guard.conname = 'setting_value_check' AND written ->> 'minimum' IS NOT NULL
                    THEN format('A number from %s to %s.', written ->> 'minimum', written ->> 'maximum')
                    ELSE coalesce(guard.hint, 'It has to hold: ' || guard.definition) END;
        END IF;
    END LOOP;
    FOR guard IN
        SELECT a.attname AS column FROM pg_constraint AS c JOIN pg_attribute AS a
            ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
        WHERE c.conrelid = TG_RELID AND c.contype = 'f' AND c.confrelid = 'tq.model'::regclass
    LOOP
        IF written ->> guard.column IS NOT NULL
            AND NOT EXISTS (SELECT FROM tq.model AS m WHERE m.name = written ->> guard.column) THEN
            RAISE EXCEPTION USING ERRCODE = 'TQ020', MESSAGE = 'model not found',
                DETAIL = format('There is no model %s (from tq.%s.%s).', tq_private.shown(written ->> guard.column),
                                TG_TABLE_NAME, guard.column),
                HINT = (SELECT 'Known: ' || string_agg(m.name, ', ' ORDER BY m.name) || '.' FROM tq.model AS m);
        END IF;
    END LOOP;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION tq_private.check_values IS 'TQ021 with a reason in words in place of a CHECK that fails, TQ020 for a model.';

CREATE OR REPLACE TRIGGER strategy_values_fit BEFORE INSERT OR UPDATE ON tq.strategy
FOR EACH ROW EXECUTE FUNCTION tq_private.check_values();
ALTER TABLE tq.strategy ENABLE ALWAYS TRIGGER strategy_values_fit;
CREATE OR REPLACE TRIGGER setting_values_fit BEFORE INSERT OR UPDATE ON tq.setting
FOR EACH ROW EXECUTE FUNCTION tq_private.check_values();
ALTER TABLE tq.setting ENABLE ALWAYS TRIGGER setting_values_fit;

DO $$
DECLARE
    hint record;
BEGIN
    FOR hint IN SELECT * FROM (VALUES
        ('name', 'A name has at least one character.'),
        ('top_n', 'How many answers are shown: 1 to 1000. The rest is held back and counted.'),
        ('documents', 'A question searches 1 to 10000 documents.'),
        ('routes', '1 to 1000 routes.'),
        ('rereads', '0 to 10.'),
        ('evidence', 'line, or summary.'),
        ('evidence_why', 'line, or summary.'),
        ('depth', '0 (the root alone) to 1000 levels; -1 for no limit; NULL for what is inherited.'),
        ('depth_why', '0 (the root alone) to 1000 levels; -1 for no limit; NULL for what is inherited.'),
        ('follow_up', 'widen, or near.'),
        ('mode', 'tree, single-pass or chunked-tree.'),
        ('merge', 'union, or such as "top 8", or such as "vote 2 of 3".'),
        ('reasoning_rules', 'At most 4000 characters.'),
        ('weight_evidence', 'A weight is 0 to 1000.'),
        ('weight_agreement', 'A weight is 0 to 1000.'),
        ('weight_source', 'A weight is 0 to 1000.'),
        ('weight_fit', 'A weight is 0 to 1000.'),
        ('on_error', 'raise, or row.'),
        ('max_calls', 'At least 1; -1 for no limit; NULL for what is inherited.'),
        ('max_tokens', 'At least 1; -1 for no limit; NULL for what is inherited.'),
        ('max_cost', 'More than 0, at most 1000000000; -1 for no limit; NULL for what is inherited.'),
        ('max_seconds', 'More than 0, at most a day; -1 for no limit; NULL for what is inherited.'),
        ('patience_seconds', '0 to 3600 seconds.'),
        ('versions', 'current, or all.'),
        ('pairs', '0 to 1000 pairs.'),
        ('format', 'rows, json, markdown, text or html.'),
        ('language', 'english, or german.'),
        ('inherits', 'Every strategy but default inherits from another, in the end from default.'),
        ('default_whole', 'All strategies inherit from default: it has to say everything.')
    ) AS v (guard, said)
    LOOP
        EXECUTE format('COMMENT ON CONSTRAINT %I ON tq.strategy IS %L', 'strategy_' || hint.guard || '_check', hint.said);
    END LOOP;
END $$;
COMMENT ON CONSTRAINT setting_value_check ON tq.setting IS 'A value keeps its kind: a number, true or false, or a text.';
COMMENT ON CONSTRAINT setting_blob_store_check ON tq.setting IS
'database, file:///path or s3://bucket/prefix, without a user, a password or a query.';
COMMENT ON CONSTRAINT setting_possible_queries_check ON tq.setting IS
'nowhere, or any of root, nodes and plan, such as "root, plan".';

-- ---------------------------------------------------------------- expressions over documents

-- What an expression makes of a text of the metadata: NULL where it is none.
CREATE OR REPLACE FUNCTION tq_private.number_of(value text) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN value ~ '^\s*[-+]?(\d{1,15}(\.\d{0,15})?|\.\d{1,15})\s*$' THEN value::numeric END;
COMMENT ON FUNCTION tq_private.number_of IS 'A text as a number, or NULL.';

CREATE OR REPLACE FUNCTION tq_private.date_of(value text) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE
    WHEN value !~ '^\s*[1-9]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\s*$' THEN NULL
    WHEN right(btrim(value), 2)::int > extract(day FROM
        make_date(left(btrim(value), 4)::int, substr(btrim(value), 6, 2)::int, 1) + interval '1 month' - interval '1 day') THEN NULL
    ELSE make_date(left(btrim(value), 4)::int, substr(btrim(value), 6, 2)::int, right(btrim(value), 2)::int) END;
COMMENT ON FUNCTION tq_private.date_of IS 'A text such as 2024-12-31 as a date, or NULL.';

CREATE OR REPLACE FUNCTION tq_private.date_plus(day date, span interval) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN day BETWEEN DATE '1000-01-01' AND DATE '9000-01-01' THEN (day + span)::date END;
COMMENT ON FUNCTION tq_private.date_plus IS 'A date and a span of at most 999 years; NULL for a date far out.';

CREATE OR REPLACE FUNCTION tq_private.days_between(day date, from_day date) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN isfinite(day) AND isfinite(from_day) THEN (day - from_day)::numeric END;
COMMENT ON FUNCTION tq_private.days_between IS 'Days from one date to another; NULL where one is infinite.';

CREATE OR REPLACE FUNCTION tq_private.boolean_of(value text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE lower(btrim(value)) WHEN 'true' THEN TRUE WHEN 'yes' THEN TRUE WHEN '1' THEN TRUE
    WHEN 'false' THEN FALSE WHEN 'no' THEN FALSE WHEN '0' THEN FALSE END;
COMMENT ON FUNCTION tq_private.boolean_of IS 'A text as true or false, or NULL.';

CREATE OR REPLACE FUNCTION tq_private.expression_of(setting text, expression text, OUT result jsonb, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.expression_of(plpy, setting, expression)
$$;
COMMENT ON FUNCTION tq_private.expression_of IS 'The expression of a strategy''s scope or source_rule, read and checked.';

-- ---------------------------------------------------------------- what a strategy amounts to

CREATE OR REPLACE FUNCTION tq_private.strategy_values(name text)
RETURNS TABLE (setting text, value jsonb, comes_from text)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
    WITH RECURSIVE chain AS (
        SELECT s AS strategy, 0 AS depth, ARRAY[s.name] AS path FROM tq.strategy AS s WHERE s.name = strategy_values.name
        UNION ALL
        SELECT p, c.depth + 1, c.path || p.name
        FROM chain AS c JOIN tq.strategy AS p ON p.name = (c.strategy).inherits
        WHERE p.name <> ALL (c.path)
    )
    SELECT DISTINCT ON (e.key) e.key, e.value, (c.strategy).name
    FROM chain AS c
    CROSS JOIN LATERAL jsonb_each(to_jsonb(c.strategy) - '{name,description,inherits}'::text[]) AS e
    WHERE e.value <> 'null' OR (c.strategy).inherits IS NULL
    ORDER BY e.key, c.depth
$$;
COMMENT ON FUNCTION tq_private.strategy_values IS 'Each setting of a strategy as it is now: its own, or the nearest that it inherits.';

CREATE OR REPLACE FUNCTION tq_private.check_fits(name text, chosen jsonb) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    reader tq.model;
    room int;
BEGIN
    SELECT m.* INTO reader FROM tq.model AS m
    WHERE m.name = coalesce(chosen ->> 'model_read', chosen ->> 'model', (tq_private.usual_reader()).name);
    room := tq_private.share_of(reader);
    IF length(chosen ->> 'reasoning_rules') > room THEN
        RAISE EXCEPTION USING ERRCODE = 'TQ021', MESSAGE = 'invalid value for tq.strategy.reasoning_rules',
            DETAIL = format('%s has %s characters of them; %s fit the share of a prompt that the model %s leaves for rules.',
                            tq_private.shown(check_fits.name), length(chosen ->> 'reasoning_rules'), room, reader.name),
            HINT = 'Shorten it, or name a model with a larger input.';
    END IF;
    -- A call is admitted where its worst case fits: not one would be.
    IF (chosen ->> 'max_tokens')::bigint BETWEEN 1 AND reader.output_tokens THEN
        RAISE EXCEPTION USING ERRCODE = 'TQ021', MESSAGE = 'invalid value for tq.strategy.max_tokens',
            DETAIL = format('%s allows %s tokens a question; one reply of the model %s may take %s.',
                            tq_private.shown(check_fits.name), chosen ->> 'max_tokens', reader.name, reader.output_tokens),
            HINT = 'Allow more, or name a model with shorter replies.';
    END IF;
END $$;
COMMENT ON FUNCTION tq_private.check_fits IS 'TQ021 where a strategy''s settings do not fit the model that reads.';

CREATE OR REPLACE FUNCTION tq_private.check_strategy(name text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    chosen jsonb;
    setting text;
BEGIN
    SELECT jsonb_object_agg(v.setting, v.value) INTO chosen FROM tq_private.strategy_values(check_strategy.name) AS v;
    PERFORM tq_private.check_fits(check_strategy.name, chosen);
    FOREACH setting IN ARRAY ARRAY['scope', 'source_rule'] LOOP
        IF chosen ->> setting IS NOT NULL THEN
            PERFORM tq_private.raise_problem((tq_private.expression_of(setting, chosen ->> setting)).problem);
        END IF;
    END LOOP;
END $$;
COMMENT ON FUNCTION tq_private.check_strategy IS
'A strategy as it is now against the models and the program as they are now, which may have changed since it was written.';

CREATE OR REPLACE FUNCTION tq_private.keep_strategies(checked boolean DEFAULT TRUE) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    one tq.strategy;
    told text;
    chosen jsonb;
    origin jsonb;
    kept tq.strategy_version;
    parsed jsonb;
    walked record;
    setting text;
BEGIN
    -- Two sessions that change strategies take turns, so that what each checks stays true.
    PERFORM pg_advisory_xact_lock(hashtextextended('tq.strategy', 0));
    IF NOT EXISTS (SELECT FROM tq.strategy AS s WHERE s.name = 'default') THEN
        RAISE EXCEPTION USING ERRCODE = 'TQ021', MESSAGE = 'invalid change of tq.strategy',
            DETAIL = 'The strategy default would be gone.', HINT = 'All others inherit from it: change its values instead.';
    END IF;
    FOR one IN SELECT s.* FROM tq.strategy AS s ORDER BY s.name LOOP
        IF one.inherits IS NOT NULL AND NOT EXISTS (SELECT FROM tq.strategy AS s WHERE s.name = one.inherits) THEN
            RAISE EXCEPTION USING ERRCODE = 'TQ020', MESSAGE = 'strategy not found',
                DETAIL = format('%s inherits from %s, which is not there.', tq_private.shown(one.name),
                                tq_private.shown(one.inherits)),
                HINT = (SELECT 'Known: ' || string_agg(s.name, ', ' ORDER BY s.name) || '.' FROM tq.strategy AS s);
        END IF;
        WITH RECURSIVE up AS (
            SELECT one.inherits AS name, ARRAY[one.name] AS path
            UNION ALL
            SELECT s.inherits, u.path || s.name FROM up AS u JOIN tq.strategy AS s ON s.name = u.name
            WHERE u.name <> ALL (u.path)
        )
        SELECT array_to_string(u.path || u.name, ' from ') INTO told FROM up AS u WHERE u.name = ANY (u.path) LIMIT 1;
        IF told IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'TQ021', MESSAGE = 'invalid value for tq.strategy.inherits',
                DETAIL = format('It goes round: %s.', left(told, 500)),
                HINT = 'Let one of them inherit from default.';
        END IF;

        SELECT jsonb_object_agg(v.setting, v.value), jsonb_object_agg(v.setting, v.comes_from) INTO chosen, origin
        FROM tq_private.strategy_values(one.name) AS v;
        SELECT v.* INTO kept FROM tq.strategy_version AS v WHERE v.strategy = one.name
        ORDER BY v.version DESC LIMIT 1;
        CONTINUE WHEN kept.settings = chosen;

        IF (chosen ->> 'weight_evidence')::real + (chosen ->> 'weight_agreement')::real + (chosen ->> 'weight_source')::real
            + (chosen ->> 'weight_fit')::real = 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'TQ021', MESSAGE = 'invalid values for the weights of a strategy',
                DETAIL = format('All weights of %s are 0.', tq_private.shown(one.name)),
                HINT = 'At least one of weight_evidence, weight_agreement, weight_source and weight_fit has to be more.';
        END IF;
        IF checked THEN
            PERFORM tq_private.check_fits(one.name, chosen);
        END IF;
        parsed := '{}';
        FOREACH setting IN ARRAY ARRAY['scope', 'source_rule'] LOOP
            IF chosen ->> setting IS NULL THEN
                parsed := parsed || jsonb_build_object(setting, NULL);
            ELSIF kept.settings ->> setting = chosen ->> setting THEN
                parsed := parsed || jsonb_build_object(setting, kept.parsed -> setting);
            ELSE
                walked := tq_private.expression_of(setting, chosen ->> setting);
                PERFORM tq_private.raise_problem(walked.problem);
                parsed := parsed || jsonb_build_object(setting, walked.result);
            END IF;
        END LOOP;
        INSERT INTO tq.strategy_version (strategy, version, settings, comes_from, parsed, changed_by)
        VALUES (one.name, coalesce(kept.version, 0) + 1, chosen, origin, parsed, tq_private.asker());
    END LOOP;
END $$;
COMMENT ON FUNCTION tq_private.keep_strategies IS
'Check all strategies as they are now, and keep a version of each that changed.
checked: also whether their rules fit the model that reads, which may have changed since they were written.';

CREATE OR REPLACE FUNCTION tq_private.strategies_changed() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    PERFORM tq_private.keep_strategies();
    RETURN NULL;
END $$;
COMMENT ON FUNCTION tq_private.strategies_changed IS 'keep_strategies after every change of tq.strategy.';

CREATE OR REPLACE TRIGGER strategy_kept AFTER INSERT OR UPDATE OR DELETE ON tq.strategy
FOR EACH STATEMENT EXECUTE FUNCTION tq_private.strategies_changed();
ALTER TABLE tq.strategy ENABLE ALWAYS TRIGGER strategy_kept;

CREATE OR REPLACE FUNCTION tq.strategy_effective(name text, version int DEFAULT NULL)
RETURNS TABLE (setting text, value text, comes_from text)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF strategy_effective.version IS NULL THEN
        RETURN QUERY SELECT v.setting, v.value #>> '{}', v.comes_from
                     FROM tq_private.strategy_values(strategy_effective.name) AS v ORDER BY v.setting;
    ELSE
        RETURN QUERY SELECT e.key, e.value #>> '{}', v.comes_from ->> e.key
                     FROM tq.strategy_version AS v CROSS JOIN LATERAL jsonb_each(v.settings) AS e
                     WHERE v.strategy = strategy_effective.name AND v.version = strategy_effective.version
                     ORDER BY e.key;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TQ020', MESSAGE = 'strategy not found',
            DETAIL = coalesce(format('There is no strategy %s%s.', tq_private.shown(strategy_effective.name),
                                     ' in version ' || strategy_effective.version), 'It is NULL.'),
            HINT = (SELECT 'Known: ' || string_agg(s.name, ', ' ORDER BY s.name) || '.' FROM tq.strategy AS s);
    END IF;
END $$;
COMMENT ON FUNCTION tq.strategy_effective IS
'Each setting of a strategy, and from which strategy it comes.
version: as it was then, for an answer whose detail names it; NULL for now.';

COMMENT ON TABLE tq.strategy_version IS 'What each strategy amounted to in each of its versions.';
COMMENT ON COLUMN tq.strategy_version.settings IS 'All settings with what is inherited.';
COMMENT ON COLUMN tq.strategy_version.comes_from IS 'From which strategy each came when the version began.';
COMMENT ON COLUMN tq.strategy_version.parsed IS 'The expressions as trees.';

-- Strategies that a migration wrote or gave another setting.
SELECT tq_private.keep_strategies(checked => FALSE);
