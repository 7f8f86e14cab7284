-- Rows of the database as documents, and documents that were attached to others.

INSERT INTO tq.setting (name, value, minimum, maximum, description) VALUES
('load_query_seconds', '60', 1, 86400, 'Longest that tq.load_query reads rows, in seconds.'),
('load_query_rows', '100000', 1, 10000000, 'Most rows that tq.load_query takes.'),
('attachment_files', '100', 0, 10000, 'Most files taken out of one loaded document, those inside of them included; 0 takes none.'),
('attachment_max_bytes', '50000000', 1, 350000000, 'Largest attached file that becomes a document, in bytes.'),
('attachment_depth', '3', 1, 10, 'How deep attachments of attachments become documents.');

-- ---------------------------------------------------------------- attachments

ALTER TABLE tq.document
    ADD COLUMN parent_id uuid,
    ADD COLUMN attachment_no int,
    ADD CONSTRAINT document_parent_fkey FOREIGN KEY (parent_id) REFERENCES tq.document ON DELETE CASCADE,
    -- The same attachment of one version of a message is one document, however often its conversion is begun.
    ADD CONSTRAINT document_attachment_key UNIQUE (parent_id, attachment_no),
    ADD CONSTRAINT document_attachment_check CHECK ((parent_id IS NULL) = (attachment_no IS NULL) AND attachment_no >= 1),
    ADD CONSTRAINT document_not_its_own_parent_check CHECK (parent_id <> id);

-- ---------------------------------------------------------------- records

-- The query that a version's rows came from. given_by: only this role runs it again, so that nobody's query ever runs
-- with another's rights.
CREATE TABLE tq.record_query (
    document_id uuid PRIMARY KEY REFERENCES tq.document ON DELETE CASCADE,
    query text NOT NULL,
    given_by name NOT NULL,
    search_path text NOT NULL,
    time_zone text NOT NULL,
    relation text,
    key text[] NOT NULL DEFAULT '{}',
    columns jsonb NOT NULL,
    ran_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT record_query_columns_check CHECK (jsonb_typeof(columns) = 'array'),
    CONSTRAINT record_query_key_check CHECK (relation IS NOT NULL OR key = '{}')
);

-- What tq_private.query_walk gives back.
CREATE TYPE tq_private.query_result AS (content bytea, query text, relation text, key text[], columns jsonb);
