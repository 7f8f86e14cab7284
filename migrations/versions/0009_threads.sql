-- Threads of follow-up questions, and questions of the queue.

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
