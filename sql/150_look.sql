-- Looking at a document: its tree and its lines.

CREATE OR REPLACE FUNCTION tq_private.summary(doc uuid, node uuid) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
    SELECT string_agg('- ' || b.text, E'\n' ORDER BY b.ordinal) FROM tq.bullet AS b WHERE b.document_id = doc AND b.node_id = node
$$;
COMMENT ON FUNCTION tq_private.summary IS 'A node''s bullets as one text, one a line.';

CREATE OR REPLACE FUNCTION tq.outline(doc text)
RETURNS TABLE (
    depth int, node_id uuid, target_node_id uuid, is_leaf boolean, line_start int, line_end int, title text, summary text,
    token_count int)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
#variable_conflict use_column
DECLARE
    d tq.document;
BEGIN
    d := tq_private.resolve_document(doc);
    RETURN QUERY
        WITH RECURSIVE walk AS (
            SELECT 0 AS depth, n.id, n.target_node_id, n.is_leaf, n.line_start, n.line_end, n.title, n.token_count
            FROM tq.node AS n WHERE n.document_id = d.id AND n.target_node_id IS NULL
            UNION ALL
            SELECT w.depth + 1, n.id, n.target_node_id, n.is_leaf, n.line_start, n.line_end, n.title, n.token_count
            FROM walk AS w
            JOIN tq.node AS n ON n.document_id = d.id AND n.target_node_id = w.id
        )
        SELECT w.depth, w.id, w.target_node_id, w.is_leaf, w.line_start, w.line_end, w.title, tq_private.summary(d.id, w.id),
               w.token_count
        FROM walk AS w
        ORDER BY w.line_start, w.depth;
END $$;
COMMENT ON FUNCTION tq.outline IS
'The tree of one document, each node after its parent.
doc: exact name, name@version, uuid, or a glob that means one document.';

CREATE OR REPLACE FUNCTION tq.lines(doc text, line_start int, line_end int)
RETURNS TABLE (line_no int, text text, page int, locator jsonb)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
#variable_conflict use_column
DECLARE
    d tq.document;
BEGIN
    d := tq_private.resolve_document(doc);
    RETURN QUERY
        SELECT l.line_no, l.text, l.page, l.locator FROM tq.line AS l
        WHERE l.document_id = d.id
            AND l.line_no BETWEEN coalesce(lines.line_start, 1) AND coalesce(lines.line_end, d.line_count)
        ORDER BY l.line_no;
END $$;
COMMENT ON FUNCTION tq.lines IS
'Lines of one document, both ends included, clipped to what is there.
doc as in tq.outline; NULL for line_start or line_end is the first or the last line.';

CREATE OR REPLACE FUNCTION tq_private.read_citation(
    citation jsonb, OUT document text, OUT version int, OUT page int, OUT line_start int, OUT line_end int, OUT quote text)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    BEGIN
        document := citation ->> 'document';
        version := (citation ->> 'version')::int;
        page := (citation ->> 'page')::int;
        line_start := (citation ->> 'line_start')::int;
        line_end := coalesce((citation ->> 'line_end')::int, line_start);
        quote := citation ->> 'quote';
    EXCEPTION WHEN data_exception THEN
        line_start := NULL;
    END;
    IF jsonb_typeof(citation) IS DISTINCT FROM 'object' OR document IS NULL OR line_start IS NULL THEN
        PERFORM tq_private.invalid_argument('citation', 'It is no object with document and line_start.',
            'Give a citation as tq.ask returns it: document, version, line_start, line_end.');
    END IF;
END $$;
COMMENT ON FUNCTION tq_private.read_citation IS 'The parts of one element of the column citations, or TQ021.';

CREATE OR REPLACE VIEW tq.summary_node WITH (security_invoker = true) AS
SELECT n.document_id, n.id, n.target_node_id, n.depth, n.is_leaf, n.line_start, n.line_end,
       tq_private.summary(n.document_id, n.id) AS summary
FROM tq.node AS n;
COMMENT ON VIEW tq.summary_node IS 'The nodes of all trees, each with its summary as bullet points.';
COMMENT ON COLUMN tq.summary_node.target_node_id IS 'The parent; NULL at the root.';
COMMENT ON COLUMN tq.summary_node.line_start IS 'First line, inclusive.';
COMMENT ON COLUMN tq.summary_node.line_end IS 'Last line, inclusive.';
