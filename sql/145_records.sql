-- Rows of the database as documents, and documents that were attached to others.

-- ---------------------------------------------------------------- records

-- Stable: what is not read-only is refused in it, and the description and the rows are of one snapshot.
CREATE OR REPLACE FUNCTION tq_private.query_walk(
    query text, search_path text, time_zone text, OUT result tq_private.query_result, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.query_walk(plpy, query, search_path, time_zone)
$$;
COMMENT ON FUNCTION tq_private.query_walk IS
'Vet a query and read its rows with the rights of the caller; writes nothing and locks no row.';

CREATE OR REPLACE FUNCTION tq_private.record_walk(
    document uuid, line_start int, line_end int, OUT result jsonb, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.record_walk(plpy, document, line_start, line_end)
$$;
COMMENT ON FUNCTION tq_private.record_walk IS 'The records of some lines, as loaded and as they are now.';

CREATE OR REPLACE FUNCTION tq_private.run_query(query text, search_path text, time_zone text)
RETURNS tq_private.query_result
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    walked record;
BEGIN
    -- In a subtransaction, so that the rest of the transaction may write again; and it is always rolled back.
    PERFORM set_config('transaction_read_only', 'on', TRUE);
    walked := tq_private.query_walk(query, search_path, time_zone);
    RAISE SQLSTATE 'TQUND';
EXCEPTION WHEN SQLSTATE 'TQUND' THEN
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN walked.result;
END $$;
COMMENT ON FUNCTION tq_private.run_query IS 'The same read-only, whatever it calls.';

-- Definer: loaders write no tables. The role that gave the query is written down, and no other runs it again.
CREATE OR REPLACE FUNCTION tq_private.keep_query(
    document uuid, query text, search_path text, time_zone text, relation text, key text[], columns jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM tq.document AS d WHERE d.id = document AND tq_private.may_change(d.owner)) THEN
        RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'the document belongs to another role';
    END IF;
    INSERT INTO tq.record_query AS r (document_id, query, given_by, search_path, time_zone, relation, key, columns)
    VALUES (document, keep_query.query, tq_private.asker(), keep_query.search_path, keep_query.time_zone,
            keep_query.relation, keep_query.key, keep_query.columns)
    ON CONFLICT (document_id) DO UPDATE SET
        query = excluded.query, given_by = excluded.given_by, search_path = excluded.search_path,
        time_zone = excluded.time_zone, relation = excluded.relation, key = excluded.key, columns = excluded.columns,
        ran_at = excluded.ran_at;
END $$;
COMMENT ON FUNCTION tq_private.keep_query IS 'Keeps with a document the query that its rows came from.';

-- search_path is a parameter for its default alone, which is that of the caller: inside the function it is another.
CREATE OR REPLACE FUNCTION tq.load_query(
    name text, query text, media_type text DEFAULT NULL, tags text[] DEFAULT '{}', metadata jsonb DEFAULT '{}',
    source_weight real DEFAULT 1, effective_on date DEFAULT NULL, questions text[] DEFAULT '{}',
    search_path text DEFAULT current_setting('search_path')) RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    loaded tq_private.query_result;
    result uuid;
BEGIN
    IF load_query.query IS NULL THEN
        PERFORM tq_private.invalid_argument('query', 'It is NULL.', 'Give one SELECT.');
    END IF;
    IF load_query.search_path IS NULL THEN
        PERFORM tq_private.invalid_argument('search_path', 'It is NULL.', 'Leave it out for your own.');
    END IF;
    IF load_query.media_type <> 'application/x-tq-records' THEN
        PERFORM tq_private.invalid_argument('media_type', format('It is %s.', tq_private.shown(load_query.media_type)),
            'Leave it out: rows of a query have a type of their own.');
    END IF;
    loaded := tq_private.run_query(load_query.query, load_query.search_path, current_setting('TimeZone'));
    result := tq.load(load_query.name, loaded.content, 'application/x-tq-records', load_query.tags, load_query.metadata,
                      load_query.source_weight, load_query.effective_on, load_query.questions);
    PERFORM tq_private.keep_query(result, loaded.query, load_query.search_path, current_setting('TimeZone'), loaded.relation,
                                  loaded.key, loaded.columns);
    RETURN result;
END $$;
COMMENT ON FUNCTION tq.load_query IS
'Store rows of a SELECT as a document, a line a row; returns its id.
The query runs here and now, read-only and with your own rights, within load_query_seconds and load_query_rows. Of one
table with a primary key that is shown, each line names its key, and tq.record shows the row again. tq.refresh runs the
query again. TQ030: the query is not one SELECT, or does more than read. Otherwise as tq.load.';

CREATE OR REPLACE FUNCTION tq.refresh(doc text) RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    d tq.document;
    q tq.record_query;
    names bigint;
    loaded tq_private.query_result;
    result uuid;
BEGIN
    PERFORM tq_private.check_named(doc, 'refresh');
    SELECT count(DISTINCT m.name) INTO names FROM tq_private.match_documents(doc) AS m;
    IF names = 0 THEN
        PERFORM tq_private.raise_not_found(doc);
    ELSIF names > 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'TQ003', MESSAGE = 'document is ambiguous',
            DETAIL = format('%s names %s documents.', tq_private.shown(doc), names), HINT = 'Name one of them.';
    END IF;
    SELECT m.* INTO d FROM tq_private.match_documents(doc) AS m ORDER BY m.version DESC LIMIT 1;
    SELECT r.* INTO q FROM tq.record_query AS r WHERE r.document_id = d.id;
    IF NOT FOUND THEN
        PERFORM tq_private.invalid_argument('doc', format('%s version %s is no rows of a query.', tq_private.shown(d.name), d.version),
            'Only what tq.load_query loaded can be refreshed.');
    END IF;
    IF q.given_by <> current_user THEN
        RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'the query belongs to another role',
            DETAIL = format('%s gave the query of %s, and it runs with the rights of that role alone.', q.given_by,
                            tq_private.shown(d.name)),
            HINT = 'Let that role refresh it, or load the query anew with tq.load_query.';
    END IF;
    loaded := tq_private.run_query(q.query, q.search_path, q.time_zone);
    result := tq.load(d.name, loaded.content, 'application/x-tq-records', d.tags, d.metadata, d.source_weight, d.effective_on,
                      ARRAY(SELECT p.question FROM tq.possible_query AS p WHERE p.document_id = d.id ORDER BY p.ordinal));
    PERFORM tq_private.keep_query(result, loaded.query, q.search_path, q.time_zone, loaded.relation, loaded.key, loaded.columns);
    RETURN result;
END $$;
COMMENT ON FUNCTION tq.refresh IS
'Run the query of a document again; returns the document''s id.
The same rows are the same document, and no work; others are its next version, with the tags, metadata, weight and
questions of the one before. Only the role that gave the query may. Every hour, by pg_cron:
SELECT cron.schedule(''refresh orders'', ''0 * * * *'', $$SELECT tq.refresh(''orders'')$$)';

CREATE OR REPLACE FUNCTION tq.record(citation jsonb) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    cited record;
    document uuid;
    walked record;
BEGIN
    cited := tq_private.read_citation(citation);
    IF cited.version IS NULL THEN
        document := (tq_private.resolve_document(cited.document)).id;
    ELSE
        SELECT d.id INTO document FROM tq.document AS d WHERE d.name = cited.document AND d.version = cited.version;
        IF document IS NULL THEN
            PERFORM tq_private.raise_not_found(format('%s@%s', cited.document, cited.version));
        END IF;
    END IF;
    BEGIN
        PERFORM set_config('transaction_read_only', 'on', TRUE);
        walked := tq_private.record_walk(document, cited.line_start, cited.line_end);
        RAISE SQLSTATE 'TQUND';
    EXCEPTION WHEN SQLSTATE 'TQUND' THEN
        PERFORM tq_private.raise_problem(walked.problem);
    END;
    RETURN QUERY SELECT e.value FROM jsonb_array_elements(walked.result) AS e;
END $$;
COMMENT ON FUNCTION tq.record IS
'The database records that a citation names, one object each.
record: the row as it was loaded; now: the row of its table with the same key, read with your own rights; state: same,
changed, gone, or unknown where the rows have no key or the table may not be read; note: the same in words. Columns that the
query computed are not compared.';

-- ---------------------------------------------------------------- attachments

-- Definer: a worker adds no documents of its own. The new one belongs to whom the message belongs.
CREATE OR REPLACE FUNCTION tq_private.store_attachment(
    parent uuid, number int, file_name text, content bytea, media_type text, OUT document text, OUT refused text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    digest constant bytea := sha256(content);
    message tq.document;
    root uuid;
    depth int;
    most bigint;
    leaf text;
    base text;
    tried int := 1;
    added uuid;
BEGIN
    SELECT d.name INTO document FROM tq.document AS d WHERE d.parent_id = parent AND d.attachment_no = number;
    IF FOUND THEN
        RETURN;  -- of an earlier attempt at the same conversion
    END IF;
    SELECT d.* INTO message FROM tq.document AS d WHERE d.id = parent FOR KEY SHARE;
    IF NOT FOUND THEN
        refused := 'its message was removed';
        RETURN;
    END IF;
    WITH RECURSIVE above AS (
        SELECT d.id, d.parent_id, 1 AS depth FROM tq.document AS d WHERE d.id = parent
        UNION ALL
        SELECT d.id, d.parent_id, a.depth + 1 FROM above AS a JOIN tq.document AS d ON d.id = a.parent_id
        WHERE a.depth < 100
    )
    SELECT a.id, a.depth INTO root, depth FROM above AS a ORDER BY a.depth DESC LIMIT 1;
    SELECT (s.value #>> '{}')::bigint INTO most FROM tq.setting AS s WHERE s.name = 'attachment_depth';
    IF depth > most THEN
        refused := format('it lies deeper than attachment_depth, %s', most);
        RETURN;
    END IF;
    SELECT (s.value #>> '{}')::bigint INTO most FROM tq.setting AS s WHERE s.name = 'attachment_max_bytes';
    IF octet_length(content) > most THEN
        refused := format('it has more than attachment_max_bytes, %s', most);
        RETURN;
    ELSIF octet_length(content) = 0 THEN
        refused := 'it is empty';
        RETURN;
    END IF;
    -- Workers that read several parts of one message at once count one after the other.
    PERFORM pg_advisory_xact_lock(hashtextextended('tq.attach:' || root, 0));
    SELECT (s.value #>> '{}')::bigint INTO most FROM tq.setting AS s WHERE s.name = 'attachment_files';
    WITH RECURSIVE below AS (
        SELECT root AS id
        UNION ALL
        SELECT d.id FROM below AS b JOIN tq.document AS d ON d.parent_id = b.id
    )
    SELECT count(*) - 1 INTO depth FROM below;
    IF depth >= most THEN
        refused := format('there are more than attachment_files, %s', most);
        RETURN;
    END IF;

    leaf := coalesce(nullif(btrim(regexp_replace(left(file_name, 200), '[/\\[:cntrl:]]', '_', 'g')), ''),
                     format('attachment %s', number));
    base := left(message.name, 490 - length(leaf)) || '/' || leaf;
    LOOP
        document := base || CASE WHEN tried > 1 THEN format(' (%s)', tried) ELSE '' END;
        PERFORM pg_advisory_xact_lock(hashtextextended('tq.load:' || document, 0));
        -- A name is free, or it is that of the same file in another version of this message.
        EXIT WHEN NOT EXISTS (
            SELECT FROM tq.document AS d LEFT JOIN tq.document AS p ON p.id = d.parent_id
            WHERE d.name = document
                AND (p.id IS NULL OR p.id = parent OR p.name <> message.name OR d.owner <> message.owner));
        tried := tried + 1;
    END LOOP;
    LOOP
        INSERT INTO tq.blob (sha256, content) VALUES (digest, store_attachment.content) ON CONFLICT DO NOTHING;
        PERFORM FROM tq.blob AS b WHERE b.sha256 = digest FOR KEY SHARE;
        EXIT WHEN FOUND;
    END LOOP;
    INSERT INTO tq.document (name, version, sha256, media_type, model, tags, metadata, source_weight, effective_on, owner,
                             tables, parent_id, attachment_no)
    SELECT document, coalesce(max(d.version), 0) + 1, digest,
           CASE WHEN store_attachment.media_type ~ '^[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}$'
                    AND store_attachment.media_type NOT IN ('application/octet-stream', 'application/x-tq-records')
                THEN store_attachment.media_type END,
           message.model, message.tags, jsonb_build_object('attachment_of', message.name, 'message_version', message.version),
           message.source_weight, message.effective_on, message.owner, message.tables, parent, number
    FROM tq.document AS d WHERE d.name = document
    RETURNING id INTO added;
    PERFORM pgmq.send('tq_convert'::text, jsonb_build_object('document_id', added));
    -- As in store_document: a step of the queue brings the bytes to where they are to be kept.
    IF EXISTS (SELECT FROM tq.setting AS s WHERE s.name = 'blob_store' AND s.value <> '"database"') THEN
        IF EXISTS (SELECT FROM tq.blob AS b WHERE b.sha256 = digest AND b.store IS NULL) THEN
            PERFORM pgmq.send('tq_convert'::text,
                              jsonb_build_object('step', 'store', 'sha256', encode(digest, 'hex')));
        END IF;
    END IF;
END $$;
COMMENT ON FUNCTION tq_private.store_attachment IS
'Stores a file that was in another as a document of its own; its name, or why it was not taken.';
