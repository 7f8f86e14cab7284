"""The statements about bytes: where a blob is, a slice of it, moving it."""

from __future__ import annotations

from tq.database.connection import Statement

PLACE = Statement(
    "SELECT coalesce(b.store, 'database') AS place, coalesce(b.bytes, octet_length(b.content)) AS bytes"
    " FROM tq.blob AS b WHERE b.sha256 = decode($1, 'hex')",
    ("text",),
)
SLICE = Statement(
    "SELECT substring(b.content FROM $2 FOR $3) AS content FROM tq.blob AS b WHERE b.sha256 = decode($1, 'hex')",
    ("text", "int4", "int4"),
)
SET_PLACE = Statement(
    "UPDATE tq.blob AS b SET content = NULL, store = $2, bytes = $3 WHERE b.sha256 = decode($1, 'hex')"
    " RETURNING $2 AS place",
    ("text", "text", "int8"),
)
SET_CONTENT = Statement(
    "UPDATE tq.blob AS b SET content = $2, store = NULL, bytes = NULL WHERE b.sha256 = decode($1, 'hex')"
    " RETURNING 'database' AS place",
    ("text", "bytea"),
)
LOCK = Statement("SELECT pg_try_advisory_lock(hashtextextended('tq.blob:' || $1, 0)) AS got", ("text",))
UNLOCK = Statement("SELECT pg_advisory_unlock(hashtextextended('tq.blob:' || $1, 0)) AS got", ("text",))
LOCK_IN_TRANSACTION = Statement(
    "SELECT pg_try_advisory_xact_lock(hashtextextended('tq.blob:' || $1, 0)) AS got", ("text",)
)
DIGEST = Statement(
    "SELECT encode(d.sha256, 'hex') AS digest FROM tq.document AS d WHERE d.id = $1::uuid", ("text",)
)
WANTED = Statement("SELECT s.value #>> '{}' AS place FROM tq.setting AS s WHERE s.name = 'blob_store'")
# A copy to be deleted once what moved the bytes, or deleted their row, is committed.
SEND_DROP = Statement(
    "SELECT pgmq.send('tq_convert'::text, jsonb_build_object('step', 'drop', 'sha256', $1, 'store', $2)) AS id",
    ("text", "text"),
)
# For functions that run as the tables' owner: the document, if whoever asks may see it.
SEEN = Statement(
    "SELECT encode(d.sha256, 'hex') AS digest, d.media_type FROM tq.document AS d WHERE d.id = $1::uuid"
    " AND (d.owner = tq_private.asker() OR pg_has_role(tq_private.asker(), 'tq_reader', 'MEMBER')"
    " OR pg_has_role(tq_private.asker(), 'tq_worker', 'MEMBER') OR pg_has_role(tq_private.asker(), 'tq_admin', 'MEMBER'))",
    ("text",),
)
DROP_MESSAGE = Statement(
    "SELECT m.message ->> 'sha256' AS digest, m.message ->> 'store' AS place FROM pgmq.q_tq_convert AS m"
    " WHERE m.msg_id = $1 AND m.message ->> 'step' = 'drop'",
    ("int8",),
)
