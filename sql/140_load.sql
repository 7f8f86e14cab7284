-- Loading, and what else moves a document through its life from outside: retry, cancel, remove. The public functions
-- find out with the caller's own rights which documents are meant; the small definer functions check and write.

CREATE OR REPLACE FUNCTION tq_private.raise_problem(problem jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    state constant text := problem ->> 'code';
    message constant text := problem ->> 'message';
    detail constant text := problem ->> 'detail';
    hint constant text := problem ->> 'hint';
BEGIN
    -- RAISE takes no NULL, and an empty DETAIL or HINT would be shown as an empty line.
    IF detail <> '' AND hint <> '' THEN
        RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, DETAIL = detail, HINT = hint;
    ELSIF detail <> '' THEN
        RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, DETAIL = detail;
    ELSIF hint <> '' THEN
        RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, HINT = hint;
    END IF;
    RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message;
END $$;
COMMENT ON FUNCTION tq_private.raise_problem IS
'Raise what a Python body hands out as its problem; nothing for NULL.
{"code", "message", "detail", "hint"}. An error that leaves PL/Python itself has the class''s name before its message.';

CREATE OR REPLACE FUNCTION tq_private.invalid_argument(argument text, seen text, hint text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'TQ021', MESSAGE = format('invalid value for the argument %s', argument),
        DETAIL = seen, HINT = hint;
END $$;

CREATE OR REPLACE FUNCTION tq_private.may_change(document_owner name) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp
RETURN document_owner = tq_private.asker() OR pg_has_role(tq_private.asker(), 'tq_admin', 'MEMBER');
COMMENT ON FUNCTION tq_private.may_change IS 'Whether the asker may replace, retry, cancel or remove a document of that owner.';

CREATE OR REPLACE FUNCTION tq_private.check_questions(questions text[]) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    bad record;
BEGIN
    SELECT q.ordinality, q.question INTO bad FROM unnest(questions) WITH ORDINALITY AS q (question)
    WHERE q.question IS NULL OR btrim(q.question) = '' OR length(q.question) > 1000 LIMIT 1;
    IF FOUND THEN
        PERFORM tq_private.invalid_argument('questions',
            format('Question %s has %s characters.', bad.ordinality, coalesce(length(btrim(bad.question)), 0)),
            'A possible query is 1 to 1000 characters.');
    END IF;
    IF cardinality(questions) > 1000 THEN
        PERFORM tq_private.invalid_argument('questions', 'It has more than 1000 elements.', 'Give a short list.');
    END IF;
END $$;
COMMENT ON FUNCTION tq_private.check_questions IS 'TQ021 for what cannot be the possible queries of a document.';

CREATE OR REPLACE FUNCTION tq_private.check_load(
    name text, content bytea, media_type text, tags text[], metadata jsonb, source_weight real, questions text[], tables text)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    most bigint;
    bad record;
BEGIN
    IF check_load.name IS NULL OR length(check_load.name) NOT BETWEEN 1 AND 500 THEN
        PERFORM tq_private.invalid_argument('name',
            CASE WHEN check_load.name IS NULL THEN 'It is NULL.' ELSE format('It has %s characters.', length(check_load.name)) END,
            'A name is 1 to 500 characters.');
    END IF;
    IF check_load.content IS NULL THEN
        PERFORM tq_private.invalid_argument('content', 'It is NULL.', 'Give the file''s bytes.');
    END IF;
    SELECT (s.value #>> '{}')::bigint INTO most FROM tq.setting AS s WHERE s.name = 'document_max_bytes';
    IF octet_length(check_load.content) > most THEN
        RAISE EXCEPTION USING ERRCODE = 'TQ012', MESSAGE = 'content too large',
            DETAIL = format('%s has %s bytes; document_max_bytes is %s.', tq_private.shown(check_load.name),
                            octet_length(check_load.content), most),
            HINT = 'Split the file, or raise the setting document_max_bytes.';
    END IF;
    IF check_load.media_type !~ '^[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}(\s*;[\x20-\x7e]{1,100})?$' THEN
        PERFORM tq_private.invalid_argument('media_type', format('It is %s.', tq_private.shown(check_load.media_type)),
            'A media type looks like text/plain or application/pdf; NULL finds it out.');
    END IF;
    IF check_load.source_weight IS NULL OR NOT check_load.source_weight BETWEEN 0 AND 1000 THEN
        PERFORM tq_private.invalid_argument('source_weight',
            CASE WHEN check_load.source_weight IS NULL THEN 'It is NULL.' ELSE format('It is %s.', check_load.source_weight) END,
            'A weight is 0 to 1000; 1 is usual.');
    END IF;
    IF jsonb_typeof(check_load.metadata) <> 'object' THEN
        PERFORM tq_private.invalid_argument('metadata', format('It is a JSON %s.', jsonb_typeof(check_load.metadata)),
            'Metadata is a JSON object.');
    END IF;
    SELECT t.ordinality, t.tag INTO bad FROM unnest(check_load.tags) WITH ORDINALITY AS t (tag)
    WHERE t.tag IS NULL OR length(t.tag) NOT BETWEEN 1 AND 200 LIMIT 1;
    IF FOUND THEN
        PERFORM tq_private.invalid_argument('tags', format('Tag %s has %s characters.', bad.ordinality, coalesce(length(bad.tag), 0)),
            'A tag is 1 to 200 characters.');
    END IF;
    PERFORM tq_private.check_questions(check_load.questions);
    IF cardinality(check_load.tags) > 1000 THEN
        PERFORM tq_private.invalid_argument('tags', 'It has more than 1000 elements.', 'Give a short list.');
    END IF;
    IF check_load.tables NOT IN ('auto', 'lines', 'lines_strict', 'text', 'none') THEN
        PERFORM tq_private.invalid_argument('tables', format('It is %s.', tq_private.shown(check_load.tables)),
            'It says how tables are found on pages: auto (by what the page shows), lines, lines_strict, text or none.');
    END IF;
END $$;
COMMENT ON FUNCTION tq_private.check_load IS 'TQ021 or TQ012 for what tq.load does not take.';

-- Definer: whoever may load need not be able to write tables, nor to read blobs that others stored. It checks what it is
-- given, because whoever may load may call it past tq.load.
CREATE OR REPLACE FUNCTION tq_private.store_document(
    name text, content bytea, media_type text, tags text[], metadata jsonb, source_weight real, effective_on date,
    questions text[], tables text) RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    digest bytea;
    newest tq.document;
    result uuid;
BEGIN
    PERFORM tq_private.check_load(name, content, media_type, tags, metadata, source_weight, questions, tables);
    tags := ARRAY(SELECT t.tag FROM unnest(store_document.tags) AS t (tag));
    questions := ARRAY(SELECT q.question FROM unnest(store_document.questions) AS q (question));
    metadata := coalesce(store_document.metadata, '{}');
    digest := sha256(content);
    -- Two sessions that load one name take turns, so that the second finds what the first stored.
    PERFORM pg_advisory_xact_lock(hashtextextended('tq.load:' || store_document.name, 0));
    SELECT d.* INTO newest FROM tq.document AS d WHERE d.name = store_document.name ORDER BY d.version DESC LIMIT 1;
    IF FOUND THEN
        IF NOT tq_private.may_change(newest.owner) THEN
            RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'the document belongs to another role',
                DETAIL = format('%s is taken.', tq_private.shown(store_document.name)),
                HINT = 'Load under another name, or as the owner or a member of tq_admin.';
        END IF;
        IF newest.sha256 = digest
            AND (newest.status = 'failed' OR newest.tables = coalesce(store_document.tables, newest.tables)) THEN
            -- The same document: no work. What is said about it may be new all the same.
            UPDATE tq.document AS d SET
                media_type = CASE d.status WHEN 'failed' THEN coalesce(store_document.media_type, d.media_type)
                                           ELSE d.media_type END,
                tables = coalesce(store_document.tables, d.tables),
                tags = coalesce(nullif(store_document.tags, '{}'), d.tags),
                metadata = coalesce(nullif(store_document.metadata, '{}'), d.metadata),
                source_weight = CASE store_document.source_weight WHEN 1 THEN d.source_weight ELSE store_document.source_weight END,
                effective_on = coalesce(store_document.effective_on, d.effective_on)
            WHERE d.id = newest.id
                AND ((d.status = 'failed' AND store_document.media_type <> coalesce(d.media_type, ''))
                     OR store_document.tables <> d.tables
                     OR (store_document.tags <> '{}' AND store_document.tags <> d.tags)
                     OR (store_document.metadata <> '{}' AND store_document.metadata <> d.metadata)
                     OR store_document.source_weight NOT IN (1, d.source_weight)
                     OR store_document.effective_on <> coalesce(d.effective_on, 'infinity'));
            IF store_document.questions <> '{}' THEN
                DELETE FROM tq.possible_query AS q WHERE q.document_id = newest.id;
                INSERT INTO tq.possible_query (document_id, ordinal, question)
                SELECT newest.id, q.ordinality, q.question
                FROM unnest(store_document.questions) WITH ORDINALITY AS q (question);
            END IF;
            -- Whoever loads a failed document again wants it read: perhaps what failed is mended, or another type named.
            IF newest.status = 'failed' THEN
                PERFORM tq_private.change_documents('retry', ARRAY[newest.id]);
            END IF;
            RETURN newest.id;
        END IF;
    END IF;

    LOOP
        INSERT INTO tq.blob (sha256, content) VALUES (digest, store_document.content) ON CONFLICT DO NOTHING;
        -- Another session may be removing the last document of these bytes: wait for it, then store them again.
        PERFORM FROM tq.blob AS b WHERE b.sha256 = digest FOR KEY SHARE;
        EXIT WHEN FOUND;
    END LOOP;
    INSERT INTO tq.document (name, version, sha256, media_type, tags, metadata, source_weight, effective_on, owner, tables)
    VALUES (store_document.name, coalesce(newest.version, 0) + 1, digest, store_document.media_type, store_document.tags,
            store_document.metadata, store_document.source_weight, store_document.effective_on,
            coalesce(newest.owner, tq_private.asker()), coalesce(store_document.tables, 'auto'))
    RETURNING id INTO result;
    INSERT INTO tq.possible_query (document_id, ordinal, question)
    SELECT result, q.ordinality, q.question
    FROM unnest(CASE WHEN store_document.questions = '{}'
                     THEN ARRAY(SELECT p.question FROM tq.possible_query AS p WHERE p.document_id = newest.id ORDER BY p.ordinal)
                     ELSE store_document.questions END) WITH ORDINALITY AS q (question);
    PERFORM pgmq.send('tq_convert'::text, jsonb_build_object('document_id', result));
    -- Bytes are here first and always; a step of the queue brings them to where they are to be kept.
    IF EXISTS (SELECT FROM tq.setting AS s WHERE s.name = 'blob_store' AND s.value <> '"database"')
        AND EXISTS (SELECT FROM tq.blob AS b WHERE b.sha256 = digest AND b.store IS NULL) THEN
        PERFORM pgmq.send('tq_convert'::text,
                          jsonb_build_object('step', 'store', 'sha256', encode(digest, 'hex')));
    END IF;
    RETURN result;
EXCEPTION WHEN unique_violation THEN
    -- Only with a snapshot from before another session's load.
    RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'the document was loaded by another session meanwhile',
        DETAIL = tq_private.shown(store_document.name), HINT = 'Run the transaction again.';
END $$;
COMMENT ON FUNCTION tq_private.store_document IS 'Stores bytes as a document''s next version and queues its conversion.';

CREATE OR REPLACE FUNCTION tq.load(
    name text, content bytea, media_type text DEFAULT NULL, tags text[] DEFAULT '{}', metadata jsonb DEFAULT '{}',
    source_weight real DEFAULT 1, effective_on date DEFAULT NULL, questions text[] DEFAULT '{}', tables text DEFAULT NULL)
RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
    SELECT tq_private.store_document(load.name, load.content, load.media_type, load.tags, load.metadata, load.source_weight,
        load.effective_on, load.questions, load.tables)
$$;
COMMENT ON FUNCTION tq.load IS
'Store a file as a document and queue its ingest; returns its id.
The same name with the same bytes is the same document, tried again if it failed; new bytes are its next version.
Returns at once: CALL tq.work(), or a schedule, does the rest. questions: what the document should be able to answer; a new
version has those of the one before where none are given.
tables: how tables are found on the pages of a PDF or picture. auto (also NULL): by drawn lines, else by how the text is
aligned; lines: by lines and the edges of coloured areas; lines_strict: by lines alone; text: by alignment alone; none:
not at all. Another choice than before is the next version, though the bytes are the same.';

CREATE OR REPLACE FUNCTION tq.load_text(
    name text, content text, media_type text DEFAULT NULL, tags text[] DEFAULT '{}', metadata jsonb DEFAULT '{}',
    source_weight real DEFAULT 1, effective_on date DEFAULT NULL, questions text[] DEFAULT '{}') RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
    -- Text is text, whatever its first bytes look like.
    SELECT tq.load(load_text.name, convert_to(load_text.content, 'UTF8'),
        coalesce(load_text.media_type, CASE WHEN load_text.name ~* '\.(md|markdown)$' THEN 'text/markdown' ELSE 'text/plain' END),
        load_text.tags, load_text.metadata, load_text.source_weight, load_text.effective_on, load_text.questions)
$$;
COMMENT ON FUNCTION tq.load_text IS
'Store a text as a document and queue its ingest; returns its id.
Markdown where the name ends in .md or .markdown, else plain text. Otherwise as tq.load.';

CREATE OR REPLACE FUNCTION tq_private.drop_messages(documents uuid[]) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    queue text;
    n int;
    total int := 0;
BEGIN
    FOREACH queue IN ARRAY ARRAY['tq_convert', 'tq_model', 'tq_dead'] LOOP
        EXECUTE format('DELETE FROM pgmq.%I AS m WHERE m.message ->> ''document_id'' = ANY ($1::text[])', 'q_' || queue)
        USING documents;
        GET DIAGNOSTICS n = ROW_COUNT;
        total := total + n;
    END LOOP;
    RETURN total;
END $$;
COMMENT ON FUNCTION tq_private.drop_messages IS 'Deletes the queued and dead messages of documents.';

-- Definer, with the right to change checked on every document: callers need no rights on tables and queues.
CREATE OR REPLACE FUNCTION tq_private.change_documents(verb text, documents uuid[]) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    mine uuid[];
    digests bytea[];
    names text[];
    refused text;
    attached uuid[] := '{}';
    n int;
BEGIN
    -- With a message go the files that were attached to it.
    IF verb = 'remove' THEN
        WITH RECURSIVE inside AS (
            SELECT id FROM unnest(documents) AS id
            UNION
            SELECT x.id FROM inside AS i JOIN tq.document AS x ON x.parent_id = i.id
        )
        SELECT coalesce(array_agg(i.id), '{}') INTO attached FROM inside AS i WHERE i.id <> ALL (documents);
    END IF;
    -- Documents first, messages after, as the workers do; in one order, so that two callers do not block each other.
    SELECT array_agg(d.id) FILTER (WHERE d.mine), array_agg(DISTINCT d.sha256) FILTER (WHERE d.mine),
           array_agg(DISTINCT d.name) FILTER (WHERE d.mine), min(d.name) FILTER (WHERE NOT d.mine),
           count(*) FILTER (WHERE d.mine AND d.id = ANY (documents))
    INTO mine, digests, names, refused, n
    FROM (SELECT x.id, x.sha256, x.name, tq_private.may_change(x.owner) AS mine
          FROM tq.document AS x
          WHERE x.id = ANY (documents || attached)
            AND CASE verb WHEN 'retry' THEN x.status = 'failed'
                          WHEN 'cancel' THEN x.status NOT IN ('ready', 'failed')
                          ELSE TRUE END
          ORDER BY x.id FOR UPDATE) AS d;
    IF mine IS NULL AND refused IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'the document belongs to another role',
            DETAIL = format('%s may be read, not changed.', tq_private.shown(refused)),
            HINT = format('Let its owner or a member of tq_admin %s it.', verb);
    END IF;
    IF n = 0 THEN
        RETURN 0;
    END IF;
    PERFORM tq_private.drop_messages(mine);
    PERFORM tq_private.stop_batches(verb, mine);
    IF verb = 'retry' THEN
        UPDATE tq.document AS d SET status = 'pending', sqlstate = NULL, error = NULL, hint = NULL, failed_step = NULL,
            finished_at = NULL
        WHERE d.id = ANY (mine);
        -- Every step looks at the state first: what is done stays done.
        PERFORM pgmq.send('tq_convert'::text, jsonb_build_object('document_id', id)) FROM unnest(mine) AS id;
    ELSIF verb = 'cancel' THEN
        UPDATE tq.document AS d SET status = 'failed', sqlstate = '57014', error = 'cancelled', hint = NULL,
            failed_step = (tq_private.document_progress(d)).step, finished_at = clock_timestamp()
        WHERE d.id = ANY (mine);
        PERFORM pg_notify('tq_document', jsonb_build_object('document_id', d.id, 'name', d.name, 'version', d.version,
                                                            'status', d.status)::text)
        FROM tq.document AS d WHERE d.id = ANY (mine);
    ELSIF verb = 'remove' THEN
        DELETE FROM tq.document AS d WHERE d.id = ANY (mine);
        -- A name whose current version is gone falls back to its newest that is ready.
        UPDATE tq.document AS d SET current = TRUE
        WHERE d.id IN (SELECT DISTINCT ON (o.name) o.id FROM tq.document AS o
                       WHERE o.name = ANY (names) AND o.status = 'ready'
                         AND NOT EXISTS (SELECT FROM tq.document AS c WHERE c.name = o.name AND c.current)
                       ORDER BY o.name, o.version DESC);
        PERFORM tq_private.drop_blobs(digests);
    END IF;
    RETURN n;
END $$;
COMMENT ON FUNCTION tq_private.change_documents IS 'Does retry, cancel or remove to those of the documents that the asker may change.';

CREATE OR REPLACE FUNCTION tq_private.drop_blobs(digests bytea[]) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    free bytea[];
    sent bigint;
BEGIN
    -- Bytes that another session is loading right now are locked by it, and stay.
    free := ARRAY(SELECT b.sha256 FROM tq.blob AS b WHERE b.sha256 = ANY (digests) FOR UPDATE SKIP LOCKED);
    WITH gone AS (
        DELETE FROM tq.blob AS b
        WHERE b.sha256 = ANY (free) AND NOT EXISTS (SELECT FROM tq.document AS d WHERE d.sha256 = b.sha256)
        RETURNING b.sha256, b.store
    )
    -- What lies outside the database goes when this is committed.
    SELECT count(m.id) INTO sent
    FROM gone AS g
    CROSS JOIN LATERAL pgmq.send('tq_convert'::text,
        jsonb_build_object('step', 'drop', 'sha256', encode(g.sha256, 'hex'), 'store', g.store)) AS m (id)
    WHERE g.store IS NOT NULL;
EXCEPTION WHEN foreign_key_violation THEN
    NULL;  -- an older snapshot missed a document that holds them
END $$;
COMMENT ON FUNCTION tq_private.drop_blobs IS 'Deletes those of the blobs that no document holds any more.';

CREATE OR REPLACE FUNCTION tq_private.check_named(doc text, verb text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    IF doc IS NULL THEN
        PERFORM tq_private.invalid_argument('doc', 'It is NULL.',
            format('Name what to %s; ''*'' stands for every document.', verb));
    END IF;
END $$;

CREATE OR REPLACE FUNCTION tq.retry(doc text) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    PERFORM tq_private.check_named(doc, 'retry');
    -- Of a name that means several versions only the newest: an older one is not wanted any more.
    RETURN tq_private.change_documents('retry', ARRAY(
        SELECT DISTINCT ON (m.name) m.id FROM tq_private.match_documents(doc) AS m ORDER BY m.name, m.version DESC));
END $$;
COMMENT ON FUNCTION tq.retry IS
'Start a failed document again; returns how many, 0 for none.
The newest version of each name that doc means, or the version named. What was done already stays done.';

CREATE OR REPLACE FUNCTION tq.cancel(doc text) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    PERFORM tq_private.check_named(doc, 'cancel');
    RETURN tq_private.change_documents('cancel', ARRAY(SELECT m.id FROM tq_private.match_documents(doc) AS m));
END $$;
COMMENT ON FUNCTION tq.cancel IS
'Stop the ingest of a document; returns how many, 0 for none.
It is failed with SQLSTATE 57014 then; tq.retry takes it up again. Versions that are ready stay.';

CREATE OR REPLACE FUNCTION tq.remove(doc text) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    PERFORM tq_private.check_named(doc, 'remove');
    RETURN tq_private.change_documents('remove', ARRAY(SELECT m.id FROM tq_private.match_documents(doc) AS m));
END $$;
COMMENT ON FUNCTION tq.remove IS
'Remove documents with all that hangs on them; returns how many.
All versions of a name, or the one that name@version or a uuid names. Counts versions; 0 for none. The documents that were
attached to a message go with it, uncounted.';
