-- The sections that bear on a question, for callers that write their own answer; and the search modes side by side.

CREATE OR REPLACE FUNCTION tq_private.select_walk(doc text, question text, mode text, OUT result jsonb, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.select_walk(plpy, doc, question, mode)
$$;
COMMENT ON FUNCTION tq_private.select_walk IS
'The sections that bear on a question: [{"document_id", "node_id", "title", "line_start", "line_end"}, ...].';

CREATE OR REPLACE FUNCTION tq.select(doc text, question text, mode text DEFAULT 'tree')
RETURNS TABLE (node_id uuid, title text, line_start int, line_end int, content text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
#variable_conflict use_column
DECLARE
    walked record;
BEGIN
    walked := tq_private.select_walk("select".doc, "select".question, "select".mode);
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
'The sections that bear on a question, with their text.
doc as in tq.ask. mode: tree (sections that answer, best first), single-pass or chunked-tree (chosen from the view of the whole
tree, in the order of the document). Nothing selected: TQ111. Nothing is recorded.';

CREATE OR REPLACE FUNCTION tq_private.modes_walk(
    doc text, question text, strategy text, OUT result jsonb, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.modes_walk(plpy, doc, question, strategy)
$$;
COMMENT ON FUNCTION tq_private.modes_walk IS 'A question in every search mode, and what each came to.';

CREATE OR REPLACE FUNCTION tq.compare_modes(doc text, question text, strategy text DEFAULT 'default')
RETURNS TABLE (
    mode text, ran_as text, certainty text, answers int, what text, document text, line_start int, line_end int,
    sections text[], reads int, calls int, input_tokens bigint, output_tokens bigint, cost numeric, elapsed_ms real,
    error text)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 3 SET search_path = pg_catalog, tq, pg_temp AS $$
#variable_conflict use_column
DECLARE
    walked record;
BEGIN
    walked := tq_private.modes_walk(compare_modes.doc, compare_modes.question, compare_modes.strategy);
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN QUERY
    SELECT m.* FROM ROWS FROM (jsonb_to_recordset(walked.result) AS (
        mode text, ran_as text, certainty text, answers int, what text, document text, line_start int, line_end int,
        sections text[], reads int, calls int, input_tokens bigint, output_tokens bigint, cost numeric, elapsed_ms real,
        error text)) AS m;
END $$;
COMMENT ON FUNCTION tq.compare_modes IS
'The same question in every search mode: what each found and cost.
Arguments as of tq.ask; the strategy gives all but the mode. Each mode begins anew and takes no stored reply. ran_as: what a
mode came to; a single pass that does not fit one call is cut. Nothing is recorded.';
