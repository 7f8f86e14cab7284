-- Message batches: what was handed in, what waits for it, what came of it. Whoever opens, joins or ends a batch holds its
-- document's lock, so that no message joins a batch that has just ended.

CREATE OR REPLACE FUNCTION tq_private.open_batch(
    document uuid, model text, purpose text, fingerprints text[], waiting text[], tokens bigint, cost double precision) RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
    WITH opened AS (
        INSERT INTO tq.batch (document_id, model, purpose, calls, reckoned_tokens, reckoned_cost, opened_at)
        VALUES (document, open_batch.model, open_batch.purpose, cardinality(fingerprints), tokens, cost, clock_timestamp())
        RETURNING id
    ), request AS (
        INSERT INTO tq_private.batch_request (batch_id, fingerprint, waiting)
        SELECT o.id, u.fingerprint, u.waiting::jsonb
        FROM opened AS o, unnest(fingerprints, open_batch.waiting) AS u (fingerprint, waiting)
    )
    SELECT o.id FROM opened AS o
$$;
COMMENT ON FUNCTION tq_private.open_batch IS 'A batch that is about to be handed in. waiting: a JSON array of messages a request.';

CREATE OR REPLACE FUNCTION tq_private.join_batch(document uuid, fingerprints text[], waiting text[]) RETURNS SETOF text
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
    UPDATE tq_private.batch_request AS r SET waiting = r.waiting || u.waiting::jsonb
    FROM unnest(fingerprints, join_batch.waiting) AS u (fingerprint, waiting), tq.batch AS b
    WHERE r.fingerprint = u.fingerprint AND b.id = r.batch_id AND b.document_id = document AND b.status IN ('sending', 'sent')
    RETURNING r.fingerprint
$$;
COMMENT ON FUNCTION tq_private.join_batch IS 'Let messages wait for requests that are under way already; which ones are.';

CREATE OR REPLACE FUNCTION tq_private.batch_replies(document uuid, fingerprints text[])
RETURNS TABLE (fingerprint text, reply jsonb, error jsonb, fresh boolean)
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
    -- An error is told once: the next attempt asks anew.
    WITH told AS (
        DELETE FROM tq_private.batch_reply AS x
        WHERE x.document_id = document AND x.fingerprint = ANY (fingerprints) AND x.error IS NOT NULL
        RETURNING x.fingerprint, x.error
    )
    SELECT t.fingerprint, NULL::jsonb, t.error, TRUE FROM told AS t
    UNION ALL
    SELECT x.fingerprint, x.reply, NULL::jsonb, TRUE FROM tq_private.batch_reply AS x
    WHERE x.document_id = document AND x.fingerprint = ANY (fingerprints) AND x.reply IS NOT NULL
    UNION ALL
    SELECT r.fingerprint, r.reply, NULL::jsonb, FALSE FROM tq_private.reply AS r WHERE r.fingerprint = ANY (fingerprints)
$$;
COMMENT ON FUNCTION tq_private.batch_replies IS 'Replies and errors that are there for requests of a document.';

CREATE OR REPLACE FUNCTION tq_private.batch_requests(batch uuid) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
    SELECT r.fingerprint FROM tq_private.batch_request AS r WHERE r.batch_id = batch
$$;
COMMENT ON FUNCTION tq_private.batch_requests IS 'The requests of a batch.';

CREATE OR REPLACE FUNCTION tq_private.end_batch(
    batch uuid, fingerprints text[], replies text[], errors text[]) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    document uuid;
BEGIN
    UPDATE tq.batch AS b SET status = 'ended', ended_at = clock_timestamp() WHERE b.id = batch AND b.status <> 'ended'
    RETURNING b.document_id INTO document;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF document IS NOT NULL THEN
        INSERT INTO tq_private.batch_reply (document_id, fingerprint, reply, error)
        SELECT document, u.fingerprint, u.reply::jsonb, u.error::jsonb
        FROM unnest(fingerprints, replies, errors) AS u (fingerprint, reply, error)
        JOIN tq_private.batch_request AS r ON r.batch_id = batch AND r.fingerprint = u.fingerprint
        ON CONFLICT ON CONSTRAINT batch_reply_pkey DO UPDATE SET reply = excluded.reply, error = excluded.error;
    END IF;
    RETURN QUERY SELECT DISTINCT m.message::text
        FROM tq_private.batch_request AS r, jsonb_array_elements(r.waiting) AS m (message) WHERE r.batch_id = batch;
    DELETE FROM tq_private.batch_request AS r WHERE r.batch_id = batch;
END $$;
COMMENT ON FUNCTION tq_private.end_batch IS 'Keep what came of a batch; the messages that waited for it.';

CREATE OR REPLACE FUNCTION tq_private.drop_batches(document uuid) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
    DELETE FROM tq.batch AS b WHERE b.document_id = document AND b.status = 'ended';
    DELETE FROM tq_private.batch_reply AS r WHERE r.document_id = document
$$;
COMMENT ON FUNCTION tq_private.drop_batches IS 'Forget the batches of a document that needs them no more.';

CREATE OR REPLACE FUNCTION tq_private.stop_batches(verb text, documents uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    sent bigint;
BEGIN
    IF verb = 'retry' THEN
        -- Its messages are gone, and what was handed in is still worth its money.
        PERFORM pgmq.send('tq_model'::text, jsonb_build_object('step', 'batch', 'batch', b.id, 'document_id', b.document_id))
        FROM tq.batch AS b WHERE b.document_id = ANY (documents) AND b.status IN ('sending', 'sent');
        RETURN;
    END IF;
    -- A worker stops them at the provider. The messages name no document, so that they outlive it.
    WITH stopped AS (
        UPDATE tq.batch AS b SET status = 'cancelling' WHERE b.document_id = ANY (documents) AND b.status IN ('sending', 'sent')
        RETURNING b.id
    )
    SELECT count(*) INTO sent FROM stopped AS s
    CROSS JOIN LATERAL pgmq.send('tq_model'::text, jsonb_build_object('step', 'batch', 'batch', s.id));
    IF verb = 'remove' THEN
        DELETE FROM tq.batch AS b WHERE b.document_id = ANY (documents) AND b.status = 'ended';
    END IF;
END $$;
COMMENT ON FUNCTION tq_private.stop_batches IS 'What retry, cancel and remove do to the batches of documents.';
