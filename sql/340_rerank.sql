-- A question that was asked, in the order of another strategy.

CREATE OR REPLACE FUNCTION tq_private.rerank_of(query text, strategy text, OUT result jsonb, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.rerank_of(plpy, query, strategy)
$$;
COMMENT ON FUNCTION tq_private.rerank_of IS 'The rows of tq.rerank as JSON.';

CREATE OR REPLACE FUNCTION tq.rerank(query_id uuid, strategy text) RETURNS SETOF tq.answer_row
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 5 SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    walked record;
BEGIN
    walked := tq_private.rerank_of((tq_private.known_query(rerank.query_id)).id::text, rerank.strategy);
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN QUERY SELECT a.* FROM jsonb_populate_recordset(NULL::tq.answer_row, walked.result) AS a ORDER BY a.rank;
END $$;
COMMENT ON FUNCTION tq.rerank IS
'The answers of a question in the order of another strategy.
query_id: of tq.ask. The strategy''s top N are shown. Its weights and source_rule are taken as they are now; nothing is searched, no model is asked and
nothing is recorded. detail names both strategies.';
