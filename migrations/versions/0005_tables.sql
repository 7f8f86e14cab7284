-- Tables of a page, and what a second extraction found.

-- Python bodies hand out their problem beside their result: what had another signature goes.
DROP FUNCTION IF EXISTS tq_private.query_walk(text, text, text);
DROP FUNCTION IF EXISTS tq_private.record_walk(uuid, int, int);
DROP FUNCTION IF EXISTS tq_private.source_of(uuid);
DROP FUNCTION IF EXISTS tq_private.source_url_of(uuid);
DROP FUNCTION IF EXISTS tq_private.page_image_of(uuid, text);
DROP FUNCTION IF EXISTS tq_private.move_blob(text, text);
DROP FUNCTION IF EXISTS tq_private.drop_copy(bigint);
DROP FUNCTION IF EXISTS tq_private.fit_of(text);
DROP FUNCTION IF EXISTS tq_private.estimate_of(text, bytea, text);
DROP FUNCTION IF EXISTS tq_private.limits_of(text);
DROP FUNCTION IF EXISTS tq_private.ask_walk(text, text, text);
DROP FUNCTION IF EXISTS tq_private.select_walk(text, text);
DROP FUNCTION IF EXISTS tq_private.replay_walk(text);
DROP FUNCTION IF EXISTS tq_private.plain_message(text);
DROP FUNCTION IF EXISTS tq_private.raise_plain(text, text, text, text);

-- How tables are looked for on the pages of a document, and how many of its pages are read.
ALTER TABLE tq.document
    ADD COLUMN tables text NOT NULL DEFAULT 'auto',
    ADD COLUMN pages_read int,
    ADD COLUMN page_count int,
    ADD CONSTRAINT document_tables_check CHECK (tables IN ('auto', 'lines', 'lines_strict', 'text', 'none')),
    ADD CONSTRAINT document_pages_check CHECK (pages_read BETWEEN 0 AND page_count);

-- Both take the argument tables now.
DROP FUNCTION IF EXISTS tq.load(text, bytea, text, text[], jsonb, real, date, text[]);
DROP FUNCTION IF EXISTS tq_private.store_document(text, bytea, text, text[], jsonb, real, date, text[]);
