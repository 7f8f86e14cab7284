-- Threads of follow-up questions, and questions of the queue.

DROP FUNCTION IF EXISTS tq_private.replies_of(uuid);

-- ---------------------------------------------------------------- threads

CREATE TABLE tq.thread (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    owner name NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT now()
);

-- Ids and line ranges, no text. A turn is what one call of tq.pick kept; pinned: a version that was not the current one was
-- picked, and is stayed with. No foreign key to document or node: a pick outlives them, so that a follow-up can tell.
CREATE TABLE tq.pick (
    document_id uuid NOT NULL,
    thread_id uuid NOT NULL REFERENCES tq.thread ON DELETE CASCADE,
    turn int NOT NULL CONSTRAINT pick_turn_check CHECK (turn >= 1),
    ordinal int NOT NULL CONSTRAINT pick_ordinal_check CHECK (ordinal >= 1),
    node_id uuid,
    line_start int NOT NULL,
    line_end int NOT NULL,
    pinned boolean NOT NULL,
    query_id uuid REFERENCES tq.query ON DELETE SET NULL,
    picked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (document_id, thread_id, turn, ordinal),
    CONSTRAINT pick_range_check CHECK (1 <= line_start AND line_start <= line_end)
);
CREATE UNIQUE INDEX pick_thread_key ON tq.pick (thread_id, turn, ordinal);
CREATE INDEX pick_query_idx ON tq.pick (query_id) WHERE query_id IS NOT NULL;

ALTER TABLE tq.query
    ADD COLUMN thread_id uuid REFERENCES tq.thread ON DELETE SET NULL,
    ADD COLUMN turn int;
CREATE INDEX query_thread_idx ON tq.query (thread_id, asked_at) WHERE thread_id IS NOT NULL;

-- ---------------------------------------------------------------- questions of the queue

-- A question of the queue has its row before it is asked, and no model yet. What has been asked until now was answered.
ALTER TABLE tq.query
    ALTER COLUMN model DROP NOT NULL,
    ALTER COLUMN elapsed_ms SET DEFAULT 0,
    ADD COLUMN status text NOT NULL DEFAULT 'answered',
    ADD COLUMN reads int NOT NULL DEFAULT 0,
    ADD COLUMN started_at timestamptz,
    ADD COLUMN finished_at timestamptz,
    ADD COLUMN sqlstate text,
    ADD COLUMN error text,
    ADD COLUMN detail text,
    ADD COLUMN hint text,
    ADD CONSTRAINT query_status_check CHECK (status IN ('waiting', 'asking', 'answered', 'failed')),
    ADD CONSTRAINT query_failed_says_why_check CHECK (status <> 'failed' OR (sqlstate IS NOT NULL AND error IS NOT NULL));
UPDATE tq.query AS q SET
    reads = (SELECT count(*) FROM tq.read AS r WHERE r.query_id = q.id),
    started_at = q.asked_at, finished_at = q.asked_at + q.elapsed_ms * interval '1 millisecond';
UPDATE tq.query AS q SET
    status = 'failed', sqlstate = e.error ->> 'sqlstate', error = e.error ->> 'message', detail = e.error ->> 'detail',
    hint = e.error ->> 'hint'
FROM tq.answer AS a CROSS JOIN LATERAL (SELECT a.detail -> 'error' AS error) AS e
WHERE a.query_id = q.id AND a.certainty = 'failed' AND e.error ->> 'message' IS NOT NULL;
CREATE INDEX query_open_idx ON tq.query (asked_at) WHERE status IN ('waiting', 'asking');

-- ---------------------------------------------------------------- what settings ship with

-- Those of earlier releases may have been changed; what this upgrade has added gets its own value (sql/245_setting.sql).
ALTER TABLE tq.setting ADD COLUMN default_value jsonb;
UPDATE tq.setting AS s SET default_value = v.value::jsonb
FROM (VALUES
    ('model', '"extractive"'), ('scent', 'true'), ('max_attempts', '5'), ('visibility_seconds', '60'),
    ('convert_memory_mb', '1024'), ('convert_seconds', '120'), ('document_max_bytes', '1000000000'), ('model_mark', '""'),
    ('model_summarise', '""'), ('model_plan', '""'), ('model_read', '""'), ('model_compare', '""'),
    ('reuse_replies', 'true'), ('reply_days', '30'), ('load_query_seconds', '60'), ('load_query_rows', '100000'),
    ('attachment_files', '100'), ('attachment_max_bytes', '50000000'), ('attachment_depth', '3'),
    ('blob_store', '"database"'), ('convert_page_seconds', '10'), ('document_calls', '-1'), ('document_tokens', '-1'),
    ('document_cost', '-1')
) AS v (name, value)
WHERE s.name = v.name;
