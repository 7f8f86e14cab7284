-- Asking: the search in one snapshot, and its record in sets.

CREATE OR REPLACE FUNCTION tq_private.ask_walk(
    doc text, question text, strategy text, OUT result jsonb, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.ask_walk(plpy, doc, question, strategy)
$$;
COMMENT ON FUNCTION tq_private.ask_walk IS
'Search and answer, in the snapshot of the calling statement: {"shown": [...], "held": [...], "trace": {...}}.
Writes nothing and locks no row.';

CREATE OR REPLACE FUNCTION tq_private.lock_read(walk jsonb) RETURNS uuid[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    there uuid[];
BEGIN
    SELECT coalesce(array_agg(locked.id), '{}') INTO there
    FROM (
        SELECT d.id FROM tq.document AS d
        WHERE d.id IN (SELECT (r ->> 'document_id')::uuid FROM jsonb_array_elements(
                (walk #> '{trace,reads}') || coalesce(walk #> '{trace,steps}', '[]')) AS r)
        ORDER BY d.id
        FOR KEY SHARE SKIP LOCKED
    ) AS locked;
    RETURN there;
EXCEPTION WHEN serialization_failure THEN
    -- In REPEATABLE READ a document of our snapshot may be gone by now.
    RETURN NULL;
END $$;
COMMENT ON FUNCTION tq_private.lock_read IS
'The documents of a walk that are there, kept until the end of the transaction: their lines are cited.
One that is gone, or is being removed, is left out. NULL where the snapshot is too old to tell.';

CREATE OR REPLACE FUNCTION tq_private.keep_answers(query uuid, rows jsonb, shown int, there uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    INSERT INTO tq.answer (id, query_id, rank, shown, what, why, how, method, certainty, disagreement, missing, doubt,
                           specialist, score, detail)
    SELECT a.answer_id, query, a.rank, a.rank <= shown, a.what, a.why, a.how, a.method,
           a.certainty, a.disagreement, a.missing, a.doubt, a.specialist, a.score, a.detail
    FROM jsonb_populate_recordset(NULL::tq.answer_row, rows) AS a
    -- An answer that was shown before the end: what readers said of it meanwhile stays with it.
    ON CONFLICT (id) DO UPDATE SET
        rank = excluded.rank, shown = excluded.shown, what = excluded.what, why = excluded.why, how = excluded.how,
        method = excluded.method, certainty = excluded.certainty, disagreement = excluded.disagreement,
        missing = excluded.missing, doubt = excluded.doubt, specialist = excluded.specialist, score = excluded.score,
        detail = excluded.detail;

    DELETE FROM tq.citation AS c
    WHERE c.answer_id IN (SELECT (a.answer ->> 'answer_id')::uuid FROM jsonb_array_elements(rows) AS a (answer));
    INSERT INTO tq.citation (document_id, answer_id, ordinal, line_start, line_end, quote, page, locator, node_id, source)
    SELECT c.document_id, (a.answer ->> 'answer_id')::uuid, c.number, c.line_start, c.line_end, c.quote, c.page,
           c.locator, c.node_id, c.source
    FROM jsonb_array_elements(rows) AS a (answer)
    CROSS JOIN LATERAL (
        SELECT cited.document_id::uuid AS document_id, cited.number, r.*
        FROM jsonb_array_elements_text(a.answer -> 'cited') WITH ORDINALITY AS cited (document_id, number)
        JOIN jsonb_array_elements(a.answer -> 'citations') WITH ORDINALITY AS citation (entry, number) USING (number)
        CROSS JOIN LATERAL jsonb_to_record(citation.entry) AS r (
            line_start int, line_end int, quote text, page int, locator jsonb, node_id uuid, source text)
    ) AS c
    WHERE c.document_id = ANY (there);
END $$;
COMMENT ON FUNCTION tq_private.keep_answers IS
'Keep answers of a question with what they cite of documents that are there; the first so many ranks are shown.';

CREATE OR REPLACE FUNCTION tq_private.keep_replies_of(query uuid, replies jsonb) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
    INSERT INTO tq_private.query_reply (query_id, fingerprint, purpose, reply, accepted)
    SELECT query, r.fingerprint, r.purpose, r.reply, r.accepted
    FROM jsonb_to_recordset(coalesce(replies, '[]')) AS r (fingerprint text, purpose text, reply jsonb, accepted boolean)
    ON CONFLICT (query_id, fingerprint) DO NOTHING
$$;
COMMENT ON FUNCTION tq_private.keep_replies_of IS 'Keep the replies that a question got, so that it can be replayed.';

CREATE OR REPLACE FUNCTION tq_private.keep_walk(query uuid, walk jsonb, there uuid[]) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    trace constant jsonb := walk -> 'trace';
    rows jsonb;
    shown jsonb;
BEGIN
    PERFORM tq_private.keep_replies_of(query, trace -> 'replies');
    UPDATE tq.query AS q SET chars_per_token = coalesce(trace #> '{query,chars_per_token}', '{}') WHERE q.id = query;
    -- Whoever may ask could make this up: a question moves a figure by one step, and good replies move it back.
    PERFORM tq_private.correct_model(s.key, s.value::double precision, 1) FROM jsonb_each_text(trace -> 'shown') AS s;

    INSERT INTO tq.route (query_id, ordinal, parent, document_id, subject, part, ended)
    SELECT query, r.ordinal, r.parent, r.document_id, r.subject, r.part, r.ended
    FROM jsonb_to_recordset(trace -> 'routes') AS r (
        ordinal int, parent int, document_id uuid, subject int, part text, ended text)
    WHERE r.document_id = ANY (there);

    INSERT INTO tq.read (query_id, ordinal, parent, route, document_id, node_id, depth, line_start, line_end, title, choice,
                         opened, reason, rejected, replies, input_tokens, output_tokens, elapsed_ms)
    SELECT query, r.ordinal, r.parent, r.route, r.document_id, r.node_id, r.depth, r.line_start, r.line_end, r.title,
           r.choice, r.opened, r.reason, r.rejected, r.replies, r.input_tokens, r.output_tokens, r.elapsed_ms
    FROM jsonb_to_recordset(trace -> 'reads') AS r (
        ordinal int, parent int, route int, document_id uuid, node_id uuid, depth int, line_start int, line_end int,
        title text, choice text, opened jsonb, reason text, rejected text[], replies jsonb, input_tokens int, output_tokens int,
        elapsed_ms real)
    WHERE r.document_id = ANY (there);

    INSERT INTO tq.step (query_id, ordinal, purpose, document_id, told, replies, input_tokens, output_tokens, elapsed_ms)
    SELECT query, s.number, r.purpose, r.document_id, r.told, r.replies, r.input_tokens, r.output_tokens, r.elapsed_ms
    FROM jsonb_array_elements(coalesce(trace -> 'steps', '[]')) WITH ORDINALITY AS s (entry, number)
    CROSS JOIN LATERAL jsonb_to_record(s.entry) AS r (
        document_id uuid, purpose text, told text, replies jsonb, input_tokens int, output_tokens int, elapsed_ms real)
    WHERE r.document_id IS NULL OR r.document_id = ANY (there);

    -- An answer that was shown while this question was being asked keeps its id; no other id is taken from the walk.
    SELECT jsonb_agg(a.answer || jsonb_build_object(
               'answer_id', coalesce((SELECT s.id FROM tq.answer AS s
                                      WHERE s.id = (a.answer ->> 'answer_id')::uuid AND s.query_id = keep_walk.query),
                                     gen_random_uuid()),
               'query_id', query)
           ORDER BY a.number)
    INTO rows
    FROM jsonb_array_elements((walk -> 'shown') || (walk -> 'held')) WITH ORDINALITY AS a (answer, number);

    PERFORM tq_private.keep_answers(query, rows, jsonb_array_length(walk -> 'shown'), there);

    INSERT INTO tq.omission (document_id, query_id, kind, detail, line_start, line_end)
    SELECT o.document_id, query, o.kind, o.detail, o.line_start, o.line_end
    FROM jsonb_to_recordset(trace -> 'omissions') AS o (
        document_id uuid, kind text, detail text, line_start int, line_end int)
    WHERE o.document_id IS NULL OR o.document_id = ANY (there);

    INSERT INTO tq.model_call (document_id, query_id, purpose, model, calls, input_tokens, output_tokens, elapsed_ms,
                               cached_tokens, cost)
    SELECT CASE WHEN c.document_id = ANY (there) THEN c.document_id END, query, c.purpose, c.model, c.calls,
           c.input_tokens, c.output_tokens, c.elapsed_ms, coalesce(c.cached_tokens, 0), coalesce(c.cost, 0)
    FROM jsonb_to_recordset(trace -> 'calls') AS c (
        document_id uuid, purpose text, model text, calls int, input_tokens bigint, output_tokens bigint,
        elapsed_ms double precision, cached_tokens bigint, cost numeric);

    SELECT jsonb_agg(a.answer ORDER BY a.number) INTO shown
    FROM jsonb_array_elements(rows) WITH ORDINALITY AS a (answer, number)
    WHERE a.number <= jsonb_array_length(walk -> 'shown');
    RETURN shown;
END $$;
COMMENT ON FUNCTION tq_private.keep_walk IS
'Keep the whole working of a question whose row is there; returns the shown answers with their ids.';

CREATE OR REPLACE FUNCTION tq_private.ask_record(walk jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    query constant uuid := gen_random_uuid();
    failure constant jsonb := walk #> '{shown,0,detail,error}';
    there uuid[];
BEGIN
    there := tq_private.lock_read(walk);
    IF there IS NULL THEN
        RETURN walk -> 'shown';  -- the answers stand, their record does not
    END IF;
    INSERT INTO tq.query (id, document, question, strategy, model, plan, asked_by, elapsed_ms, held_back,
                          prompts, strategy_version, thread_id, turn, status, reads, started_at, finished_at, sqlstate, error,
                          detail, hint)
    SELECT query, q.document, q.question, q.strategy, q.model, q.plan, tq_private.asker(), q.elapsed_ms, q.held_back,
           q.prompts, q.strategy_version, t.id, q.turn, CASE WHEN failure IS NULL THEN 'answered' ELSE 'failed' END,
           jsonb_array_length(walk #> '{trace,reads}'), clock_timestamp() - q.elapsed_ms * interval '1 millisecond',
           clock_timestamp(), failure ->> 'sqlstate', failure ->> 'message', failure ->> 'detail', failure ->> 'hint'
    FROM jsonb_to_record(walk #> '{trace,query}') AS q (
        document text, question text, strategy text, model text, plan jsonb, elapsed_ms real, held_back int,
        prompts text, strategy_version int, thread_id uuid, turn int)
    LEFT JOIN tq.thread AS t ON t.id = q.thread_id AND t.owner = tq_private.asker();
    RETURN tq_private.keep_walk(query, walk, there);
END $$;
COMMENT ON FUNCTION tq_private.ask_record IS
'Keep the whole working of a question; returns the shown answers with their ids.';

CREATE OR REPLACE FUNCTION tq_private.answered(walk jsonb) RETURNS SETOF tq.answer_row
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 5 SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    shown jsonb;
BEGIN
    IF NOT current_setting('transaction_read_only')::boolean THEN
        shown := tq_private.ask_record(walk);
    ELSIF walk -> 'held' = '[]' THEN
        shown := walk -> 'shown';
    ELSE
        shown := jsonb_set(walk -> 'shown', '{0,detail,held_back}', walk -> 'held');
    END IF;
    RETURN QUERY SELECT * FROM jsonb_populate_recordset(NULL::tq.answer_row, shown) AS a ORDER BY a.rank;
END $$;
COMMENT ON FUNCTION tq_private.answered IS
'The rows of a question that was walked, recorded where the transaction may write.
Elsewhere what is held back is in the detail of the first row.';

CREATE OR REPLACE FUNCTION tq.ask(doc text, question text, strategy text DEFAULT 'default') RETURNS SETOF tq.answer_row
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE ROWS 5 SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    walked record;
BEGIN
    walked := tq_private.ask_walk(doc, question, strategy);
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN QUERY SELECT * FROM tq_private.answered(walked.result);
END $$;
COMMENT ON FUNCTION tq.ask IS
'Ranked answers from documents, each with quotes checked by line.
doc: exact name, name@version, uuid, glob with *, or NULL for the whole scope. strategy: a row of tq.strategy.
If nothing settles the question one row says so. In a read-only transaction it answers and writes nothing.';
