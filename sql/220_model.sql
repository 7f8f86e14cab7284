-- Models: places for calls and pauses shared by all sessions, and stored replies.

CREATE OR REPLACE FUNCTION tq_private.take_places(
    slot int, concurrency int, held int[], wanted int, OUT pause double precision, OUT places int[])
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    until bigint;
BEGIN
    EXECUTE format('SELECT last_value FROM tq_private.pause_%s', slot % 32) INTO until;
    pause := greatest(0, until / 1000.0 - extract(epoch FROM clock_timestamp()));
    places := '{}';
    IF pause = 0 THEN
        -- A session would get its own places again: they are left out before any is tried.
        SELECT coalesce(array_agg(s.place), '{}') INTO places
        FROM (
            SELECT f.place
            FROM (SELECT g AS place FROM generate_series(1, concurrency) AS g WHERE g <> ALL (held) OFFSET 0) AS f
            WHERE pg_try_advisory_lock(1953591657, take_places.slot * 1024 + f.place)
            LIMIT wanted
        ) AS s;
    END IF;
END $$;
COMMENT ON FUNCTION tq_private.take_places IS
'Places for calls of a model, as advisory locks of this session, or the seconds for which it pauses.';

CREATE OR REPLACE FUNCTION tq_private.pause_model(slot int, seconds double precision) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    wanted constant bigint := (1000 * (extract(epoch FROM clock_timestamp()) + least(greatest(seconds, 0), 3600)))::bigint;
    until bigint;
BEGIN
    -- A read-only session honours a pause and cannot publish one.
    IF current_setting('transaction_read_only')::boolean THEN
        RETURN;
    END IF;
    EXECUTE format('SELECT last_value FROM tq_private.pause_%s', slot % 32) INTO until;
    IF wanted > until THEN
        PERFORM setval(format('tq_private.pause_%s', slot % 32)::regclass, wanted);
    END IF;
END $$;
COMMENT ON FUNCTION tq_private.pause_model IS 'Let no session call a model for so long; at most an hour.';

CREATE OR REPLACE FUNCTION tq_private.recall_reply(fingerprint text) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp
RETURN (
    SELECT r.reply FROM tq_private.query_reply AS r JOIN tq.query AS q ON q.id = r.query_id
    WHERE r.fingerprint = recall_reply.fingerprint AND r.accepted AND q.asked_by = tq_private.asker()
    ORDER BY q.asked_at DESC, q.id LIMIT 1);
COMMENT ON FUNCTION tq_private.recall_reply IS 'The reply that an earlier question of the same asker got to the very same request.';

CREATE OR REPLACE FUNCTION tq_private.replies_of(query uuid)
RETURNS TABLE (fingerprint text, reply jsonb, accepted boolean)
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
    SELECT r.fingerprint, r.reply, r.accepted FROM tq_private.query_reply AS r JOIN tq.query AS q ON q.id = r.query_id
    WHERE r.query_id = replies_of.query
        AND (q.asked_by = tq_private.asker() OR pg_has_role(tq_private.asker(), 'tq_admin', 'MEMBER'))
$$;
COMMENT ON FUNCTION tq_private.replies_of IS 'All replies that a question got, for its asker.';

CREATE OR REPLACE FUNCTION tq_private.ingest_replies(fingerprints text[]) RETURNS TABLE (fingerprint text, reply jsonb)
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
    SELECT r.fingerprint, r.reply FROM tq_private.reply AS r WHERE r.fingerprint = ANY (fingerprints)
$$;
COMMENT ON FUNCTION tq_private.ingest_replies IS 'Stored replies of ingest.';

CREATE OR REPLACE FUNCTION tq_private.keep_replies(fingerprints text[], purposes text[], replies text[]) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
    INSERT INTO tq_private.reply (fingerprint, purpose, reply)
    SELECT u.fingerprint, u.purpose, u.reply::jsonb
    FROM unnest(fingerprints, purposes, replies) AS u (fingerprint, purpose, reply)
    ON CONFLICT (fingerprint) DO NOTHING
$$;
COMMENT ON FUNCTION tq_private.keep_replies IS 'Keep replies of ingest, so that a step that is done again costs nothing.';

CREATE OR REPLACE FUNCTION tq_private.drop_old_replies() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
    DELETE FROM tq_private.reply AS r
    WHERE r.kept_at < now() - (SELECT (s.value #>> '{}')::int * interval '1 day' FROM tq.setting AS s WHERE s.name = 'reply_days')
$$;
COMMENT ON FUNCTION tq_private.drop_old_replies IS 'Drop replies of ingest that are older than the setting reply_days.';
-- The figure moves by steps of a fifth, so that sizes, and with them prompts and stored replies, seldom change. It falls at
-- once, and rises by one step where a reply shows two more; it never exceeds what the row says. Below 12000 characters of
-- input the prompts' own words would not fit.
CREATE OR REPLACE FUNCTION tq_private.correct_model(model text, shown double precision, steps int DEFAULT 100) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    step constant double precision := 2 ^ 0.25;
    row tq.model;
    figure double precision;
    corrected double precision;
BEGIN
    SELECT m.* INTO row FROM tq.model AS m WHERE m.name = model;
    figure := least(row.chars_per_token, row.shown_chars_per_token);
    IF shown < figure THEN
        corrected := greatest(step ^ floor(ln(greatest(shown, 0.1)) / ln(step)), figure / step ^ steps, 0.5, 12000.0 / row.input_tokens);
    ELSIF shown >= figure * step * step THEN
        corrected := least(figure * step, row.chars_per_token);
    END IF;
    UPDATE tq.model AS m SET shown_chars_per_token = nullif(least(corrected, m.chars_per_token), m.chars_per_token)
    WHERE m.name = model AND corrected IS NOT NULL
        AND m.shown_chars_per_token IS DISTINCT FROM nullif(least(corrected, m.chars_per_token), m.chars_per_token)::real;
END $$;
COMMENT ON FUNCTION tq_private.correct_model IS
'Correct a model''s characters per token by what a reply has shown; down by so many steps at most.';

-- The node prompt's own words, and some more, are not for rows: tq.model.prompts.rules_chars, with a test between them.
CREATE OR REPLACE FUNCTION tq_private.share_of(reader tq.model) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN floor(reader.input_tokens * reader.chars_per_token * 0.25)::int - 1100;
COMMENT ON FUNCTION tq_private.share_of IS 'Characters of rules, possible queries and shots that a prompt of a model has room for.';

-- The model that reads where no strategy names another.
CREATE OR REPLACE FUNCTION tq_private.usual_reader() RETURNS tq.model
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp
RETURN (
    SELECT m FROM tq.model AS m WHERE m.name = (
        SELECT coalesce(max(nullif(s.value #>> '{}', '')) FILTER (WHERE s.name = 'model_read'),
                        max(s.value #>> '{}') FILTER (WHERE s.name = 'model'))
        FROM tq.setting AS s WHERE s.name IN ('model', 'model_read')));
COMMENT ON FUNCTION tq_private.usual_reader IS 'The model of the settings model_read and model.';
