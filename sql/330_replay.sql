-- A question again, from the replies that were stored with it.

CREATE OR REPLACE FUNCTION tq_private.replay_walk(query text, OUT result jsonb, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.replay_walk(plpy, query)
$$;
COMMENT ON FUNCTION tq_private.replay_walk IS 'Search and answer as ask_walk does, with stored replies alone.';

CREATE OR REPLACE FUNCTION tq.replay(query_id uuid) RETURNS SETOF tq.answer_row
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 5 SET search_path = pg_catalog, tq, pg_temp AS $$
#variable_conflict use_column
DECLARE
    asked tq.query;
    walked record;
BEGIN
    asked := tq_private.known_query(replay.query_id);
    IF asked.status <> 'answered' THEN
        PERFORM tq_private.invalid_argument('query_id', format('The question is %s.', asked.status),
            'Replay a question that was answered; tq.query has its status.');
    END IF;
    walked := tq_private.replay_walk(asked.id::text);
    PERFORM tq_private.raise_problem(walked.problem);
    -- Ids and times are those of the question; all else is found again.
    RETURN QUERY
    SELECT a.*
    FROM jsonb_array_elements(walked.result -> 'shown') AS found (entry)
    LEFT JOIN tq.answer AS r ON r.query_id = asked.id AND r.rank = (found.entry ->> 'rank')::int
    CROSS JOIN LATERAL jsonb_populate_record(NULL::tq.answer_row, found.entry || jsonb_build_object(
        'answer_id', r.id, 'query_id', asked.id,
        'detail', (found.entry -> 'detail') || jsonb_build_object('elapsed_ms', r.detail -> 'elapsed_ms'))) AS a
    ORDER BY a.rank;
END $$;
COMMENT ON FUNCTION tq.replay IS
'The answers of a question found again from its stored replies.
query_id: of tq.ask. No model is asked and nothing is written. Where documents or configuration changed: TQ021.';
