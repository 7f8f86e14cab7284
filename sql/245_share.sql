-- What has a share of every prompt, a quarter: rules, possible queries, shots. A row that would exceed it is refused, and
-- so is a row of tq.model that cannot work.

CREATE OR REPLACE TRIGGER model_values_fit BEFORE INSERT OR UPDATE ON tq.model
FOR EACH ROW EXECUTE FUNCTION tq_private.check_values();
ALTER TABLE tq.model ENABLE ALWAYS TRIGGER model_values_fit;

DO $$
DECLARE
    hint record;
BEGIN
    FOR hint IN SELECT * FROM (VALUES
        ('name', 'A name has at least one character.'),
        ('driver', 'extractive, anthropic, or openai.'),
        ('input_tokens', 'At least 1024.'),
        ('output_tokens', 'At least 256.'),
        ('chars_per_token', '0.5 to 16; for most languages 3 to 4.'),
        ('shown_chars_per_token', 'Replies set it: NULL, or 0.5 to chars_per_token.'),
        ('windows_per_call', '3: a window is read with the one before and the one after it.'),
        ('summary_tokens', '64 to output_tokens.'),
        ('concurrency', '1 to 1000.'),
        ('timeout_seconds', '1 to 3600.'),
        ('delay_ms', '0 to 60000.'),
        ('input_price', 'At least 0, of a million tokens.'),
        ('output_price', 'At least 0, of a million tokens.'),
        ('cached_price', 'At least 0, of a million tokens.'),
        ('batch_share', '0 to 1; 0.5 for half the price.'),
        ('base_url', 'Such as https://host/v1, without a user, a password or a query.'),
        ('remote_name', 'What the server calls the model.'),
        ('ingest_mode', 'calls; or batch, with the driver anthropic.'),
        ('input_room', 'input_tokens times chars_per_token is at least 12000: a quarter of it is for rules, possible queries and'
            ' shots, the rest for three windows.'),
        ('output_room', 'A summary has to fit the output with its frame: raise output_tokens, or lower summary_tokens.')
    ) AS v (guard, said)
    LOOP
        EXECUTE format('COMMENT ON CONSTRAINT %I ON tq.model IS %L', 'model_' || hint.guard || '_check', hint.said);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION tq_private.refuse_share(subject text, whose text, chars bigint, reader tq.model) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'TQ021', MESSAGE = format('%s do not fit a prompt', subject),
        DETAIL = format('%s have %s characters; %s fit the share of a prompt that the model %s leaves for them.',
                        whose, chars, tq_private.share_of(reader), reader.name),
        HINT = 'Give fewer or shorter ones, or name a model with a larger input.';
END $$;
COMMENT ON FUNCTION tq_private.refuse_share IS 'TQ021: rows that are shown in prompts exceed their share.';

CREATE OR REPLACE FUNCTION tq_private.check_queries() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    reader constant tq.model := tq_private.usual_reader();
    over record;
BEGIN
    SELECT d.name, sum(length(q.question) + 8) AS chars INTO over
    FROM (SELECT DISTINCT w.document_id FROM written AS w) AS w
    JOIN tq.document AS d ON d.id = w.document_id
    JOIN tq.possible_query AS q ON q.document_id = w.document_id
    GROUP BY d.id HAVING sum(length(q.question) + 8) > tq_private.share_of(reader) LIMIT 1;
    IF FOUND THEN
        PERFORM tq_private.refuse_share('the possible queries', 'Those of ' || tq_private.shown(over.name), over.chars, reader);
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION tq_private.check_queries IS 'TQ021 where a document''s possible queries exceed their share of a prompt.';

CREATE OR REPLACE TRIGGER possible_queries_fit AFTER INSERT ON tq.possible_query REFERENCING NEW TABLE AS written
FOR EACH STATEMENT EXECUTE FUNCTION tq_private.check_queries();
CREATE OR REPLACE TRIGGER possible_queries_still_fit AFTER UPDATE ON tq.possible_query REFERENCING NEW TABLE AS written
FOR EACH STATEMENT EXECUTE FUNCTION tq_private.check_queries();
ALTER TABLE tq.possible_query ENABLE ALWAYS TRIGGER possible_queries_fit;
ALTER TABLE tq.possible_query ENABLE ALWAYS TRIGGER possible_queries_still_fit;

CREATE OR REPLACE TRIGGER shot_values_fit BEFORE INSERT OR UPDATE ON tq.shot
FOR EACH ROW EXECUTE FUNCTION tq_private.check_values();
ALTER TABLE tq.shot ENABLE ALWAYS TRIGGER shot_values_fit;
COMMENT ON CONSTRAINT shot_name_check ON tq.shot IS 'A name has 1 to 200 characters.';
COMMENT ON CONSTRAINT shot_node_check ON tq.shot IS 'The node as the model sees it.';
COMMENT ON CONSTRAINT shot_choice_check ON tq.shot IS 'ANSWER, DESCEND or NOT_HERE.';
COMMENT ON CONSTRAINT shot_open_check ON tq.shot IS 'Letters of children, such as {A,B}.';
COMMENT ON CONSTRAINT shot_reason_check ON tq.shot IS 'Say in a sentence why the choice is right.';
COMMENT ON CONSTRAINT shot_opens_check ON tq.shot IS 'DESCEND opens children, the other choices none.';

-- The frame of each line counts: tq.model.prompts.shot, with a test between them.
CREATE OR REPLACE FUNCTION tq_private.shot_chars(shot tq.shot) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN length(shot.node) + 8 * (1 + regexp_count(shot.node, E'\n'))
    + length(shot.reason) + 3 * cardinality(shot.open) + 32;
COMMENT ON FUNCTION tq_private.shot_chars IS 'Characters that a shot takes in a prompt, at most.';

CREATE OR REPLACE FUNCTION tq_private.check_shots() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    reader constant tq.model := tq_private.usual_reader();
    taken constant bigint := (SELECT sum(tq_private.shot_chars(s)) FROM tq.shot AS s);
BEGIN
    IF taken > tq_private.share_of(reader) THEN
        PERFORM tq_private.refuse_share('the shots', 'All of them', taken, reader);
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION tq_private.check_shots IS 'TQ021 where the shots exceed their share of a prompt.';

CREATE OR REPLACE TRIGGER shots_fit AFTER INSERT OR UPDATE ON tq.shot
FOR EACH STATEMENT EXECUTE FUNCTION tq_private.check_shots();
ALTER TABLE tq.shot ENABLE ALWAYS TRIGGER shots_fit;

-- Another model shows anew how many characters its tokens hold.
CREATE OR REPLACE FUNCTION tq_private.model_changed() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    IF (NEW.driver, NEW.base_url, NEW.remote_name, NEW.chars_per_token)
        IS DISTINCT FROM (OLD.driver, OLD.base_url, OLD.remote_name, OLD.chars_per_token) THEN
        NEW.shown_chars_per_token := NULL;
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION tq_private.model_changed IS 'Forget what replies of another model have shown.';

CREATE OR REPLACE TRIGGER model_anew BEFORE UPDATE ON tq.model
FOR EACH ROW EXECUTE FUNCTION tq_private.model_changed();
ALTER TABLE tq.model ENABLE ALWAYS TRIGGER model_anew;
