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
