-- The sections that bear on a question, for callers that write their own answer.

CREATE OR REPLACE FUNCTION tq_private.select_walk(doc text, question text, OUT result jsonb, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.select_walk(plpy, doc, question)
$$;
COMMENT ON FUNCTION tq_private.select_walk IS
'The nodes that answer a question, best first: [{"document_id", "node_id", "title", "line_start", "line_end"}, ...].';

CREATE OR REPLACE FUNCTION tq.select(doc text, question text, mode text DEFAULT 'tree')
RETURNS TABLE (node_id uuid, title text, line_start int, line_end int, content text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
#variable_conflict use_column
DECLARE
    walked record;
BEGIN
    IF "select".mode IS DISTINCT FROM 'tree' THEN
        PERFORM tq_private.invalid_argument('mode',
            coalesce('It is ' || tq_private.shown("select".mode) || '.', 'It is NULL.'), 'The mode is tree.');
    END IF;
    walked := tq_private.select_walk("select".doc, "select".question);
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN QUERY
    SELECT c.node_id, nullif(c.title, ''), c.line_start, c.line_end, (
               SELECT string_agg(l.text, E'\n' ORDER BY l.line_no) FROM tq.line AS l
               WHERE l.document_id = c.document_id AND l.line_no BETWEEN c.line_start AND c.line_end)
    FROM ROWS FROM (jsonb_to_recordset(walked.result) AS (
        document_id uuid, node_id uuid, title text, line_start int, line_end int)) WITH ORDINALITY AS c
    ORDER BY c.ordinality;
END $$;
COMMENT ON FUNCTION tq.select IS
'The sections that bear on a question, with their text, best first.
doc as in tq.ask. mode: tree, the walk from the root. Nothing selected: TQ111. Nothing is recorded.';
