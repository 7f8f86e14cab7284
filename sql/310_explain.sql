-- Looking at a question that was asked: its walk, its answers, and its quotes checked again. No model.
--
-- The public ones are VOLATILE though they write nothing: a STABLE one sees the snapshot of its statement, in which an answer
-- that tq.ask records in the same statement is not there yet.

CREATE OR REPLACE FUNCTION tq_private.known_query(query uuid) RETURNS tq.query
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    result tq.query;
BEGIN
    SELECT q.* INTO result FROM tq.query AS q WHERE q.id = known_query.query;
    IF NOT FOUND THEN
        PERFORM tq_private.invalid_argument('query',
            coalesce('You asked no question with the id ' || known_query.query || '.', 'It is NULL.'),
            'The column query_id of tq.ask has it; in a read-only transaction it is NULL and nothing is kept.');
    END IF;
    RETURN result;
END $$;
COMMENT ON FUNCTION tq_private.known_query IS 'A question that the caller may see, or TQ021.';

CREATE OR REPLACE FUNCTION tq_private.line_range(line_start int, line_end int) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN line_start = line_end THEN format('line %s', line_start) ELSE format('lines %s–%s', line_start, line_end) END;
COMMENT ON FUNCTION tq_private.line_range IS 'A range of lines in words.';

CREATE OR REPLACE FUNCTION tq_private.rejected_line(attempt jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp
RETURN format('rejected: %s · the reply was %s', attempt ->> 'rejected', left(attempt ->> 'reply', 300));
COMMENT ON FUNCTION tq_private.rejected_line IS 'A reply that was thrown away, and why.';

CREATE OR REPLACE FUNCTION tq.explain(query uuid, with_rejected boolean DEFAULT FALSE) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    asked tq.query;
BEGIN
    asked := tq_private.known_query(query);
    RETURN QUERY
    WITH RECURSIVE walk AS (
        SELECT r.ordinal, r.route, ARRAY[r.ordinal] AS path
        FROM tq.read AS r WHERE r.query_id = asked.id AND r.parent IS NULL
        UNION ALL
        SELECT r.ordinal, r.route, w.path || r.ordinal
        FROM walk AS w
        JOIN tq.read AS r ON r.query_id = asked.id AND r.parent = w.ordinal
    ), visit AS (
        SELECT w.path, repeat('  ', cardinality(w.path)) AS indent, r.*, d.name, d.version, t.subject, t.part AS sought, t.ended,
               t.parent AS from_route,
               -- A route is named where it begins.
               r.ordinal = min(r.ordinal) OVER (PARTITION BY r.route) AS begins
        FROM walk AS w
        JOIN tq.read AS r ON r.query_id = asked.id AND r.ordinal = w.ordinal
        JOIN tq.route AS t ON t.query_id = asked.id AND t.ordinal = r.route
        JOIN tq.document AS d ON d.id = r.document_id
    ), told (section, path, part, number, line) AS (
        SELECT 1, NULL::int[], 0, 0::bigint,
               format('Question %s', tq_private.shown(asked.question))
               || format(' on %s · strategy %s', coalesce(asked.document, 'the whole scope'), asked.strategy)
               || coalesce(' · model ' || asked.model, '')
               || CASE asked.status WHEN 'answered' THEN '' ELSE ' · ' || asked.status END
               || coalesce(' (' || asked.error || ' [' || asked.sqlstate || '])', '')
               || format(' · %s ms', round(asked.elapsed_ms::numeric, 1))
        UNION ALL
        SELECT CASE WHEN s.purpose IN ('plan', 'select') THEN 2 ELSE 4 END, NULL, s.ordinal * 2, 0,
               format('%s · %s+%s tokens · %s ms', upper(left(s.told, 1)) || substr(s.told, 2), s.input_tokens,
                      s.output_tokens, round(s.elapsed_ms::numeric, 2))
        FROM tq.step AS s WHERE s.query_id = asked.id
        UNION ALL
        SELECT CASE WHEN s.purpose IN ('plan', 'select') THEN 2 ELSE 4 END, NULL, s.ordinal * 2 + 1, r.number,
               '  ' || tq_private.rejected_line(r.entry)
        FROM tq.step AS s CROSS JOIN LATERAL jsonb_array_elements(s.replies) WITH ORDINALITY AS r (entry, number)
        WHERE s.query_id = asked.id AND with_rejected AND r.entry ->> 'rejected' IS NOT NULL
        UNION ALL
        SELECT 3, v.path, 0, 0,
               v.indent || '-> ' || CASE WHEN v.parent IS NULL THEN format('%s@%s ', v.name, v.version) ELSE '' END
               || coalesce(tq_private.shown(nullif(v.title, '')) || ' ', '')
               || tq_private.line_range(v.line_start, v.line_end)
               || format(' · depth %s · %s · %s+%s tokens · %s ms', v.depth, coalesce(v.choice, 'given up'), v.input_tokens,
                         v.output_tokens, round(v.elapsed_ms::numeric, 2))
               || CASE WHEN v.begins THEN format(' · route %s, subject %s%s: %s', v.route, v.subject,
                                               CASE v.sought WHEN 'what' THEN '' ELSE ' (' || v.sought || ')' END, v.ended) ELSE '' END
        FROM visit AS v
        UNION ALL
        SELECT 3, v.path, 1, o.number,
               v.indent || '     ' || CASE WHEN (o.child ->> 'followed')::boolean THEN 'opened' ELSE 'left out' END
               || coalesce(' [' || (o.child ->> 'letter') || ']', '')
               || coalesce(' ' || tq_private.shown(nullif(o.child ->> 'title', '')), '') || ' '
               || tq_private.line_range((o.child ->> 'line_start')::int, (o.child ->> 'line_end')::int)
        FROM visit AS v
        CROSS JOIN LATERAL jsonb_array_elements(v.opened) WITH ORDINALITY AS o (child, number)
        UNION ALL
        SELECT 3, v.path, 2, 0, v.indent || '     ' || CASE cardinality(v.rejected)
                   WHEN 1 THEN '1 reply rejected' ELSE cardinality(v.rejected) || ' replies rejected' END
        FROM visit AS v
        WHERE v.rejected <> '{}' AND with_rejected IS NOT TRUE
        UNION ALL
        SELECT 3, v.path, 2, r.number, v.indent || '     ' || tq_private.rejected_line(r.entry)
        FROM visit AS v
        CROSS JOIN LATERAL jsonb_array_elements(v.replies) WITH ORDINALITY AS r (entry, number)
        WHERE with_rejected AND r.entry ->> 'rejected' IS NOT NULL
        UNION ALL
        SELECT 5, NULL, 0, o.id, 'Left out: ' || o.detail
        FROM tq.omission AS o WHERE o.query_id = asked.id
        UNION ALL
        SELECT 6, NULL, 0, a.rank,
               format('Answer %s%s: %s', a.rank, CASE WHEN a.shown THEN '' ELSE ' (held back)' END, a.certainty)
               || coalesce(' · score ' || round(a.score::numeric, 3), '')
               || coalesce(' · ' || tq_private.shown(a.what), '')
               || coalesce(' · ' || (
                    SELECT string_agg(format('%s %s', d.name, tq_private.line_range(c.line_start, c.line_end)), ', '
                                      ORDER BY c.ordinal)
                    FROM tq.citation AS c JOIN tq.document AS d ON d.id = c.document_id
                    WHERE c.answer_id = a.id), '')
        FROM tq.answer AS a WHERE a.query_id = asked.id
        UNION ALL
        SELECT 7, NULL, 0, 0,
               'Model calls: ' || string_agg(format('%s %s', p.purpose, p.calls), ', ' ORDER BY p.purpose)
               || format(' · %s+%s tokens · %s ms', sum(p.input_tokens), sum(p.output_tokens),
                         round(sum(p.elapsed_ms)::numeric, 1))
        FROM (SELECT m.purpose, sum(m.calls) AS calls, sum(m.input_tokens) AS input_tokens,
                     sum(m.output_tokens) AS output_tokens, sum(m.elapsed_ms) AS elapsed_ms
              FROM tq.model_call AS m WHERE m.query_id = asked.id GROUP BY m.purpose) AS p
        HAVING count(*) > 0
    )
    SELECT t.line FROM told AS t ORDER BY t.section, t.path, t.part, t.number;
END $$;
COMMENT ON FUNCTION tq.explain IS
'The walk of a question, indented like EXPLAIN ANALYZE.
query: query_id of tq.ask. The plan, each node read with its choice, tokens, time, what it opened or left out, comparisons.
with_rejected: also every reply that was thrown away, and why.';

CREATE OR REPLACE FUNCTION tq.check(answer uuid) RETURNS TABLE (citation int, ok boolean, reason text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF NOT EXISTS (SELECT FROM tq.answer AS a WHERE a.id = "check".answer) THEN
        PERFORM tq_private.invalid_argument('answer',
            coalesce('You have no answer with the id ' || "check".answer || '.', 'It is NULL.'),
            'The column answer_id of tq.ask has it; in a read-only transaction it is NULL and nothing is kept.');
    END IF;
    RETURN QUERY
    SELECT c.ordinal, f.fault IS NULL, coalesce(f.fault, 'every part stands in its line')
    FROM tq.citation AS c
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN cardinality(string_to_array(c.quote, E'\n')) <> c.line_end - c.line_start + 1
            THEN format('the quote has %s lines, the citation %s', cardinality(string_to_array(c.quote, E'\n')),
                        c.line_end - c.line_start + 1)
            ELSE (
                SELECT CASE WHEN l.text IS NULL THEN format('line %s is not there', p.line_no)
                            ELSE format('line %s does not hold %s', p.line_no, tq_private.shown(p.quote)) END
                FROM (SELECT q.quote, c.line_start + q.place::int - 1 AS line_no
                      FROM unnest(string_to_array(c.quote, E'\n')) WITH ORDINALITY AS q (quote, place)) AS p
                LEFT JOIN tq.line AS l ON l.document_id = c.document_id AND l.line_no = p.line_no
                WHERE l.text IS NULL OR p.quote = '' OR strpos(l.text, p.quote) = 0
                ORDER BY p.line_no LIMIT 1)
        END AS fault
    ) AS f
    WHERE c.answer_id = "check".answer
    ORDER BY c.ordinal;
END $$;
COMMENT ON FUNCTION tq.check IS
'Every quote of an answer against its stored lines again.
answer: answer_id of tq.ask. One row a citation; none where the answer cites nothing. No model is asked.';

CREATE OR REPLACE FUNCTION tq.answers(query uuid, with_held_back boolean DEFAULT FALSE) RETURNS SETOF tq.answer_row
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 5 SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    asked tq.query;
BEGIN
    asked := tq_private.known_query(query);
    IF asked.status = 'failed' AND NOT EXISTS (SELECT FROM tq.answer AS a WHERE a.query_id = asked.id) THEN
        PERFORM tq_private.raise_problem(jsonb_build_object(
            'code', asked.sqlstate, 'message', asked.error, 'detail', asked.detail, 'hint', asked.hint));
    END IF;
    RETURN QUERY
    SELECT a.rank, a.what, a.why, a.how, a.method, a.certainty, f.document, f.version, f.page, f.line_start, f.line_end,
           f.quote, coalesce(f.citations, '[]'), a.disagreement, a.missing, a.doubt, a.specialist, asked.held_back, a.score,
           a.detail || tq_private.corrections_of(a.id), a.id, asked.id
    FROM tq.answer AS a
    LEFT JOIN LATERAL (
        SELECT (array_agg(d.name ORDER BY c.ordinal))[1] AS document,
               (array_agg(d.version ORDER BY c.ordinal))[1] AS version,
               (array_agg(c.page ORDER BY c.ordinal))[1] AS page,
               (array_agg(c.line_start ORDER BY c.ordinal))[1] AS line_start,
               (array_agg(c.line_end ORDER BY c.ordinal))[1] AS line_end,
               (array_agg(c.quote ORDER BY c.ordinal))[1] AS quote,
               jsonb_agg(jsonb_build_object(
                   'document', d.name, 'version', d.version, 'page', c.page, 'line_start', c.line_start,
                   'line_end', c.line_end, 'quote', c.quote, 'locator', c.locator, 'node_id', c.node_id,
                   'source', c.source) ORDER BY c.ordinal) AS citations
        FROM tq.citation AS c
        JOIN tq.document AS d ON d.id = c.document_id
        WHERE c.answer_id = a.id
    ) AS f ON TRUE
    WHERE a.query_id = asked.id AND (a.shown OR coalesce(with_held_back, FALSE))
    ORDER BY a.rank;
END $$;
COMMENT ON FUNCTION tq.answers IS
'The answers of a question asked before, as far as found.
query: query_id of tq.ask, tq.ask_later or tq.follow_up. with_held_back: also those that the strategy did not show. While it is
asked: in the order they were found, before any was compared, with "final": false in detail. A question that failed raises the
error that tq.ask would have raised, or has its one row where the strategy wants errors as rows.';
