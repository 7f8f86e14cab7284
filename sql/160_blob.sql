-- The bytes of documents: reading them, an address for them, the picture of a page, and moving them between stores.

-- Definer, and each asks first whether the asker may see the document: readers have no right on the table of bytes.
CREATE OR REPLACE FUNCTION tq_private.source_of(document uuid, OUT result bytea, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.source_of(plpy, document)
$$;
COMMENT ON FUNCTION tq_private.source_of IS 'A document''s bytes from where they are.';

CREATE OR REPLACE FUNCTION tq_private.source_url_of(document uuid, OUT result text, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.source_url_of(plpy, document)
$$;
COMMENT ON FUNCTION tq_private.source_url_of IS 'An address of a document''s bytes; NULL in the database.';

CREATE OR REPLACE FUNCTION tq_private.page_image_of(document uuid, request text, OUT result bytea, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.page_image_of(plpy, document, request)
$$;
COMMENT ON FUNCTION tq_private.page_image_of IS 'A page as PNG, drawn by a child process.';

-- Moving: two calls, so that the old copy goes only when the new one is committed.
CREATE OR REPLACE FUNCTION tq_private.blob_moved(sha256 text, target text, OUT result bigint, OUT problem jsonb)
LANGUAGE plpython3u VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.blob_moved(plpy, sha256, target)
$$;
COMMENT ON FUNCTION tq_private.blob_moved IS 'The body of move_blob.';

CREATE OR REPLACE FUNCTION tq_private.move_blob(sha256 text, target text) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    walked record;
BEGIN
    walked := tq_private.blob_moved(sha256, target);
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN walked.result;
END $$;
COMMENT ON FUNCTION tq_private.move_blob IS
'Copy a blob to another store and check the copy; the id of the message that drops the old one, 0 for none to drop.
NULL where another session has the blob in hand.';

CREATE OR REPLACE FUNCTION tq_private.copy_dropped(message bigint, OUT result boolean, OUT problem jsonb)
LANGUAGE plpython3u VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.copy_dropped(plpy, message)
$$;
COMMENT ON FUNCTION tq_private.copy_dropped IS 'The body of drop_copy.';

CREATE OR REPLACE FUNCTION tq_private.drop_copy(message bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    walked record;
BEGIN
    walked := tq_private.copy_dropped(message);
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN walked.result;
END $$;
COMMENT ON FUNCTION tq_private.drop_copy IS 'Do the step of a queued drop message now, once move_blob is committed.';

-- ---------------------------------------------------------------- for users

CREATE OR REPLACE FUNCTION tq_private.stored_document(doc text) RETURNS tq.document
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    result tq.document;
BEGIN
    -- A document that failed, or is not through yet, has its bytes all the same.
    IF doc IS NOT NULL AND (SELECT count(DISTINCT m.name) FROM tq_private.match_documents(doc) AS m) = 1 THEN
        SELECT m.* INTO result FROM tq_private.match_documents(doc) AS m ORDER BY m.current DESC, m.version DESC LIMIT 1;
        RETURN result;
    END IF;
    RETURN tq_private.resolve_document(doc);
END $$;
COMMENT ON FUNCTION tq_private.stored_document IS 'The one document that an argument means, whatever its status.';

CREATE OR REPLACE FUNCTION tq.source(doc text) RETURNS bytea
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    walked record;
BEGIN
    walked := tq_private.source_of((tq_private.stored_document(doc)).id);
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN walked.result;
END $$;
COMMENT ON FUNCTION tq.source IS
'The bytes of a document''s file, from wherever they are kept.
Of a document that failed or is not ready yet, too. Missing in the store: TQ040; no access to it: TQ041.';

CREATE OR REPLACE FUNCTION tq.source_url(doc text) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    walked record;
BEGIN
    walked := tq_private.source_url_of((tq_private.stored_document(doc)).id);
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN walked.result;
END $$;
COMMENT ON FUNCTION tq.source_url IS
'An address of a document''s file: signed for an hour, or a file URL.
NULL where the bytes are kept in the database: tq.source gives them.';

CREATE OR REPLACE FUNCTION tq.page_image(
    document text DEFAULT NULL, page int DEFAULT NULL, line_start int DEFAULT NULL, line_end int DEFAULT NULL,
    quote text DEFAULT NULL, dpi int DEFAULT 144, citation jsonb DEFAULT NULL) RETURNS bytea
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    d tq.document;
    place record;
    cited jsonb;
    walked record;
BEGIN
    IF dpi IS NULL OR dpi NOT BETWEEN 36 AND 400 THEN
        PERFORM tq_private.invalid_argument('dpi', format('It is %s.', coalesce(dpi::text, 'NULL')), 'Give 36 to 400 dots an inch.');
    END IF;
    line_end := coalesce(page_image.line_end, page_image.line_start);
    IF citation IS NOT NULL THEN
        place := tq_private.read_citation(citation);
        document := coalesce(page_image.document, place.document || coalesce('@' || place.version, ''));
        line_start := coalesce(page_image.line_start, place.line_start);
        line_end := coalesce(page_image.line_end, place.line_end);
        quote := coalesce(page_image.quote, place.quote);
    END IF;
    d := tq_private.resolve_document(document);
    IF page IS NULL THEN
        SELECT min(l.page) INTO page FROM tq.line AS l
        WHERE l.document_id = d.id AND l.line_no BETWEEN page_image.line_start AND page_image.line_end;
    END IF;
    IF page IS NULL AND citation IS NOT NULL THEN
        page := place.page;
    END IF;
    SELECT jsonb_agg(jsonb_build_object('line_no', l.line_no, 'text', left(l.text, 4000), 'kind', l.kind,
                                        'bbox', l.locator -> 'bbox') ORDER BY l.line_no)
    INTO cited
    FROM (SELECT x.* FROM tq.line AS x
          WHERE x.document_id = d.id AND x.line_no BETWEEN page_image.line_start AND page_image.line_end
            AND x.page = page_image.page
          ORDER BY x.line_no LIMIT 500) AS l;
    walked := tq_private.page_image_of(d.id, jsonb_build_object(
        'document', d.name, 'media_type', d.media_type, 'page', page, 'dpi', dpi, 'lines', coalesce(cited, '[]'),
        'first', line_start, 'quote', quote)::text);
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN walked.result;
END $$;
COMMENT ON FUNCTION tq.page_image IS
'A page of a PDF or picture as PNG, with cited lines or words marked.
Give document and page, or lines; quote marks words of these lines. Or one element of citations, as tq.ask returns it.
A document that has no pages to draw: TQ010.';

COMMENT ON COLUMN tq.blob.content IS 'The bytes; NULL where they are kept in a store.';
COMMENT ON COLUMN tq.blob.store IS 'Store that keeps the bytes, file:///path or s3://bucket/prefix; NULL for this table.';
COMMENT ON COLUMN tq.blob.bytes IS 'How many there are, where they are kept in a store.';
