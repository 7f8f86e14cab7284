"""The statements of ingest: queues, documents, lines, windows, nodes. Sets, never single rows."""

from __future__ import annotations

from tq.database.connection import Statement
from tq.database.models import COLUMNS

# ---------------------------------------------------------------- queues

# $4: what their bodies contain.
READ_MESSAGES = Statement(
    "SELECT m.msg_id, m.read_ct, m.message::text AS body"
    " FROM pgmq.read($1::text, $2::int, $3::int, $4::jsonb) AS m ORDER BY m.msg_id",
    ("text", "int4", "int4", "text"),
)
SEND_MESSAGE = Statement(
    "SELECT s.id FROM pgmq.send($1::text, $2::jsonb, $3::int) AS s (id)", ("text", "text", "int4")
)
SEND_MESSAGES = Statement(
    "SELECT count(*)::int AS n FROM pgmq.send_batch($1::text,"
    " (SELECT array_agg(u.body::jsonb ORDER BY u.ordinality)"
    " FROM unnest($2::text[]) WITH ORDINALITY AS u (body)), $3::int)",
    ("text", "text[]", "int4"),
)
DELETE_MESSAGES = Statement(
    "SELECT count(*)::int AS n FROM pgmq.delete($1::text, $2::bigint[])", ("text", "int8[]")
)
HIDE_MESSAGES = Statement(
    "SELECT count(*)::int AS n FROM unnest($2::bigint[]) AS m (id), LATERAL pgmq.set_vt($1::text, m.id, $3::int)",
    ("text", "int8[]", "int4"),
)
ANY_MESSAGES = Statement(
    "SELECT EXISTS (SELECT FROM pgmq.q_tq_convert) OR EXISTS (SELECT FROM pgmq.q_tq_model)"
    " OR EXISTS (SELECT FROM pgmq.q_tq_ask) AS any_left"
)
# Whether fewer than so many steps of the model's queue wait to be read.
FEW_WAIT = Statement(
    "SELECT count(*) < $1 AS few FROM (SELECT FROM pgmq.q_tq_model AS m WHERE m.vt <= clock_timestamp() LIMIT $1) AS m",
    ("int4",),
)

# ---------------------------------------------------------------- documents

SETTINGS = Statement("SELECT s.name, s.value #>> '{}' AS value FROM tq.setting AS s")
DOCUMENTS = Statement(
    "SELECT d.id::text AS id, d.name, d.status::text AS status, d.language, d.line_count, d.media_type,"
    f" d.tables, coalesce(b.bytes, octet_length(b.content)) AS bytes, w.name AS wanted, {COLUMNS}"
    " FROM tq.document AS d"
    " JOIN tq.blob AS b ON b.sha256 = d.sha256"
    " CROSS JOIN LATERAL (SELECT coalesce(d.model,"
    " (SELECT s.value #>> '{}' FROM tq.setting AS s WHERE s.name = 'model')) AS name) AS w"
    " LEFT JOIN tq.model AS m ON m.name = w.name"
    " WHERE d.id = ANY ($1::uuid[])",
    ("text[]",),
)
# Always before a document's children are written: FOR NO KEY UPDATE lets their foreign keys through, and whoever
# decides what follows a step sees what all others have written.
LOCK_DOCUMENTS = Statement(
    "SELECT d.id::text AS id, d.status::text AS status, d.started_at::text AS started_at"
    " FROM tq.document AS d WHERE d.id = ANY ($1::uuid[]) ORDER BY d.id FOR NO KEY UPDATE",
    ("text[]",),
)
START_CONVERTING = Statement(
    "UPDATE tq.document SET status = 'converting', started_at = clock_timestamp(), finished_at = NULL, model = $2,"
    " line_count = NULL, pages_read = NULL, page_count = NULL, sqlstate = NULL, error = NULL, hint = NULL,"
    " failed_step = NULL"
    " WHERE id = $1::uuid AND status IN ('pending', 'converting') RETURNING started_at::text AS started_at",
    ("text", "text"),
)
PAGES_READ = Statement(
    "UPDATE tq.document SET pages_read = $3, page_count = $4"
    " WHERE id = $1::uuid AND status = 'converting' AND started_at = $2::timestamptz",
    ("text", "text", "int4", "int4"),
)
CONVERTED = Statement(
    "UPDATE tq.document SET status = 'marking', line_count = $2, title = $3, language = $4,"
    " media_type = coalesce($5, media_type)"
    " WHERE id = $1::uuid",
    ("text", "int4", "text", "text", "text"),
)
SET_STATUS = Statement(
    "UPDATE tq.document SET status = $2::tq.document_status WHERE id = $1::uuid", ("text", "text")
)
# A document that is ready stays ready, and one that failed keeps its first reason.
FAIL = Statement(
    "UPDATE tq.document SET status = 'failed', finished_at = clock_timestamp(), sqlstate = $2, error = $3, hint = $4,"
    " failed_step = $5 WHERE id = $1::uuid AND status NOT IN ('ready', 'failed') RETURNING id::text AS id",
    ("text", "text", "text", "text", "text"),
)
NOTIFY = Statement(
    "SELECT pg_catalog.pg_notify('tq_document', jsonb_build_object('document_id', d.id, 'name', d.name,"
    " 'version', d.version, 'status', d.status)::text) FROM tq.document AS d WHERE d.id = $1::uuid",
    ("text",),
)
LOCK_VERSIONS = Statement(
    "SELECT d.id::text AS id FROM tq.document AS d"
    " WHERE d.name = (SELECT own.name FROM tq.document AS own WHERE own.id = $1::uuid)"
    " ORDER BY d.id FOR NO KEY UPDATE",
    ("text",),
)
RETIRE_OLDER = Statement(
    "UPDATE tq.document AS d SET current = FALSE FROM tq.document AS own"
    " WHERE own.id = $1::uuid AND d.name = own.name AND d.version < own.version AND d.current",
    ("text",),
)
# Files that an older version of a message had and this one has no more. The others are retired by their successors.
RETIRE_ATTACHMENTS = Statement(
    "UPDATE tq.document AS d SET current = FALSE FROM tq.document AS own, tq.document AS older"
    " WHERE own.id = $1::uuid AND older.name = own.name AND older.version < own.version AND d.parent_id = older.id"
    " AND d.current AND NOT EXISTS"
    " (SELECT FROM tq.document AS same WHERE same.parent_id = own.id AND same.name = d.name)",
    ("text",),
)
READY = Statement(
    "UPDATE tq.document AS d SET status = 'ready', finished_at = clock_timestamp(), current = NOT EXISTS"
    " (SELECT FROM tq.document AS newer WHERE newer.name = d.name AND newer.version > d.version AND newer.current)"
    " WHERE d.id = $1::uuid",
    ("text",),
)
# What is missing of a document that was converted: windows, leaves, inner nodes.
HOW_FAR = Statement(
    "SELECT (SELECT array_agg(w.ordinal ORDER BY w.ordinal) FROM tq.provisional_window AS w"
    " WHERE w.document_id = d.id AND NOT w.marked) AS windows,"
    " (SELECT array_agg(n.id::text ORDER BY n.line_start) FROM tq.node AS n"
    " WHERE n.document_id = d.id AND n.is_leaf AND NOT n.summarised) AS leaves,"
    " EXISTS (SELECT FROM tq.node AS n WHERE n.document_id = d.id) AS nodes,"
    " EXISTS (SELECT FROM tq.node AS n WHERE n.document_id = d.id AND n.depth = 0) AS built"
    " FROM tq.document AS d WHERE d.id = $1::uuid",
    ("text",),
)
OMIT = Statement(
    "INSERT INTO tq.omission (document_id, kind, detail, line_start, line_end, page)"
    " SELECT $1::uuid, o.kind, o.detail, o.line_start, o.line_end, o.page"
    " FROM unnest($2::text[], $3::text[], $4::int[], $5::int[], $6::int[])"
    " AS o (kind, detail, line_start, line_end, page)",
    ("text", "text[]", "text[]", "int4[]", "int4[]", "int4[]"),
)
COUNT_CALLS = Statement(
    "INSERT INTO tq.model_call (document_id, purpose, model, calls, input_tokens, output_tokens, elapsed_ms,"
    " cached_tokens, cost)"
    " SELECT d.id, c.purpose, c.model, c.calls, c.input_tokens, c.output_tokens, c.elapsed_ms, c.cached_tokens, c.cost"
    " FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::bigint[], $6::bigint[], $7::float8[],"
    " $8::bigint[], $9::float8[])"
    " AS c (document_id, purpose, model, calls, input_tokens, output_tokens, elapsed_ms, cached_tokens, cost)"
    " JOIN tq.document AS d ON d.id = c.document_id::uuid",
    ("text[]", "text[]", "text[]", "int4[]", "int8[]", "int8[]", "float8[]", "int8[]", "float8[]"),
)
# What a document may cost (settings, -1 for no limit), and what it has cost since its ingest began, with what its
# batches under way are reckoned to cost.
BUDGET = Statement(
    "SELECT s.calls, s.tokens, s.cost, s.seconds, extract(epoch FROM clock_timestamp() - d.started_at)::float8 AS spent_seconds,"
    " c.calls + b.calls AS spent_calls, c.tokens + b.tokens AS spent_tokens, c.cost + b.cost AS spent_cost"
    " FROM tq.document AS d CROSS JOIN ("
    " SELECT nullif(max((x.value #>> '{}')::float8) FILTER (WHERE x.name = 'document_calls'), -1) AS calls,"
    " nullif(max((x.value #>> '{}')::float8) FILTER (WHERE x.name = 'document_tokens'), -1) AS tokens,"
    " nullif(max((x.value #>> '{}')::float8) FILTER (WHERE x.name = 'document_cost'), -1) AS cost,"
    " nullif(max((x.value #>> '{}')::float8) FILTER (WHERE x.name = 'document_seconds'), -1) AS seconds"
    " FROM tq.setting AS x WHERE x.name LIKE 'document\\_%') AS s"
    " CROSS JOIN LATERAL (SELECT coalesce(sum(c.calls), 0)::bigint AS calls,"
    " coalesce(sum(c.input_tokens + c.output_tokens), 0)::bigint AS tokens, coalesce(sum(c.cost), 0)::float8 AS cost"
    " FROM tq.model_call AS c"
    " WHERE c.document_id = d.id AND c.query_id IS NULL AND c.called_at >= d.started_at) AS c"
    " CROSS JOIN LATERAL (SELECT coalesce(sum(b.calls), 0)::bigint AS calls,"
    " coalesce(sum(b.reckoned_tokens), 0)::bigint AS tokens, coalesce(sum(b.reckoned_cost), 0) AS cost"
    " FROM tq.batch AS b WHERE b.document_id = d.id AND b.status <> 'ended') AS b"
    " WHERE d.id = $1::uuid AND num_nonnulls(s.calls, s.tokens, s.cost, s.seconds) > 0",
    ("text",),
)

LOADED = Statement(
    "SELECT d.id::text AS id, d.line_count FROM tq_private.resolve_document($1) AS d", ("text",)
)

# ---------------------------------------------------------------- convert

CLEAR_NODES = Statement("DELETE FROM tq.node WHERE document_id = $1::uuid", ("text",))
CLEAR_WINDOWS = Statement("DELETE FROM tq.provisional_window WHERE document_id = $1::uuid", ("text",))
CLEAR_LINES = Statement("DELETE FROM tq.line WHERE document_id = $1::uuid", ("text",))
CLEAR_TERMS = Statement("DELETE FROM tq.term WHERE document_id = $1::uuid", ("text",))
CLEAR_OMISSIONS = Statement(
    "DELETE FROM tq.omission WHERE document_id = $1::uuid AND query_id IS NULL", ("text",)
)
ADD_LINES = Statement(
    "INSERT INTO tq.line (document_id, line_no, text, kind, level, page, locator)"
    " SELECT $1::uuid, $2 + u.ordinality::int, u.text, u.kind, u.level, u.page, u.locator::jsonb"
    " FROM unnest($3::text[], $4::text[], $5::int[], $6::int[], $7::text[])"
    " WITH ORDINALITY AS u (text, kind, level, page, locator, ordinality)",
    ("text", "int4", "text[]", "text[]", "int4[]", "int4[]", "text[]"),
)
# Most files have neither headings nor pages nor boxes that a converter could know: arrays of nothing are not sent.
ADD_PLAIN_LINES = Statement(
    "INSERT INTO tq.line (document_id, line_no, text) SELECT $1::uuid, $2 + u.ordinality::int, u.text"
    " FROM unnest($3::text[]) WITH ORDINALITY AS u (text, ordinality)",
    ("text", "int4", "text[]"),
)
ADD_TERMS = Statement(
    "INSERT INTO tq.term (document_id, term, stretch, line_hits, line_nos)"
    " SELECT $1::uuid, u.term, $2, octet_length(u.line_nos) / 4, u.line_nos"
    " FROM unnest($3::text[], $4::bytea[]) AS u (term, line_nos)",
    ("text", "int4", "text[]", "bytea[]"),
)
ATTACH = Statement(
    "SELECT s.document, s.refused FROM tq_private.store_attachment($1::uuid, $2, $3, $4, $5) AS s",
    ("text", "int4", "text", "bytea", "text"),
)
ADD_WINDOWS = Statement(
    "INSERT INTO tq.provisional_window (document_id, ordinal, line_start, line_end, marked)"
    " SELECT $1::uuid, u.ordinality::int, u.line_start, u.line_end, u.marked"
    " FROM unnest($2::int[], $3::int[], $4::bool[]) WITH ORDINALITY AS u (line_start, line_end, marked, ordinality)",
    ("text", "int4[]", "int4[]", "bool[]"),
)

# ---------------------------------------------------------------- mark

WINDOWS = Statement(
    "SELECT w.ordinal, w.line_start, w.line_end, w.marked FROM tq.provisional_window AS w"
    " WHERE w.document_id = $1::uuid AND w.ordinal = ANY ($2::int[]) ORDER BY w.ordinal",
    ("text", "int4[]"),
)
LINES = Statement(
    "SELECT l.line_no, left(l.text, $4) AS text, l.kind, l.level FROM tq.line AS l"
    " WHERE l.document_id = $1::uuid AND l.line_no BETWEEN $2 AND $3 ORDER BY l.line_no",
    ("text", "int4", "int4", "int4"),
)
SET_MARKED = Statement(
    "UPDATE tq.provisional_window AS w SET marked = TRUE"
    " WHERE w.document_id = $1::uuid AND w.ordinal = ANY ($2::int[]) AND NOT w.marked"
    " RETURNING w.ordinal, w.line_start, w.line_end",
    ("text", "int4[]"),
)
ADD_BOUNDARIES = Statement(
    "INSERT INTO tq.boundary (document_id, line_no, window_ordinal, window_start, window_end, title, level)"
    " SELECT $1::uuid, u.line_no, u.window_ordinal, u.window_start, u.window_end, u.title, u.level"
    " FROM unnest($2::int[], $3::int[], $4::int[], $5::int[], $6::text[], $7::int[])"
    " AS u (line_no, window_ordinal, window_start, window_end, title, level)",
    ("text", "int4[]", "int4[]", "int4[]", "int4[]", "text[]", "int4[]"),
)
UNMARKED = Statement(
    "SELECT EXISTS (SELECT FROM tq.provisional_window AS w"
    " WHERE w.document_id = $1::uuid AND NOT w.marked) AS any_left",
    ("text",),
)

# ---------------------------------------------------------------- cut and build

# A line as two numbers: its length, and the flags of tq.ingest.cut. $4 is tq.ingest.windows.NOTHING.
CUT_LINES = Statement(
    "SELECT array_agg(length(l.text) ORDER BY l.line_no) AS chars, array_agg("
    "CASE WHEN l.kind = 'furniture' OR btrim(l.text, $4) = '' THEN 1 ELSE 0 END"
    r" | CASE WHEN right(rtrim(l.text, E' \t\"”’»)]'), 1) IN ('.', '!', '?', '…', '。', '！', '？', '؟', '।', ':', ';')"
    " THEN 2 ELSE 0 END"
    " | CASE l.kind WHEN 'heading' THEN 4 WHEN 'table' THEN 8 WHEN 'code' THEN 16 WHEN 'furniture' THEN 32 ELSE 0 END"
    " ORDER BY l.line_no) AS flags"
    " FROM tq.line AS l WHERE l.document_id = $1::uuid AND l.line_no BETWEEN $2 AND $3",
    ("text", "int4", "int4", "text"),
)
BOUNDARIES = Statement(
    "SELECT b.line_no, b.title, b.level FROM tq.boundary AS b"
    " WHERE b.document_id = $1::uuid AND (NOT $2 OR b.level IS NOT NULL) ORDER BY b.line_no",
    ("text", "bool"),
)
ANY_NODES = Statement(
    "SELECT EXISTS (SELECT FROM tq.node AS n WHERE n.document_id = $1::uuid) AS any_left", ("text",)
)
ADD_LEAVES = Statement(
    "INSERT INTO tq.node (document_id, id, is_leaf, line_start, line_end, title, level, kind, token_count, summarised)"
    " SELECT $1::uuid, u.id::uuid, TRUE, u.line_start, u.line_end, u.title, u.level, u.kind, u.tokens, u.summarised"
    " FROM unnest($2::text[], $3::int[], $4::int[], $5::text[], $6::int[], $7::text[], $8::int[], $9::bool[])"
    " AS u (id, line_start, line_end, title, level, kind, tokens, summarised)",
    ("text", "text[]", "int4[]", "int4[]", "text[]", "int4[]", "text[]", "int4[]", "bool[]"),
)
REFRESH_STATISTICS = Statement("SELECT tq_private.refresh_statistics()")
LEAVES = Statement(
    "SELECT n.id::text AS id, n.line_start, n.line_end, n.title, n.level, n.kind FROM tq.node AS n"
    " WHERE n.document_id = $1::uuid AND n.is_leaf ORDER BY n.line_start",
    ("text",),
)
BUILD_TREE = Statement(
    "SELECT tq_private.build_tree($1::uuid, $2::uuid[], $3::uuid[], $4::text[], $5::int[], $6::text[], $7::uuid[],"
    " $8::uuid[]) AS written",
    ("text", "text[]", "text[]", "text[]", "int4[]", "text[]", "text[]", "text[]"),
)
LEAVES_WITH_BULLETS = Statement(
    "SELECT DISTINCT b.node_id::text AS id FROM tq.bullet AS b WHERE b.document_id = $1::uuid", ("text",)
)
SET_EMPTY = Statement(
    "UPDATE tq.node AS n SET summarised = TRUE WHERE n.document_id = $1::uuid AND n.id = ANY ($2::uuid[])",
    ("text", "text[]"),
)

# ---------------------------------------------------------------- summarise and roll up

NODES = Statement(
    "SELECT n.id::text AS id, n.line_start, n.line_end, n.title, n.is_leaf, n.summarised FROM tq.node AS n"
    " WHERE n.document_id = $1::uuid AND n.id = ANY ($2::uuid[])",
    ("text", "text[]"),
)
# Step by step from parents to children to bullets, whatever the statistics say: tables that have just grown have none,
# and a join would be planned for a handful of rows.
CHILD_BULLETS = Statement(
    "SELECT p.id::text AS parent, b.text, b.line_start, b.line_end FROM unnest($2::uuid[]) AS p (id)"
    " CROSS JOIN LATERAL (SELECT n.id, n.line_start FROM tq.node AS n WHERE n.target_node_id = p.id OFFSET 0) AS n"
    " CROSS JOIN LATERAL (SELECT b.text, b.line_start, b.line_end, b.ordinal FROM tq.bullet AS b"
    " WHERE b.document_id = $1::uuid AND b.node_id = n.id OFFSET 0) AS b"
    " ORDER BY p.id, n.line_start, b.ordinal",
    ("text", "text[]"),
)
SET_SUMMARISED = Statement(
    "UPDATE tq.node AS n SET summarised = TRUE, title = coalesce(n.title, u.title),"
    " token_count = CASE WHEN n.is_leaf THEN n.token_count ELSE u.tokens END"
    " FROM unnest($2::uuid[], $3::text[], $4::int[]) AS u (id, title, tokens)"
    " WHERE n.document_id = $1::uuid AND n.id = u.id AND NOT n.summarised RETURNING n.id::text AS id",
    ("text", "text[]", "text[]", "int4[]"),
)
ADD_BULLETS = Statement(
    "INSERT INTO tq.bullet (document_id, node_id, ordinal, text, line_start, line_end, fallback)"
    " SELECT $1::uuid, u.node_id, u.ordinal, u.text, u.line_start, u.line_end, u.fallback"
    " FROM unnest($2::uuid[], $3::int[], $4::text[], $5::int[], $6::int[], $7::bool[])"
    " AS u (node_id, ordinal, text, line_start, line_end, fallback)",
    ("text", "text[]", "int4[]", "text[]", "int4[]", "int4[]", "bool[]"),
)
UNSUMMARISED = Statement(
    "SELECT EXISTS (SELECT FROM tq.node AS n WHERE n.document_id = $1::uuid AND NOT n.summarised) AS any_left",
    ("text",),
)
# Nodes without a summary whose children all have one: those above some that have just got theirs, or all.
READY_PARENTS = Statement(
    "SELECT p.id::text AS id FROM tq.node AS p WHERE p.document_id = $1::uuid AND NOT p.summarised AND NOT p.is_leaf"
    " AND ($2::uuid[] IS NULL OR p.id IN"
    " (SELECT n.target_node_id FROM tq.node AS n WHERE n.document_id = $1::uuid AND n.id = ANY ($2::uuid[])))"
    " AND NOT EXISTS (SELECT FROM tq.node AS c WHERE c.target_node_id = p.id AND NOT c.summarised)"
    " ORDER BY p.line_start",
    ("text", "text[]"),
)
