-- Follow-ups: what a reader picked, questions that begin there, and suggestions of what to ask next.

CREATE OR REPLACE FUNCTION tq_private.known_thread(thread uuid) RETURNS tq.thread
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    result tq.thread;
BEGIN
    SELECT t.* INTO result FROM tq.thread AS t WHERE t.id = known_thread.thread AND t.owner = tq_private.asker();
    IF NOT FOUND THEN
        PERFORM tq_private.invalid_argument('thread',
            coalesce('You have no thread with the id ' || known_thread.thread || '.', 'It is NULL.'),
            'tq.pick begins one and returns its id; a thread is its owner''s alone.');
    END IF;
    RETURN result;
END $$;
COMMENT ON FUNCTION tq_private.known_thread IS 'A thread of the asker, or TQ021.';

-- ---------------------------------------------------------------- picks

CREATE OR REPLACE FUNCTION tq_private.picks_of_answers(answers uuid[]) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    wrong uuid;
    silent boolean;
BEGIN
    IF array_position(answers, NULL) IS NOT NULL OR cardinality(answers) > 100 THEN
        PERFORM tq_private.invalid_argument('answers',
            CASE WHEN cardinality(answers) > 100 THEN format('It names %s answers.', cardinality(answers))
                 ELSE 'One of its ids is NULL; in a read-only transaction no answer has an id.' END,
            'Name up to 100 answers by their answer_id, or give the column citations of what a read-only question returned.');
    END IF;
    SELECT u.id INTO wrong FROM unnest(answers) AS u (id) GROUP BY u.id HAVING count(*) > 1 LIMIT 1;
    IF FOUND THEN
        PERFORM tq_private.invalid_argument('answers', format('The answer %s appears twice.', wrong), 'Name each answer once.');
    END IF;
    SELECT u.id INTO wrong FROM unnest(answers) WITH ORDINALITY AS u (id, place)
    WHERE NOT EXISTS (SELECT FROM tq.answer AS a JOIN tq.query AS q ON q.id = a.query_id
                      WHERE a.id = u.id AND q.asked_by = tq_private.asker())
    ORDER BY u.place LIMIT 1;
    IF FOUND THEN
        PERFORM tq_private.invalid_argument('answers', format('You have no answer with the id %s.', wrong),
            'The column answer_id of tq.ask has it. Answers to other roles cannot be picked.');
    END IF;
    SELECT u.id, a.what IS NULL INTO wrong, silent
    FROM unnest(answers) WITH ORDINALITY AS u (id, place)
    JOIN tq.answer AS a ON a.id = u.id
    WHERE NOT EXISTS (SELECT FROM tq.citation AS c JOIN tq.document AS d ON d.id = c.document_id WHERE c.answer_id = u.id)
    ORDER BY u.place LIMIT 1;
    IF silent THEN
        PERFORM tq_private.invalid_argument('answers', format('The answer %s cites nothing.', wrong),
            'Pick an answer with a quote: that is where a follow-up begins.');
    ELSIF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TQ001', MESSAGE = 'document not found',
            DETAIL = format('What the answer %s cites is gone.', wrong), HINT = 'Ask again, and pick from what is answered now.';
    END IF;
    RETURN (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
            'document_id', c.document_id, 'node_id', c.node_id, 'line_start', c.line_start, 'line_end', c.line_end,
            'query_id', q.id,
            -- A version that was an older one when the question was asked.
            'pinned', EXISTS (SELECT FROM tq.document AS n
                              WHERE n.name = d.name AND n.version > d.version AND n.finished_at <= q.asked_at))
            ORDER BY u.place, c.ordinal), '[]')
        FROM unnest(answers) WITH ORDINALITY AS u (id, place)
        JOIN tq.answer AS a ON a.id = u.id
        JOIN tq.query AS q ON q.id = a.query_id
        JOIN tq.citation AS c ON c.answer_id = a.id
        JOIN tq.document AS d ON d.id = c.document_id);
END $$;
COMMENT ON FUNCTION tq_private.picks_of_answers IS 'What answers of the asker cite, as picks: a JSON array; or TQ021, TQ001.';

CREATE OR REPLACE FUNCTION tq_private.picks_of_citations(citations jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    given constant jsonb := CASE jsonb_typeof(citations) WHEN 'object' THEN jsonb_build_array(citations)
                                                         WHEN 'null' THEN '[]' ELSE coalesce(citations, '[]') END;
    hint constant text := 'Give the column citations of a row of tq.ask as it is, or elements of it.';
    entry jsonb;
    place int := 0;
    seen text;
    document tq.document;
    node uuid;
    result jsonb := '[]';
BEGIN
    IF jsonb_typeof(given) <> 'array' OR jsonb_array_length(given) > 100 THEN
        PERFORM tq_private.invalid_argument('citations',
            CASE jsonb_typeof(given) WHEN 'array' THEN format('It has %s elements, 100 at most.', jsonb_array_length(given))
                                     ELSE format('It is a %s.', jsonb_typeof(given)) END, hint);
    END IF;
    FOR entry IN SELECT e.value FROM jsonb_array_elements(given) AS e LOOP
        place := place + 1;
        SELECT string_agg(f.name, ', ' ORDER BY f.place) INTO seen
        FROM unnest('{document,version,line_start,line_end}'::text[]) WITH ORDINALITY AS f (name, place)
        WHERE jsonb_typeof(entry) <> 'object'
            OR coalesce(jsonb_typeof(entry -> f.name), '') <> CASE f.name WHEN 'document' THEN 'string' ELSE 'number' END
            OR (f.name <> 'document' AND entry ->> f.name !~ '^[1-9]\d{0,8}$');
        IF seen IS NOT NULL THEN
            PERFORM tq_private.invalid_argument('citations', format('Element %s lacks %s.', place, seen), hint);
        END IF;
        SELECT d.* INTO document FROM tq.document AS d
        WHERE d.name = entry ->> 'document' AND d.version = (entry ->> 'version')::int AND d.status = 'ready';
        IF NOT FOUND THEN
            PERFORM tq_private.raise_not_found((entry ->> 'document') || '@' || (entry ->> 'version'));
        END IF;
        IF (entry ->> 'line_start')::int > (entry ->> 'line_end')::int
            OR (entry ->> 'line_end')::int > document.line_count THEN
            PERFORM tq_private.invalid_argument('citations',
                format('Element %s cites %s of %s, which has %s lines.', place,
                       tq_private.line_range((entry ->> 'line_start')::int, (entry ->> 'line_end')::int),
                       tq_private.shown(document.name), document.line_count), hint);
        END IF;
        SELECT n.id INTO node FROM tq.node AS n
        WHERE n.document_id = document.id AND (entry ->> 'line_start')::int BETWEEN n.line_start AND n.line_end
            AND (n.is_leaf OR n.id::text = entry ->> 'node_id')
        ORDER BY n.id::text = entry ->> 'node_id' DESC NULLS LAST LIMIT 1;
        result := result || jsonb_build_object(
            'document_id', document.id, 'node_id', node, 'line_start', entry -> 'line_start', 'line_end', entry -> 'line_end',
            'query_id', NULL, 'pinned', NOT document.current);
    END LOOP;
    RETURN result;
END $$;
COMMENT ON FUNCTION tq_private.picks_of_citations IS 'Citations that tq.ask returned, as picks: a JSON array; or TQ021, TQ001.';

CREATE OR REPLACE FUNCTION tq_private.keep_picks(thread uuid, picks jsonb) RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    kept uuid := keep_picks.thread;
BEGIN
    IF kept IS NULL THEN
        INSERT INTO tq.thread (owner) VALUES (tq_private.asker()) RETURNING id INTO kept;
    ELSE
        -- Two sessions that pick into one thread take turns.
        PERFORM FROM tq.thread AS t WHERE t.id = kept FOR UPDATE;
        PERFORM tq_private.known_thread(kept);
    END IF;
    INSERT INTO tq.pick (document_id, thread_id, turn, ordinal, node_id, line_start, line_end, pinned, query_id)
    SELECT p.document_id, kept, coalesce((SELECT max(l.turn) FROM tq.pick AS l WHERE l.thread_id = kept), 0) + 1,
           row_number() OVER (ORDER BY min(p.place)), p.node_id, p.line_start, p.line_end, p.pinned,
           (SELECT q.id FROM tq.query AS q WHERE q.id = min(p.query_id::text)::uuid)
    FROM ROWS FROM (jsonb_to_recordset(picks) AS (
        document_id uuid, node_id uuid, line_start int, line_end int, pinned boolean, query_id uuid))
        WITH ORDINALITY AS p (document_id, node_id, line_start, line_end, pinned, query_id, place)
    -- Two answers may cite one place.
    GROUP BY p.document_id, p.node_id, p.line_start, p.line_end, p.pinned;
    RETURN kept;
END $$;
COMMENT ON FUNCTION tq_private.keep_picks IS 'Keep picks as the next turn of a thread of the asker, of a new one for NULL.';

CREATE OR REPLACE FUNCTION tq.pick(answers uuid[] DEFAULT NULL, thread uuid DEFAULT NULL, citations jsonb DEFAULT NULL)
RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    picks jsonb;
BEGIN
    IF pick.thread IS NOT NULL THEN
        PERFORM tq_private.known_thread(pick.thread);
    END IF;
    picks := tq_private.picks_of_answers(pick.answers) || tq_private.picks_of_citations(pick.citations);
    IF picks = '[]' THEN
        PERFORM tq_private.invalid_argument('answers', 'Nothing is picked.',
            'Name answers by their answer_id, or give citations that a read-only question returned.');
    END IF;
    RETURN tq_private.keep_picks(pick.thread, picks);
END $$;
COMMENT ON FUNCTION tq.pick IS
'Keep answers to follow up: the id of their thread, a new one for NULL.
answers: answer_id of tq.ask; citations: the column of that name, where a read-only question kept nothing. What the last call
picked is where tq.follow_up begins; nothing else of the thread is carried on.';

-- ---------------------------------------------------------------- follow-ups

CREATE OR REPLACE FUNCTION tq_private.follow_walk(
    thread text, question text, strategy text, OUT result jsonb, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.follow_walk(plpy, thread, question, strategy)
$$;
COMMENT ON FUNCTION tq_private.follow_walk IS 'Search and answer as ask_walk does, beginning at what was picked last in a thread.';

CREATE OR REPLACE FUNCTION tq.follow_up(thread uuid, question text, strategy text DEFAULT NULL) RETURNS SETOF tq.answer_row
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 5 SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    walked record;
BEGIN
    PERFORM tq_private.known_thread(follow_up.thread);
    walked := tq_private.follow_walk(follow_up.thread::text, follow_up.question, follow_up.strategy);
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN QUERY SELECT * FROM tq_private.answered(walked.result);
END $$;
COMMENT ON FUNCTION tq.follow_up IS
'Ranked answers to a question that goes on from what was picked last.
thread: of tq.pick. strategy: NULL for that of the question which the picks come from. Searched are the picked sections and
those beside them; what they do not answer is searched from the root of their documents, and how and missing say so.';

-- ---------------------------------------------------------------- suggestions

CREATE OR REPLACE FUNCTION tq.suggest(thread uuid, n int DEFAULT 5) RETURNS TABLE (question text, source text)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM tq_private.known_thread(suggest.thread);
    IF n IS NULL OR n NOT BETWEEN 1 AND 100 THEN
        PERFORM tq_private.invalid_argument('n', coalesce(format('It is %s.', n), 'It is NULL.'), '1 to 100 suggestions.');
    END IF;
    RETURN QUERY
    WITH pick AS (
        -- A pick goes along with its document's name, as in a follow-up.
        SELECT p.ordinal, p.node_id, p.line_start, p.query_id, coalesce(c.id, d.id) AS document_id
        FROM tq.pick AS p
        JOIN tq.document AS d ON d.id = p.document_id AND d.status = 'ready'
        LEFT JOIN tq.document AS c ON c.name = d.name AND c.current AND NOT p.pinned
        WHERE p.thread_id = suggest.thread
            AND p.turn = (SELECT max(l.turn) FROM tq.pick AS l WHERE l.thread_id = suggest.thread)
    ), asked AS (
        SELECT q.id, q.question FROM tq.query AS q WHERE q.id IN (SELECT p.query_id FROM pick AS p)
        UNION
        (SELECT q.id, q.question FROM tq.query AS q WHERE q.thread_id = suggest.thread
         ORDER BY q.asked_at DESC LIMIT 1)
    ), child AS (
        SELECT DISTINCT ON (c.id) c.id, c.document_id, coalesce(c.title, b.text) AS title, p.ordinal,
               abs(c.line_start - p.line_start) AS distance
        FROM pick AS p
        JOIN tq.node AS picked ON picked.document_id = p.document_id AND picked.id = p.node_id
        JOIN tq.node AS c ON c.document_id = p.document_id
            -- A leaf has no children: those of the section that it stands in.
            AND c.target_node_id = CASE WHEN picked.is_leaf THEN picked.target_node_id ELSE picked.id END
        LEFT JOIN tq.bullet AS b ON b.document_id = c.document_id AND b.node_id = c.id AND b.ordinal = 1
        WHERE c.id NOT IN (SELECT o.node_id FROM pick AS o WHERE o.node_id IS NOT NULL)
            AND NOT EXISTS (SELECT FROM tq.read AS r
                            WHERE r.query_id IN (SELECT a.id FROM asked AS a) AND r.document_id = c.document_id
                                AND r.node_id = c.id)
        ORDER BY c.id, p.ordinal, distance
    ), found (question, source, kind, place) AS (
        -- An answer tells the parts that its question has besides and that have none. A question that nothing answers has
        -- no such row: it would be suggested right after it failed.
        SELECT e.part, 'unanswered part', 1, row_number() OVER (ORDER BY a.id, e.place)
        FROM asked AS a
        JOIN tq.answer AS r ON r.query_id = a.id AND r.rank = 1
        CROSS JOIN LATERAL jsonb_array_elements_text(r.detail -> 'unanswered') WITH ORDINALITY AS e (part, place)
        UNION ALL
        SELECT format(CASE d.language WHEN 'german' THEN 'Was steht in „%s“?' ELSE 'What does “%s” say?' END,
                      left(regexp_replace(btrim(c.title), '\s+', ' ', 'g'), 200)),
               'unopened child', 2, row_number() OVER (ORDER BY c.ordinal, c.distance, c.id)
        FROM child AS c JOIN tq.document AS d ON d.id = c.document_id
        WHERE btrim(c.title) <> ''
        UNION ALL
        SELECT s.question, 'possible query', 3, row_number() OVER (ORDER BY min(p.ordinal), s.ordinal)
        FROM pick AS p JOIN tq.possible_query AS s ON s.document_id = p.document_id
        GROUP BY s.document_id, s.ordinal, s.question
    ), told AS (
        SELECT DISTINCT ON (lower(f.question)) f.* FROM found AS f
        WHERE lower(f.question) NOT IN (SELECT lower(a.question) FROM asked AS a)
        ORDER BY lower(f.question), f.kind, f.place
    )
    -- The first of each kind, then the second of each.
    SELECT t.question, t.source FROM told AS t
    ORDER BY row_number() OVER (PARTITION BY t.kind ORDER BY t.place), t.kind
    LIMIT n;
END $$;
COMMENT ON FUNCTION tq.suggest IS
'Questions that could be asked next in a thread, and what suggests each.
source: unanswered part (of the question the picks come from, or of the last follow-up), unopened child (of a picked node, or
of the section a picked leaf stands in), possible query (of the picked documents). None are made up.';
