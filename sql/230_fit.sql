-- What follows from a model's row, and what ingest will cost with it.

CREATE OR REPLACE FUNCTION tq_private.fit_of(model text, OUT result jsonb, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.fit_of(plpy, model)
$$;
COMMENT ON FUNCTION tq_private.fit_of IS 'Sizes that follow from a row of tq.model: [{"name", "value", "unit", "meaning"}, ...].';

CREATE OR REPLACE FUNCTION tq_private.estimate_of(
    doc text, content bytea, model text, OUT result jsonb, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.estimate_of(plpy, doc, content, model)
$$;
COMMENT ON FUNCTION tq_private.estimate_of IS 'What ingest will cost, by purpose: [{"purpose", "calls", "input_tokens", ...}, ...].';

CREATE OR REPLACE FUNCTION tq_private.limits_of(model text, OUT result jsonb, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.limits_of(plpy, model)
$$;
COMMENT ON FUNCTION tq_private.limits_of IS 'Limits of a model from its provider: {"input_tokens", "output_tokens"}.';

CREATE OR REPLACE FUNCTION tq.refresh_model(model text) RETURNS tq.model
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    result tq.model;
    walked record;
BEGIN
    walked := tq_private.limits_of(refresh_model.model);
    PERFORM tq_private.raise_problem(walked.problem);
    UPDATE tq.model AS m
    SET input_tokens = coalesce((walked.result ->> 'input_tokens')::int, m.input_tokens),
        output_tokens = coalesce((walked.result ->> 'output_tokens')::int, m.output_tokens)
    WHERE m.name = refresh_model.model
    RETURNING m.* INTO result;
    RETURN result;
END $$;
COMMENT ON FUNCTION tq.refresh_model IS
'Take a model''s limits from its provider''s models endpoint.
model: a row of tq.model. Its input_tokens and output_tokens change, all sizes with them; prices stay as they are.';

CREATE OR REPLACE FUNCTION tq.fit(model text) RETURNS TABLE (name text, value bigint, unit text, meaning text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
#variable_conflict use_column
DECLARE
    walked record;
BEGIN
    walked := tq_private.fit_of("fit".model);
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN QUERY SELECT f.name, f.value, f.unit, f.meaning
    FROM jsonb_to_recordset(walked.result) AS f (name text, value bigint, unit text, meaning text);
END $$;
COMMENT ON FUNCTION tq.fit IS
'What follows from a model''s row: window, leaf, fan-out, bullets, quotes.
model: a row of tq.model. All sizes of ingest and asking derive from its limits and from nothing else.';

CREATE OR REPLACE FUNCTION tq.estimate(doc text DEFAULT NULL, content bytea DEFAULT NULL, model text DEFAULT NULL)
RETURNS TABLE (purpose text, calls bigint, input_tokens bigint, output_tokens bigint, cost numeric, pages numeric)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
#variable_conflict use_column
DECLARE
    walked record;
BEGIN
    walked := tq_private.estimate_of("estimate".doc, "estimate".content, "estimate".model);
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN QUERY SELECT f.purpose, f.calls, f.input_tokens, f.output_tokens, f.cost, f.pages
    FROM jsonb_to_recordset(walked.result) AS f (
        purpose text, calls bigint, input_tokens bigint, output_tokens bigint, cost numeric, pages numeric);
END $$;
COMMENT ON FUNCTION tq.estimate IS
'What ingest of a document will cost with a model, before it is paid.
doc: a loaded document whose lines are there; or content: the bytes of a text. model: a row of tq.model, or NULL for the
setting model. One row a purpose and one for all; pages are of 500 tokens.';
