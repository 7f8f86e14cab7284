-- Questions of the queue: asked by a worker with their asker's rights, while whoever asked does something else.

CREATE OR REPLACE FUNCTION tq_private.tell_query(query uuid, told jsonb) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
    SELECT pg_notify('tq_query', (jsonb_build_object('query_id', query) || told)::text)
$$;
COMMENT ON FUNCTION tq_private.tell_query IS 'A notification of tq_query.';

CREATE OR REPLACE FUNCTION tq_private.tell_answers(query uuid, rows jsonb, final boolean) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
    SELECT tq_private.tell_query(query, jsonb_build_object(
               'answer_id', r.entry -> 'answer_id', 'rank', r.entry -> 'rank', 'final', final))
    FROM jsonb_array_elements(rows) AS r (entry)
$$;
COMMENT ON FUNCTION tq_private.tell_answers IS 'A notification of tq_query for each answer.';

-- Definer: whoever asks need not be able to write tables and queues.
CREATE OR REPLACE FUNCTION tq_private.queue_question(doc text, question text, strategy text) RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    result uuid;
BEGIN
    INSERT INTO tq.query (document, question, strategy, asked_by, status)
    VALUES (queue_question.doc, queue_question.question, queue_question.strategy, tq_private.asker(), 'waiting')
    RETURNING id INTO result;
    PERFORM pgmq.send('tq_ask'::text, jsonb_build_object('query_id', result));
    RETURN result;
END $$;
COMMENT ON FUNCTION tq_private.queue_question IS 'A question of the asker into the queue tq_ask; its id.';

CREATE OR REPLACE FUNCTION tq.ask_later(doc text, question text, strategy text DEFAULT 'default') RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    on_error text;
BEGIN
    IF ask_later.question IS NULL OR ask_later.question ~ '^\s*$' THEN
        PERFORM tq_private.invalid_argument('question',
            CASE WHEN ask_later.question IS NULL THEN 'It is NULL.' ELSE 'It holds nothing but white space.' END,
            'Ask in words, such as ''How much notice is needed to cancel?''.');
    END IF;
    SELECT e.value INTO on_error FROM tq.strategy_effective(ask_later.strategy) AS e WHERE e.setting = 'on_error';
    -- What can be told at once is told at once, unless the strategy wants errors as rows.
    IF on_error = 'raise' THEN
        PERFORM FROM tq_private.resolve_documents(ask_later.doc, TRUE, 1);
    END IF;
    RETURN tq_private.queue_question(ask_later.doc, ask_later.question, ask_later.strategy);
END $$;
COMMENT ON FUNCTION tq.ask_later IS
'Queue a question for tq.work or tq worker; returns its query_id at once.
Arguments as of tq.ask. tq.answers(query_id) gives its rows as they are found, each told by NOTIFY tq_query; the row of tq.query
its status (waiting, asking, answered, failed), the nodes read so far and its error. It is read with its asker''s rights.';

CREATE OR REPLACE FUNCTION tq.cancel_query(query uuid) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    RETURN tq_private.stop_query(cancel_query.query);
END $$;
COMMENT ON FUNCTION tq.cancel_query IS
'Cancel a question that waits or is being asked: 1, or 0 for none.
Its status becomes failed with the SQLSTATE 57014; a worker that is at it stops within a second or two.';

CREATE OR REPLACE FUNCTION tq_private.stop_query(query uuid) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    PERFORM FROM tq.query AS q
    WHERE q.id = stop_query.query AND q.status IN ('waiting', 'asking') AND tq_private.may_change(q.asked_by)
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    DELETE FROM pgmq.q_tq_ask AS m WHERE m.message ->> 'query_id' = stop_query.query::text;
    PERFORM tq_private.query_failed(stop_query.query, '57014', 'the question was cancelled', NULL,
                                    'Ask it again with tq.ask_later.', '[]');
    RETURN 1;
END $$;
COMMENT ON FUNCTION tq_private.stop_query IS 'Cancel a question of the asker, or of anyone for tq_admin.';

-- ---------------------------------------------------------------- the worker's side

CREATE OR REPLACE FUNCTION tq_private.begin_query(
    query uuid, OUT doc text, OUT question text, OUT strategy text, OUT asker text, OUT elapsed_ms double precision)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    UPDATE tq.query AS q SET status = 'asking', started_at = clock_timestamp(), reads = 0, sqlstate = NULL, error = NULL,
        detail = NULL, hint = NULL
    WHERE q.id = begin_query.query AND q.status IN ('waiting', 'asking')
    RETURNING q.document, q.question, q.strategy, q.asked_by, q.elapsed_ms INTO doc, question, strategy, asker, elapsed_ms;
    -- What an attempt that broke off had found is found again.
    DELETE FROM tq.answer AS a USING tq.query AS q WHERE a.query_id = begin_query.query AND q.id = a.query_id AND q.status = 'asking';
END $$;
COMMENT ON FUNCTION tq_private.begin_query IS 'Take up a question that waits; asker is NULL where it is gone, or was cancelled.';

CREATE OR REPLACE FUNCTION tq_private.query_goes_on(query uuid, reads int, elapsed_ms double precision) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    UPDATE tq.query AS q SET reads = query_goes_on.reads, elapsed_ms = query_goes_on.elapsed_ms
    WHERE q.id = query_goes_on.query AND q.status = 'asking';
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION tq_private.query_goes_on IS 'How far a question is; false where it was cancelled meanwhile.';

CREATE OR REPLACE FUNCTION tq_private.keep_calls(query uuid, calls jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    -- A worker tells all that its attempt has cost so far; what earlier attempts cost stays.
    DELETE FROM tq.model_call AS c USING tq.query AS q
    WHERE c.query_id = keep_calls.query AND q.id = c.query_id AND c.called_at >= q.started_at;
    INSERT INTO tq.model_call (query_id, purpose, model, calls, input_tokens, output_tokens, elapsed_ms, cached_tokens, cost,
                               called_at)
    SELECT keep_calls.query, c.purpose, c.model, c.calls, c.input_tokens, c.output_tokens, c.elapsed_ms, c.cached_tokens,
           c.cost, clock_timestamp()
    FROM jsonb_to_recordset(calls) AS c (
        purpose text, model text, calls int, input_tokens bigint, output_tokens bigint, elapsed_ms double precision,
        cached_tokens bigint, cost numeric);
END $$;
COMMENT ON FUNCTION tq_private.keep_calls IS 'What this attempt at a question has cost, in place of what was said of it before.';

CREATE OR REPLACE FUNCTION tq_private.query_found(query uuid, news jsonb) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    last_rank int;
    rows jsonb;
BEGIN
    IF NOT tq_private.query_goes_on(query_found.query, (news ->> 'reads')::int, (news ->> 'elapsed_ms')::float8) THEN
        RETURN FALSE;
    END IF;
    SELECT coalesce(max(a.rank), 0) INTO last_rank FROM tq.answer AS a WHERE a.query_id = query_found.query;
    SELECT jsonb_agg(e.entry || jsonb_build_object('rank', last_rank + e.place) ORDER BY e.place) INTO rows
    FROM jsonb_array_elements(news -> 'answers') WITH ORDINALITY AS e (entry, place);
    PERFORM tq_private.keep_answers(query_found.query, rows, 1000000, (
        SELECT coalesce(array_agg(d.id), '{}') FROM (
            SELECT d.id FROM tq.document AS d
            WHERE d.id IN (SELECT c.id::uuid FROM jsonb_array_elements(rows) AS r (entry)
                           CROSS JOIN LATERAL jsonb_array_elements_text(r.entry -> 'cited') AS c (id))
            ORDER BY d.id FOR KEY SHARE SKIP LOCKED) AS d));
    PERFORM tq_private.keep_replies_of(query_found.query, news -> 'replies');
    PERFORM tq_private.keep_calls(query_found.query, news -> 'calls');
    PERFORM tq_private.tell_answers(query_found.query, rows, FALSE);
    RETURN TRUE;
END $$;
COMMENT ON FUNCTION tq_private.query_found IS
'Keep answers that a question found while it is being asked, and tell of each; false where it was cancelled.';

CREATE OR REPLACE FUNCTION tq_private.query_answered(query uuid, walk jsonb) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    failure constant jsonb := walk #> '{shown,0,detail,error}';
    there uuid[];
    shown jsonb;
BEGIN
    IF NOT tq_private.query_goes_on(query_answered.query, jsonb_array_length(walk #> '{trace,reads}'),
                                    (walk #>> '{trace,query,elapsed_ms}')::float8) THEN
        RETURN FALSE;
    END IF;
    there := tq_private.lock_read(walk);
    -- What was shown before and is no answer of its own in the end, such as one that says the same as another.
    DELETE FROM tq.answer AS a
    WHERE a.query_id = query_answered.query AND a.id::text NOT IN (
        SELECT coalesce(e.entry ->> 'answer_id', '') FROM jsonb_array_elements((walk -> 'shown') || (walk -> 'held')) AS e (entry));
    PERFORM tq_private.keep_calls(query_answered.query, '[]');
    UPDATE tq.query AS q SET
        model = nullif(t.model, ''), plan = t.plan, held_back = t.held_back, prompts = t.prompts,
        strategy_version = t.strategy_version, finished_at = clock_timestamp(),
        status = CASE WHEN failure IS NULL THEN 'answered' ELSE 'failed' END, sqlstate = failure ->> 'sqlstate',
        error = failure ->> 'message', detail = failure ->> 'detail', hint = failure ->> 'hint'
    FROM jsonb_to_record(walk #> '{trace,query}') AS t (
        model text, plan jsonb, held_back int, prompts text, strategy_version int)
    WHERE q.id = query_answered.query;
    shown := tq_private.keep_walk(query_answered.query, walk, there);
    PERFORM tq_private.tell_answers(query_answered.query, shown, TRUE);
    PERFORM tq_private.tell_query(query_answered.query, jsonb_build_object(
        'status', CASE WHEN failure IS NULL THEN 'answered' ELSE 'failed' END, 'shown', jsonb_array_length(shown),
        -- A payload holds 8,000 bytes.
        'answers', (SELECT jsonb_agg(r.entry -> 'answer_id' ORDER BY r.place)
                    FROM jsonb_array_elements(shown) WITH ORDINALITY AS r (entry, place) WHERE r.place <= 100)));
    RETURN TRUE;
END $$;
COMMENT ON FUNCTION tq_private.query_answered IS
'Keep the whole working of a question of the queue, and tell of its end; false where it was cancelled.';

CREATE OR REPLACE FUNCTION tq_private.query_failed(
    query uuid, code text, message text, detail text, hint text, calls jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    UPDATE tq.query AS q SET status = 'failed', sqlstate = query_failed.code, error = query_failed.message,
        detail = query_failed.detail, hint = query_failed.hint, finished_at = clock_timestamp()
    WHERE q.id = query_failed.query AND q.status IN ('waiting', 'asking');
    IF FOUND THEN
        -- What it had found is no answer: it was neither compared nor ranked.
        DELETE FROM tq.answer AS a WHERE a.query_id = query_failed.query;
        IF calls <> '[]' THEN
            PERFORM tq_private.keep_calls(query_failed.query, calls);
        END IF;
        PERFORM tq_private.tell_query(query_failed.query, jsonb_build_object(
            'status', 'failed', 'sqlstate', query_failed.code, 'error', left(query_failed.message, 1000)));
    END IF;
END $$;
COMMENT ON FUNCTION tq_private.query_failed IS 'A question of the queue ends with an error, and tells of it.';

CREATE OR REPLACE FUNCTION tq_private.query_waits(
    query uuid, code text, message text, detail text, hint text, calls jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    UPDATE tq.query AS q SET status = 'waiting', sqlstate = query_waits.code, error = query_waits.message,
        detail = query_waits.detail, hint = query_waits.hint
    WHERE q.id = query_waits.query AND q.status IN ('waiting', 'asking');
    IF FOUND AND calls <> '[]' THEN
        PERFORM tq_private.keep_calls(query_waits.query, calls);
    END IF;
END $$;
COMMENT ON FUNCTION tq_private.query_waits IS 'A question goes back to the queue; its error says why, where there is one.';
