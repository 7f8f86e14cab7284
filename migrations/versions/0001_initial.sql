-- Tables, types and constraints of tq. Functions, views, comments and grants are in sql/.

CREATE TYPE tq.document_status AS ENUM
    ('pending', 'converting', 'marking', 'summarising', 'building', 'ready', 'failed');

-- ---------------------------------------------------------------- configuration

CREATE TABLE tq.setting (
    name text PRIMARY KEY,
    value jsonb NOT NULL,
    minimum numeric,
    maximum numeric,
    description text NOT NULL,
    CONSTRAINT setting_value_check CHECK (
        CASE jsonb_typeof(value)
            WHEN 'number' THEN (value #>> '{}')::numeric BETWEEN minimum AND maximum
            WHEN 'boolean' THEN minimum IS NULL AND maximum IS NULL
            WHEN 'string' THEN minimum IS NULL AND maximum IS NULL
            ELSE FALSE
        END)
);

CREATE TABLE tq.model (
    name text PRIMARY KEY CONSTRAINT model_name_check CHECK (name <> ''),
    driver text NOT NULL CONSTRAINT model_driver_check CHECK (driver IN ('extractive')),
    input_tokens int NOT NULL CONSTRAINT model_input_tokens_check CHECK (input_tokens >= 1024),
    output_tokens int NOT NULL CONSTRAINT model_output_tokens_check CHECK (output_tokens >= 256),
    chars_per_token real NOT NULL DEFAULT 4 CONSTRAINT model_chars_per_token_check CHECK (chars_per_token BETWEEN 0.5 AND 16),
    windows_per_call int NOT NULL DEFAULT 3 CONSTRAINT model_windows_per_call_check CHECK (windows_per_call = 3),
    summary_tokens int NOT NULL CONSTRAINT model_summary_tokens_check CHECK (summary_tokens BETWEEN 64 AND output_tokens),
    concurrency int NOT NULL DEFAULT 16 CONSTRAINT model_concurrency_check CHECK (concurrency BETWEEN 1 AND 1000),
    timeout_seconds int NOT NULL DEFAULT 60 CONSTRAINT model_timeout_seconds_check CHECK (timeout_seconds BETWEEN 1 AND 3600),
    delay_ms int NOT NULL DEFAULT 0 CONSTRAINT model_delay_ms_check CHECK (delay_ms BETWEEN 0 AND 60000),
    input_price numeric NOT NULL DEFAULT 0 CONSTRAINT model_input_price_check CHECK (input_price >= 0),
    output_price numeric NOT NULL DEFAULT 0 CONSTRAINT model_output_price_check CHECK (output_price >= 0)
);

CREATE TABLE tq.strategy (
    name text PRIMARY KEY CONSTRAINT strategy_name_check CHECK (name <> ''),
    description text NOT NULL DEFAULT '',
    model text REFERENCES tq.model,
    top_n int NOT NULL DEFAULT 5 CONSTRAINT strategy_top_n_check CHECK (top_n BETWEEN 1 AND 1000),
    documents int NOT NULL DEFAULT 50 CONSTRAINT strategy_documents_check CHECK (documents BETWEEN 1 AND 10000),
    routes int NOT NULL DEFAULT 8 CONSTRAINT strategy_routes_check CHECK (routes BETWEEN 1 AND 1000),
    rereads int NOT NULL DEFAULT 2 CONSTRAINT strategy_rereads_check CHECK (rereads BETWEEN 0 AND 10),
    evidence text NOT NULL DEFAULT 'line' CONSTRAINT strategy_evidence_check CHECK (evidence IN ('line', 'summary')),
    reasoning_rules text NOT NULL DEFAULT '' CONSTRAINT strategy_reasoning_rules_check CHECK (length(reasoning_rules) <= 4000),
    weight_evidence real NOT NULL DEFAULT 4 CONSTRAINT strategy_weight_evidence_check CHECK (weight_evidence BETWEEN 0 AND 1000),
    weight_agreement real NOT NULL DEFAULT 2 CONSTRAINT strategy_weight_agreement_check CHECK (weight_agreement BETWEEN 0 AND 1000),
    weight_source real NOT NULL DEFAULT 1 CONSTRAINT strategy_weight_source_check CHECK (weight_source BETWEEN 0 AND 1000),
    weight_fit real NOT NULL DEFAULT 4 CONSTRAINT strategy_weight_fit_check CHECK (weight_fit BETWEEN 0 AND 1000),
    on_error text NOT NULL DEFAULT 'raise' CONSTRAINT strategy_on_error_check CHECK (on_error IN ('raise', 'row')),
    CONSTRAINT strategy_weights_check CHECK (weight_evidence + weight_agreement + weight_source + weight_fit > 0)
);

-- ---------------------------------------------------------------- documents

CREATE TABLE tq.blob (
    sha256 bytea PRIMARY KEY CONSTRAINT blob_sha256_check CHECK (sha256 = sha256(content)),
    content bytea NOT NULL
);
-- Written as a statement of its own: PostgreSQL 15 knows no STORAGE inside CREATE TABLE.
ALTER TABLE tq.blob ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE tq.document (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL CONSTRAINT document_name_check CHECK (length(name) BETWEEN 1 AND 500),
    version int NOT NULL DEFAULT 1 CONSTRAINT document_version_check CHECK (version >= 1),
    current boolean NOT NULL DEFAULT FALSE,
    status tq.document_status NOT NULL DEFAULT 'pending',
    sha256 bytea NOT NULL REFERENCES tq.blob,
    media_type text,
    title text,
    language text,
    line_count int CONSTRAINT document_line_count_check CHECK (line_count >= 0),
    model text REFERENCES tq.model,
    source_weight real NOT NULL DEFAULT 1 CONSTRAINT document_source_weight_check CHECK (source_weight BETWEEN 0 AND 1000),
    effective_on date,
    tags text[] NOT NULL DEFAULT '{}',
    metadata jsonb NOT NULL DEFAULT '{}' CONSTRAINT document_metadata_check CHECK (jsonb_typeof(metadata) = 'object'),
    owner name NOT NULL DEFAULT current_user,
    loaded_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    finished_at timestamptz,
    sqlstate text,
    error text,
    hint text,
    failed_step text,
    revision bigint NOT NULL DEFAULT 0,
    CONSTRAINT document_name_version_key UNIQUE (name, version),
    CONSTRAINT document_current_ready_check CHECK (NOT current OR status = 'ready'),
    CONSTRAINT document_failed_says_why_check CHECK (status <> 'failed' OR (sqlstate IS NOT NULL AND error IS NOT NULL))
);
CREATE UNIQUE INDEX document_current_key ON tq.document (name) WHERE current;
CREATE INDEX document_sha256_idx ON tq.document (sha256);

CREATE TABLE tq.possible_query (
    document_id uuid NOT NULL REFERENCES tq.document ON DELETE CASCADE,
    ordinal int NOT NULL,
    question text NOT NULL CONSTRAINT possible_query_question_check CHECK (length(question) BETWEEN 1 AND 1000),
    PRIMARY KEY (document_id, ordinal)
);

CREATE TABLE tq.line (
    document_id uuid NOT NULL REFERENCES tq.document ON DELETE CASCADE,
    line_no int NOT NULL CONSTRAINT line_no_check CHECK (line_no >= 1),
    text text NOT NULL,
    kind text NOT NULL DEFAULT 'text' CONSTRAINT line_kind_check CHECK (kind IN ('text', 'heading', 'table', 'code', 'furniture')),
    level smallint CONSTRAINT line_level_check CHECK (level BETWEEN 1 AND 6),
    page int CONSTRAINT line_page_check CHECK (page >= 1),
    locator jsonb,
    PRIMARY KEY (document_id, line_no)
);

-- The line index, one row a term and stretch of lines (a stretch is what one commit of the conversion wrote), so that a
-- long document is indexed in bounded memory. line_nos: int32, little-endian, ascending.
CREATE TABLE tq.term (
    document_id uuid NOT NULL REFERENCES tq.document ON DELETE CASCADE,
    term text COLLATE "C" NOT NULL,
    stretch int NOT NULL,
    line_hits int NOT NULL CONSTRAINT term_line_hits_check CHECK (line_hits >= 1),
    line_nos bytea NOT NULL,
    PRIMARY KEY (document_id, term, stretch),
    CONSTRAINT term_line_nos_check CHECK (octet_length(line_nos) = 4 * line_hits)
);
ALTER TABLE tq.term ALTER COLUMN line_nos SET STORAGE EXTERNAL;

CREATE TABLE tq.provisional_window (
    document_id uuid NOT NULL REFERENCES tq.document ON DELETE CASCADE,
    ordinal int NOT NULL CONSTRAINT provisional_window_ordinal_check CHECK (ordinal >= 1),
    line_start int NOT NULL,
    line_end int NOT NULL,
    marked boolean NOT NULL DEFAULT FALSE,
    PRIMARY KEY (document_id, ordinal),
    CONSTRAINT provisional_window_range_check CHECK (1 <= line_start AND line_start <= line_end),
    CONSTRAINT provisional_window_range_key UNIQUE (document_id, ordinal, line_start, line_end)
);
CREATE INDEX provisional_window_unmarked_idx ON tq.provisional_window (document_id) WHERE NOT marked;

-- The window's range is repeated here, held true by the foreign key, so that a CHECK can refuse a boundary outside it.
CREATE TABLE tq.boundary (
    document_id uuid NOT NULL,
    line_no int NOT NULL,
    window_ordinal int NOT NULL,
    window_start int NOT NULL,
    window_end int NOT NULL,
    title text,
    level smallint CONSTRAINT boundary_level_check CHECK (level BETWEEN 1 AND 6),
    PRIMARY KEY (document_id, line_no),
    CONSTRAINT boundary_window_fkey FOREIGN KEY (document_id, window_ordinal, window_start, window_end)
        REFERENCES tq.provisional_window (document_id, ordinal, line_start, line_end) ON DELETE CASCADE,
    CONSTRAINT boundary_inside_window_check CHECK (line_no BETWEEN window_start AND window_end)
);

-- ---------------------------------------------------------------- the tree

CREATE TABLE tq.node (
    document_id uuid NOT NULL REFERENCES tq.document ON DELETE CASCADE,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    target_node_id uuid,
    depth int CONSTRAINT node_depth_check CHECK (depth >= 0),
    is_leaf boolean NOT NULL,
    line_start int NOT NULL,
    line_end int NOT NULL,
    title text,
    level smallint CONSTRAINT node_level_check CHECK (level BETWEEN 1 AND 6),
    kind text NOT NULL DEFAULT 'text' CONSTRAINT node_kind_check CHECK (kind IN ('text', 'table')),
    token_count int NOT NULL DEFAULT 0 CONSTRAINT node_token_count_check CHECK (token_count >= 0),
    summarised boolean NOT NULL DEFAULT FALSE,
    PRIMARY KEY (document_id, id),
    CONSTRAINT node_range_check CHECK (1 <= line_start AND line_start <= line_end),
    CONSTRAINT node_parent_fkey FOREIGN KEY (document_id, target_node_id)
        REFERENCES tq.node (document_id, id) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT node_leaves_excl EXCLUDE USING gist
        (document_id WITH =, int4range(line_start, line_end, '[]') WITH &&)
        WHERE (is_leaf) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT node_siblings_excl EXCLUDE USING gist
        (document_id WITH =, target_node_id WITH =, int4range(line_start, line_end, '[]') WITH &&)
        WHERE (target_node_id IS NOT NULL) DEFERRABLE INITIALLY DEFERRED
);
-- No further index starts with document_id: the foreign keys' cached plans would take it instead of the primary key.
CREATE INDEX node_children_idx ON tq.node (target_node_id) WHERE target_node_id IS NOT NULL;
CREATE INDEX node_unsummarised_idx ON tq.node (document_id, depth) WHERE NOT summarised;
CREATE INDEX node_root_idx ON tq.node (document_id) WHERE target_node_id IS NULL;

CREATE TABLE tq.bullet (
    document_id uuid NOT NULL,
    node_id uuid NOT NULL,
    ordinal int NOT NULL CONSTRAINT bullet_ordinal_check CHECK (ordinal >= 1),
    text text NOT NULL,
    line_start int NOT NULL,
    line_end int NOT NULL,
    fallback boolean NOT NULL DEFAULT FALSE,
    PRIMARY KEY (document_id, node_id, ordinal),
    CONSTRAINT bullet_range_check CHECK (1 <= line_start AND line_start <= line_end),
    CONSTRAINT bullet_node_fkey FOREIGN KEY (document_id, node_id) REFERENCES tq.node ON DELETE CASCADE,
    CONSTRAINT bullet_line_fkey FOREIGN KEY (document_id, line_end) REFERENCES tq.line DEFERRABLE INITIALLY DEFERRED
);
-- The line first: beside the primary key, an index that starts with document_id is taken on stale statistics.
CREATE INDEX bullet_line_idx ON tq.bullet (line_end, document_id);

-- What a transaction changed of a document's lines, windows and nodes, for the check at COMMIT (sql/110_whole.sql). A row
-- lives no longer than its transaction, so the table need not survive a crash.
CREATE UNLOGGED TABLE tq_private.touched (
    document_id uuid NOT NULL,
    xid xid8 NOT NULL,
    first_new_line int,
    lines boolean NOT NULL,
    windows boolean NOT NULL,
    nodes boolean NOT NULL,
    PRIMARY KEY (document_id, xid)
);

-- ---------------------------------------------------------------- questions and their whole working

CREATE TABLE tq.query (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    document text,
    question text NOT NULL,
    strategy text NOT NULL,
    model text NOT NULL,
    plan jsonb NOT NULL DEFAULT '[]',
    asked_by name NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT now(),
    elapsed_ms real NOT NULL,
    held_back int NOT NULL DEFAULT 0
);
CREATE INDEX query_asked_at_idx ON tq.query (asked_at);

CREATE TABLE tq.route (
    query_id uuid NOT NULL REFERENCES tq.query ON DELETE CASCADE,
    ordinal int NOT NULL,
    parent int,
    document_id uuid NOT NULL REFERENCES tq.document ON DELETE CASCADE,
    subject int NOT NULL,
    ended text NOT NULL,
    PRIMARY KEY (query_id, ordinal)
);
CREATE INDEX route_document_idx ON tq.route (document_id);

CREATE TABLE tq.read (
    query_id uuid NOT NULL,
    ordinal int NOT NULL,
    parent int,
    route int NOT NULL,
    document_id uuid NOT NULL REFERENCES tq.document ON DELETE CASCADE,
    node_id uuid NOT NULL,
    depth int NOT NULL,
    line_start int NOT NULL,
    line_end int NOT NULL,
    title text,
    choice text CONSTRAINT read_choice_check CHECK (choice IN ('ANSWER', 'DESCEND', 'NOT_HERE')),
    opened jsonb NOT NULL DEFAULT '[]',
    reason text NOT NULL DEFAULT '',
    rejected text[] NOT NULL DEFAULT '{}',
    input_tokens int NOT NULL,
    output_tokens int NOT NULL,
    elapsed_ms real NOT NULL,
    PRIMARY KEY (query_id, ordinal),
    CONSTRAINT read_route_fkey FOREIGN KEY (query_id, route) REFERENCES tq.route ON DELETE CASCADE
);
CREATE INDEX read_document_idx ON tq.read (document_id);

CREATE TABLE tq.answer (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    query_id uuid NOT NULL REFERENCES tq.query ON DELETE CASCADE,
    rank int NOT NULL CONSTRAINT answer_rank_check CHECK (rank >= 1),
    shown boolean NOT NULL,
    what text,
    why text NOT NULL,
    how text NOT NULL,
    method text NOT NULL CONSTRAINT answer_method_check CHECK (method IN ('lookup', 'comparison', 'calculation', 'chain')),
    certainty text NOT NULL CONSTRAINT answer_certainty_check
        CHECK (certainty IN ('settled', 'supported', 'disputed', 'partial', 'unsettled', 'failed')),
    disagreement boolean NOT NULL,
    missing text,
    doubt text CONSTRAINT answer_doubt_check CHECK (doubt IN ('missing context', 'conflicting sources', 'outside the corpus')),
    specialist boolean NOT NULL,
    score real,
    detail jsonb NOT NULL,
    CONSTRAINT answer_query_rank_key UNIQUE (query_id, rank) DEFERRABLE,
    CONSTRAINT answer_unsettled_check CHECK ((what IS NULL) = (certainty IN ('unsettled', 'failed')))
);

CREATE TABLE tq.citation (
    document_id uuid NOT NULL REFERENCES tq.document ON DELETE CASCADE,
    answer_id uuid NOT NULL REFERENCES tq.answer ON DELETE CASCADE,
    ordinal int NOT NULL,
    line_start int NOT NULL,
    line_end int NOT NULL,
    quote text NOT NULL,
    page int,
    locator jsonb,
    node_id uuid,
    source text NOT NULL CONSTRAINT citation_source_check CHECK (source IN ('line', 'bullet')),
    PRIMARY KEY (document_id, answer_id, ordinal),
    CONSTRAINT citation_range_check CHECK (1 <= line_start AND line_start <= line_end),
    CONSTRAINT citation_line_fkey FOREIGN KEY (document_id, line_end) REFERENCES tq.line DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX citation_line_idx ON tq.citation (line_end, document_id);
CREATE INDEX citation_answer_idx ON tq.citation (answer_id);

CREATE TABLE tq.omission (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document_id uuid REFERENCES tq.document ON DELETE CASCADE,
    query_id uuid REFERENCES tq.query ON DELETE CASCADE,
    kind text NOT NULL,
    detail text NOT NULL,
    line_start int,
    line_end int,
    page int,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT omission_subject_check CHECK (document_id IS NOT NULL OR query_id IS NOT NULL)
);
CREATE INDEX omission_document_idx ON tq.omission (document_id) WHERE document_id IS NOT NULL;
CREATE INDEX omission_query_idx ON tq.omission (query_id) WHERE query_id IS NOT NULL;

CREATE TABLE tq.model_call (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document_id uuid REFERENCES tq.document ON DELETE CASCADE,
    query_id uuid REFERENCES tq.query ON DELETE CASCADE,
    purpose text NOT NULL,
    model text NOT NULL,
    calls int NOT NULL DEFAULT 1,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    elapsed_ms double precision NOT NULL,
    called_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX model_call_document_idx ON tq.model_call (document_id) WHERE document_id IS NOT NULL;
CREATE INDEX model_call_query_idx ON tq.model_call (query_id) WHERE query_id IS NOT NULL;

-- The columns of tq.ask. Flat ones are those of the first citation.
CREATE TYPE tq.answer_row AS (
    rank int,
    what text,
    why text,
    how text,
    method text,
    certainty text,
    document text,
    version int,
    page int,
    line_start int,
    line_end int,
    quote text,
    citations jsonb,
    disagreement boolean,
    missing text,
    doubt text,
    specialist boolean,
    held_back int,
    score real,
    detail jsonb,
    answer_id uuid,
    query_id uuid
);

-- ---------------------------------------------------------------- first rows

INSERT INTO tq.setting (name, value, minimum, maximum, description) VALUES
('model', '"extractive"', NULL, NULL, 'Model used where neither document nor strategy names one.'),
('scent', 'true', NULL, NULL, 'Show beside each child how many of its lines hold the question''s terms.'),
('max_attempts', '5', 1, 100, 'Attempts at one ingest step before its message goes to tq_dead.'),
('visibility_seconds', '60', 5, 3600, 'Seconds a message stays hidden after a read; a crash redelivers it after that.'),
('convert_memory_mb', '1024', 64, 65536, 'Address space of the conversion process, in MB.'),
('convert_seconds', '120', 1, 86400, 'Wall time of a conversion, in seconds, plus 10 s per MB of the file.'),
('document_max_bytes', '1000000000', 1, 1073741824, 'Largest file that tq.load takes, in bytes.');

INSERT INTO tq.model (name, driver, input_tokens, output_tokens, summary_tokens) VALUES
('extractive', 'extractive', 4096, 1024, 384);

INSERT INTO tq.strategy (name, description) VALUES
('default', 'Line evidence first; the five best answers.');
