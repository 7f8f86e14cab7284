-- A document argument: from what a person writes to the documents that are meant.

CREATE OR REPLACE FUNCTION tq_private.asker() RETURNS name
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN coalesce(nullif(current_setting('role'), 'none')::name, session_user);
COMMENT ON FUNCTION tq_private.asker IS 'Who asks, seen from a definer function too, where current_user is its owner.';

CREATE OR REPLACE FUNCTION tq_private.shown(value text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN '"' || regexp_replace(left(value, 80), '[[:cntrl:]]', ' ', 'g') || CASE WHEN length(value) > 80 THEN '…' ELSE '' END || '"';
COMMENT ON FUNCTION tq_private.shown IS 'A name as an error message shows it: one line, at most 80 characters.';

CREATE OR REPLACE FUNCTION tq_private.document_progress(
    d tq.document, OUT step text, OUT done bigint, OUT total bigint)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    CASE d.status
        WHEN 'pending' THEN
            step := 'convert'; done := 0;
        WHEN 'converting' THEN
            step := 'convert'; done := d.pages_read; total := d.page_count;
            IF total IS NULL THEN  -- how many lines there will be is not known before the end
                SELECT coalesce(max(l.line_no), 0) INTO done FROM tq.line AS l WHERE l.document_id = d.id;
            END IF;
        WHEN 'marking' THEN
            step := 'mark';
            SELECT count(*) FILTER (WHERE w.marked), count(*) INTO done, total
            FROM tq.provisional_window AS w WHERE w.document_id = d.id;
        WHEN 'summarising' THEN
            step := 'summarise';
            SELECT count(*) FILTER (WHERE n.summarised), count(*) INTO done, total
            FROM tq.node AS n WHERE n.document_id = d.id AND n.is_leaf;
        WHEN 'building' THEN
            step := 'build';
            SELECT count(*) FILTER (WHERE n.summarised), count(*) INTO done, total
            FROM tq.node AS n WHERE n.document_id = d.id;
        WHEN 'ready' THEN
            step := 'finish';
            SELECT count(*), count(*) INTO done, total FROM tq.node AS n WHERE n.document_id = d.id;
        ELSE
            step := d.failed_step;
    END CASE;
END $$;
COMMENT ON FUNCTION tq_private.document_progress IS 'How far a document is: pages or lines, windows or nodes of the step that runs.';

CREATE OR REPLACE FUNCTION tq_private.waits_for(d tq.document) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp
RETURN (
    SELECT format('%s of %s, handed in at %s', CASE count(*) WHEN 1 THEN 'a message batch' ELSE count(*) || ' message batches' END,
                  CASE sum(b.calls) WHEN 1 THEN 'one call' ELSE sum(b.calls) || ' calls' END,
                  to_char(min(b.opened_at), 'YYYY-MM-DD HH24:MI'))
    FROM tq.batch AS b
    WHERE b.document_id = d.id AND b.status <> 'ended' AND d.status NOT IN ('ready', 'failed')
    HAVING count(*) > 0);
COMMENT ON FUNCTION tq_private.waits_for IS 'What a document waits for at a provider; NULL where it does not.';

CREATE OR REPLACE FUNCTION tq_private.how_far(d tq.document) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    p record;
BEGIN
    IF d.status = 'failed' THEN
        RETURN format('failed at step %s: %s [%s]', coalesce(d.failed_step, 'unknown'), d.error, d.sqlstate);
    END IF;
    p := tq_private.document_progress(d);
    RETURN d.status || CASE
        WHEN d.status = 'pending' THEN ', waiting for a worker'
        WHEN d.status = 'converting' AND p.total IS NULL THEN format(', %s lines so far', p.done)
        WHEN d.status = 'ready' THEN ''
        ELSE format(', %s of %s %s done', p.done, p.total,
                    CASE d.status WHEN 'converting' THEN 'pages' WHEN 'marking' THEN 'windows' WHEN 'summarising' THEN 'leaves'
                                  ELSE 'nodes' END)
    END || coalesce(', waiting for ' || tq_private.waits_for(d), '');
END $$;
COMMENT ON FUNCTION tq_private.how_far IS 'A document''s status and how far it is, in words.';

CREATE OR REPLACE FUNCTION tq_private.like_pattern(glob text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN regexp_replace(regexp_replace(glob, '([\\%_])', '\\\1', 'g'), '\*+', '%', 'g');
COMMENT ON FUNCTION tq_private.like_pattern IS 'A glob, where * stands for any characters, as a pattern of LIKE.';

CREATE OR REPLACE FUNCTION tq_private.match_documents(doc text) RETURNS SETOF tq.document
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    part text[];
BEGIN
    -- An exact name wins over every other reading of the same characters.
    RETURN QUERY SELECT d.* FROM tq.document AS d WHERE d.name = doc;
    IF FOUND THEN
        RETURN;
    END IF;
    part := regexp_match(doc, '^(.+)@(\d{1,9})$');
    IF part IS NOT NULL THEN
        RETURN QUERY SELECT d.* FROM tq.document AS d WHERE d.name = part[1] AND d.version = part[2]::int;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    IF doc ~* '^\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?$' THEN
        RETURN QUERY SELECT d.* FROM tq.document AS d
                     WHERE d.id = regexp_replace(doc, '[^0-9a-fA-F]', '', 'g')::uuid;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    IF strpos(doc, '*') > 0 THEN
        RETURN QUERY SELECT d.* FROM tq.document AS d WHERE d.name LIKE tq_private.like_pattern(doc);
    END IF;
END $$;
COMMENT ON FUNCTION tq_private.match_documents IS
'All versions that a document argument names: exact name, name@3, uuid, or glob; none where nothing matches.';

CREATE OR REPLACE FUNCTION tq_private.near_names(doc text, n int DEFAULT 3) RETURNS text[]
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
    -- Dice's coefficient over the letters' trigrams; of very many names the newest are looked at.
    WITH wanted AS (
        SELECT DISTINCT substr(w.padded, i, 3) AS gram
        FROM (SELECT '  ' || lower(left(doc, 500)) || ' ' AS padded) AS w, generate_series(1, length(w.padded) - 2) AS i
    ), newest AS (
        SELECT d.name, max(d.loaded_at) AS loaded_at FROM tq.document AS d GROUP BY d.name ORDER BY 2 DESC LIMIT 2000
    ), gram AS (
        SELECT DISTINCT k.name, substr('  ' || lower(k.name) || ' ', i, 3) AS gram
        FROM newest AS k, generate_series(1, length(k.name) + 1) AS i
    ), scored AS (
        SELECT g.name, 2.0 * count(w.gram) / (count(*) + (SELECT count(*) FROM wanted)) AS score
        FROM gram AS g LEFT JOIN wanted AS w USING (gram) GROUP BY g.name
    )
    SELECT coalesce(array_agg(s.name ORDER BY s.score DESC, s.name), '{}')
    FROM (SELECT name, score FROM scored WHERE score >= 0.3 ORDER BY score DESC, name LIMIT n) AS s;
$$;
COMMENT ON FUNCTION tq_private.near_names IS 'Names of visible documents that look like the one asked for, nearest first.';

CREATE OR REPLACE FUNCTION tq_private.raise_not_found(doc text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    names text;
    part text[] := regexp_match(doc, '^(.+)@\d{1,9}$');
BEGIN
    IF part IS NOT NULL THEN
        SELECT string_agg(d.version::text, ', ' ORDER BY d.version) INTO names FROM tq.document AS d WHERE d.name = part[1];
        IF names IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'TQ001', MESSAGE = 'document not found',
                DETAIL = format('Nothing is called %s.', tq_private.shown(doc)),
                HINT = format('Versions of %s: %s.', tq_private.shown(part[1]), left(names, 200));
        END IF;
    END IF;
    SELECT string_agg(tq_private.shown(near.name), ', ' ORDER BY near.ordinality) INTO names
    FROM unnest(tq_private.near_names(doc)) WITH ORDINALITY AS near (name);
    RAISE EXCEPTION USING ERRCODE = 'TQ001', MESSAGE = 'document not found',
        DETAIL = format('Nothing is called %s.', tq_private.shown(doc)),
        HINT = coalesce('Near names: ' || names || '.',
                        'SELECT document, status FROM tq.progress lists the documents; * stands for any characters.');
END $$;

CREATE OR REPLACE FUNCTION tq_private.raise_not_ready(d tq.document) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'TQ002', MESSAGE = 'document not ready',
        DETAIL = format('%s version %s is %s.', tq_private.shown(d.name), d.version, tq_private.how_far(d)),
        HINT = CASE WHEN d.status = 'failed'
            THEN coalesce(rtrim(d.hint, '. ') || '; then ', '') || format('SELECT tq.retry(%L).', left(d.name, 500) || '@' || d.version)
            ELSE 'SELECT * FROM tq.progress shows how far it is; CALL tq.work() does what waits.' END;
END $$;

CREATE OR REPLACE FUNCTION tq_private.resolve_documents(
    doc text, allow_scope boolean DEFAULT TRUE, max_documents int DEFAULT NULL)
RETURNS TABLE (
    id uuid,
    name text,
    version int,
    ready boolean,     -- not ready: skipped, and to be named in what is missing
    detail text,       -- of one not ready: its status and how far it is
    matched bigint)    -- how many ready documents were meant; more than rows where max_documents cut them off
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
#variable_conflict use_column
DECLARE
    pattern text;
    exact boolean;
    latest tq.document;
    found_ready boolean := FALSE;
BEGIN
    IF doc IS NULL AND NOT allow_scope THEN
        RAISE EXCEPTION USING ERRCODE = 'TQ021', MESSAGE = 'invalid value for the argument doc',
            DETAIL = 'It is NULL, which means a whole scope.',
            HINT = 'Name one document: its name, name@version or uuid.';
    END IF;
    IF doc IS NOT NULL AND (strpos(doc, '*') = 0 OR EXISTS (SELECT FROM tq.document AS d WHERE d.name = doc)) THEN
        -- One document: the current version of a name, or the version that is named.
        SELECT m.* INTO latest FROM tq_private.match_documents(doc) AS m ORDER BY m.current DESC, m.version DESC LIMIT 1;
        IF NOT FOUND THEN
            PERFORM tq_private.raise_not_found(doc);
        END IF;
        IF latest.status <> 'ready' THEN
            PERFORM tq_private.raise_not_ready(latest);
        END IF;
        RETURN QUERY SELECT latest.id, latest.name, latest.version, TRUE, NULL::text, 1::bigint;
        RETURN;
    END IF;

    pattern := CASE WHEN doc IS NULL THEN '%' ELSE tq_private.like_pattern(doc) END;
    RETURN QUERY
        SELECT d.id, d.name, d.version, TRUE, NULL::text, count(*) OVER ()
        FROM tq.document AS d
        WHERE d.current AND d.name LIKE pattern
        ORDER BY d.source_weight DESC, d.name
        LIMIT max_documents;
    found_ready := FOUND;
    FOR latest IN
        SELECT DISTINCT ON (d.name) d.*
        FROM tq.document AS d
        WHERE d.name LIKE pattern AND d.status <> 'ready'
            AND NOT EXISTS (SELECT FROM tq.document AS c WHERE c.name = d.name AND c.current)
        ORDER BY d.name, d.version DESC
        LIMIT max_documents
    LOOP
        IF NOT found_ready AND doc IS NOT NULL THEN
            PERFORM tq_private.raise_not_ready(latest);
        END IF;
        RETURN QUERY SELECT latest.id, latest.name, latest.version, FALSE, tq_private.how_far(latest), NULL::bigint;
        found_ready := found_ready OR doc IS NULL;
    END LOOP;
    IF NOT found_ready AND doc IS NOT NULL THEN
        PERFORM tq_private.raise_not_found(doc);
    END IF;
END $$;
COMMENT ON FUNCTION tq_private.resolve_documents IS
'The documents that an argument means: the ready ones, then those skipped because they are not ready.';

CREATE OR REPLACE FUNCTION tq_private.resolve_document(doc text) RETURNS tq.document
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    result tq.document;
    names text;
    n bigint;
BEGIN
    SELECT min(r.matched), string_agg(tq_private.shown(r.name), ', ' ORDER BY r.name) INTO n, names
    FROM tq_private.resolve_documents(doc, FALSE, 5) AS r WHERE r.ready;
    IF n > 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'TQ003', MESSAGE = 'document is ambiguous',
            DETAIL = format('%s names %s documents: %s%s.', tq_private.shown(doc), n, names, CASE WHEN n > 5 THEN ', …' ELSE '' END),
            HINT = 'Name one of them.';
    END IF;
    SELECT d.* INTO STRICT result FROM tq.document AS d
    WHERE d.id = (SELECT r.id FROM tq_private.resolve_documents(doc, FALSE, 5) AS r WHERE r.ready);
    RETURN result;
END $$;
COMMENT ON FUNCTION tq_private.resolve_document IS 'The one ready document that an argument means, or TQ001, TQ002, TQ003.';
