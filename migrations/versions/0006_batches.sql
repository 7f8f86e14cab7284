-- Message batches.

ALTER TABLE tq.model
    ADD COLUMN ingest_mode text NOT NULL DEFAULT 'calls',
    ADD COLUMN batch_share numeric NOT NULL DEFAULT 0.5,
    ADD CONSTRAINT model_ingest_mode_check CHECK (ingest_mode = 'calls' OR ingest_mode = 'batch' AND driver = 'anthropic'),
    ADD CONSTRAINT model_batch_share_check CHECK (batch_share BETWEEN 0 AND 1);

INSERT INTO tq.setting (name, value, minimum, maximum, description) VALUES
('batch_requests', '1000', 1, 100000, 'Most calls in one message batch.'),
('batch_poll_seconds', '60', 1, 3600, 'Seconds between two looks at a message batch.');

-- It outlives its document until it is stopped at the provider.
CREATE TABLE tq.batch (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    document_id uuid REFERENCES tq.document ON DELETE SET NULL,
    model text NOT NULL,
    purpose text NOT NULL,
    status text NOT NULL DEFAULT 'sending'
        CONSTRAINT batch_status_check CHECK (status IN ('sending', 'sent', 'cancelling', 'ended')),
    remote_id text,
    calls int NOT NULL CONSTRAINT batch_calls_check CHECK (calls >= 1),
    reckoned_tokens bigint NOT NULL,
    reckoned_cost double precision NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    CONSTRAINT batch_sent_check CHECK (status <> 'sent' OR remote_id IS NOT NULL)
);
CREATE INDEX batch_document_idx ON tq.batch (document_id);

-- The requests of a batch, each with the queue's messages that wait for its reply.
CREATE TABLE tq_private.batch_request (
    batch_id uuid NOT NULL REFERENCES tq.batch ON DELETE CASCADE,
    fingerprint text NOT NULL,
    waiting jsonb NOT NULL,
    PRIMARY KEY (batch_id, fingerprint)
);

-- What came of them, good and bad, until the document is ready.
CREATE TABLE tq_private.batch_reply (
    document_id uuid NOT NULL REFERENCES tq.document ON DELETE CASCADE,
    fingerprint text NOT NULL,
    reply jsonb,
    error jsonb,
    PRIMARY KEY (document_id, fingerprint),
    CONSTRAINT batch_reply_check CHECK ((reply IS NULL) <> (error IS NULL))
);
