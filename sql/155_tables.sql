-- Tables of a document, whatever format they came from: rows that are lines, put together again.

-- The keys of a locator that tell one row from another; what is left names the table.
CREATE OR REPLACE FUNCTION tq_private.table_place(locator jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN coalesce(locator, '{}') - ARRAY['row', 'cells', 'header', 'columns', 'repeated', 'key', 'bbox', 'confidence', 'source_line', 'path',
                                       'anchor', 'printed_line'];
COMMENT ON FUNCTION tq_private.table_place IS 'What a row''s locator says of its table alone.';

-- Rows keep their cells by the names of columns, or by letters where these have none. names: the letter of each name.
CREATE OR REPLACE FUNCTION tq_private.table_markdown(
    doc uuid, line_start int, line_end int, names jsonb, OUT columns text[], OUT markdown text)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
    WITH line AS MATERIALIZED (
        SELECT l.line_no, l.text, l.locator -> 'cells' AS cells
        FROM tq.line AS l
        WHERE l.document_id = doc AND l.line_no BETWEEN line_start AND line_end AND l.kind = 'table' AND NOT coalesce(l.locator ? 'header', FALSE)
    ), cell AS MATERIALIZED (
        SELECT l.line_no, c.value,
               coalesce(names ->> c.key, substring(c.key FROM '\(([A-Z]{1,3})\)$'), c.key) AS place
        FROM line AS l, jsonb_each_text(l.cells) AS c
        WHERE jsonb_typeof(l.cells) = 'object'
    ), placed AS (
        SELECT p.place, n.name,
               row_number() OVER (ORDER BY o.ordinality, p.place !~ '^[A-Z]{1,3}$', length(p.place), p.place) AS n
        FROM (SELECT DISTINCT c.place FROM cell AS c) AS p
        LEFT JOIN LATERAL (SELECT min(e.key) AS name FROM jsonb_each_text(names) AS e WHERE e.value = p.place) AS n ON TRUE
        -- Rows of a query have all their columns named, in its order.
        LEFT JOIN tq.record_query AS q ON q.document_id = doc
        LEFT JOIN LATERAL jsonb_array_elements(q.columns) WITH ORDINALITY AS o (entry) ON o.entry ->> 'name' = p.place
    ), shown AS (
        SELECT l.line_no, '| ' || string_agg(replace(coalesce(c.value, ''), '|', '\|'), ' | ' ORDER BY p.n) || ' |' AS text
        FROM line AS l
        CROSS JOIN placed AS p
        LEFT JOIN cell AS c ON c.line_no = l.line_no AND c.place = p.place
        WHERE jsonb_typeof(l.cells) = 'object'
        GROUP BY l.line_no
    )
    SELECT (SELECT array_agg(coalesce(p.name, p.place) ORDER BY p.n) FROM placed AS p),
           coalesce((SELECT '| ' || string_agg(replace(CASE WHEN p.name IS NULL AND p.place ~ '^[A-Z]{1,3}$' AND q.document_id IS NULL
                                                           THEN '' ELSE coalesce(p.name, p.place) END, '|', '\|'),
                                              ' | ' ORDER BY p.n)
                            || E' |\n|' || string_agg(' --- |', '') || E'\n' || (SELECT string_agg(s.text, E'\n' ORDER BY s.line_no) FROM shown AS s)
                     FROM placed AS p LEFT JOIN tq.record_query AS q ON q.document_id = doc),
                    -- No cells: a row as it stands.
                    (SELECT string_agg(l.text, E'\n' ORDER BY l.line_no) FROM line AS l))
$$;
COMMENT ON FUNCTION tq_private.table_markdown IS 'Rows that are one table, as Markdown.';

CREATE OR REPLACE FUNCTION tq.tables(doc text, line_no int DEFAULT NULL)
RETURNS TABLE (line_start int, line_end int, page int, caption text, columns text[], row_count int, markdown text)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
#variable_conflict use_column
DECLARE
    d tq.document;
    first int := 1;
    last int;
BEGIN
    d := tq_private.resolve_document(doc);
    last := d.line_count;
    IF tables.line_no IS NOT NULL THEN
        -- No further than the text around it.
        SELECT coalesce(max(l.line_no) + 1, 1) INTO first FROM (
            SELECT l.line_no FROM tq.line AS l
            WHERE l.document_id = d.id AND l.line_no < tables.line_no AND l.kind NOT IN ('table', 'furniture')
            ORDER BY l.line_no DESC LIMIT 1) AS l;
        SELECT coalesce(min(l.line_no) - 1, d.line_count) INTO last FROM (
            SELECT l.line_no FROM tq.line AS l
            WHERE l.document_id = d.id AND l.line_no > tables.line_no AND l.kind NOT IN ('table', 'furniture')
            ORDER BY l.line_no LIMIT 1) AS l;
    END IF;
    RETURN QUERY
        WITH line AS (
            -- Heads and feet of pages interrupt nothing.
            SELECT l.line_no, l.kind, l.page, l.locator, tq_private.table_place(l.locator) AS place,
                   l.locator ? 'header' AND NOT l.locator ? 'repeated' AS header
            FROM tq.line AS l
            WHERE l.document_id = d.id AND l.line_no BETWEEN first AND last AND l.kind <> 'furniture'
        ), marked AS (
            -- A table begins where none was, or another, or where names of columns follow on rows.
            SELECT l.*, l.kind = 'table' AND (lag(l.kind) OVER w IS DISTINCT FROM 'table' OR lag(l.place) OVER w <> l.place
                                              OR (l.header AND NOT lag(l.header) OVER w)) AS begins
            FROM line AS l WINDOW w AS (ORDER BY l.line_no)
        ), numbered AS (
            SELECT m.*, count(*) FILTER (WHERE m.begins) OVER (ORDER BY m.line_no) AS n FROM marked AS m
        ), found AS (
            SELECT min(x.line_no) AS line_start, max(x.line_no) AS line_end, min(x.page) AS page,
                   count(*) FILTER (WHERE NOT coalesce(x.locator ? 'header', FALSE))::int AS row_count,
                   (array_agg(x.place))[1] AS place
            FROM numbered AS x WHERE x.kind = 'table' GROUP BY x.n
        )
        SELECT f.line_start, f.line_end, f.page, above.caption, shown.columns, f.row_count, shown.markdown
        FROM found AS f
        -- The line above, if it is a heading or as short as one.
        LEFT JOIN LATERAL (
            SELECT CASE WHEN a.kind = 'heading' OR length(a.text) <= 200 THEN a.text END AS caption
            FROM tq.line AS a
            WHERE a.document_id = d.id AND a.line_no BETWEEN f.line_start - 5 AND f.line_start - 1
                AND a.kind IN ('text', 'heading') AND btrim(a.text) <> ''
            ORDER BY a.line_no DESC LIMIT 1) AS above ON TRUE
        -- The names of its columns: from its own header, or from the one that it goes on with.
        LEFT JOIN LATERAL (
            SELECT h.locator -> 'columns' AS names
            FROM tq.line AS h
            WHERE h.document_id = d.id AND h.line_no <= f.line_end AND h.locator ? 'columns'
                AND tq_private.table_place(h.locator) = f.place
            ORDER BY h.line_no DESC LIMIT 1) AS head ON TRUE
        CROSS JOIN LATERAL tq_private.table_markdown(d.id, f.line_start, f.line_end, head.names) AS shown
        WHERE tables.line_no IS NULL OR tables.line_no BETWEEN f.line_start AND f.line_end
        ORDER BY f.line_start;
END $$;
COMMENT ON FUNCTION tq.tables IS
'The tables of one document, of any format, each as Markdown.
doc as in tq.outline; line_no: only the table that this line is in, such as a cited one. columns are the names that cells
have in the locators of its lines, letters where columns have none; caption is the line above. A table goes on over pages.';
