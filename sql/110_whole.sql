-- The guard: whatever a transaction does to lines, windows and nodes, and whoever does it, at COMMIT each document it
-- touched is whole, or the COMMIT fails.
--
-- Statement triggers note in tq_private.touched what a transaction changed, one row a document; one deferred constraint
-- trigger on that table verifies the document at COMMIT. Row-level triggers would be quadratic. All fire ALWAYS, so
-- session_replication_role = replica changes nothing; the foreign keys' own triggers are set so as well.

CREATE OR REPLACE FUNCTION tq_private.touch() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changed uuid[];
BEGIN
    IF TG_TABLE_NAME = 'line' AND TG_OP = 'INSERT' THEN
        -- Lines below the new ones were verified before: the check begins at the first new one.
        INSERT INTO tq_private.touched AS t (document_id, xid, first_new_line, lines, windows, nodes)
        SELECT document_id, pg_current_xact_id(), min(line_no), FALSE, FALSE, FALSE FROM new_rows GROUP BY document_id
        ON CONFLICT (document_id, xid) DO UPDATE SET first_new_line = least(t.first_new_line, excluded.first_new_line)
        WHERE t.first_new_line IS NULL OR excluded.first_new_line < t.first_new_line;
        RETURN NULL;
    END IF;

    IF TG_OP = 'INSERT' THEN
        changed := ARRAY(SELECT DISTINCT document_id FROM new_rows);
    ELSIF TG_OP = 'DELETE' THEN
        changed := ARRAY(SELECT DISTINCT document_id FROM old_rows);
    -- An update counts where it changes the structure: a summary written or a title changed costs no check.
    ELSIF TG_TABLE_NAME = 'line' THEN
        changed := ARRAY(SELECT DISTINCT document_id FROM (
            (SELECT document_id, line_no FROM new_rows EXCEPT SELECT document_id, line_no FROM old_rows)
            UNION ALL
            (SELECT document_id, line_no FROM old_rows EXCEPT SELECT document_id, line_no FROM new_rows)) AS x);
    ELSIF TG_TABLE_NAME = 'node' THEN
        changed := ARRAY(SELECT DISTINCT document_id FROM (
            (SELECT document_id, id, target_node_id, depth, is_leaf, line_start, line_end FROM new_rows
             EXCEPT SELECT document_id, id, target_node_id, depth, is_leaf, line_start, line_end FROM old_rows)
            UNION ALL
            (SELECT document_id, id, target_node_id, depth, is_leaf, line_start, line_end FROM old_rows
             EXCEPT SELECT document_id, id, target_node_id, depth, is_leaf, line_start, line_end FROM new_rows)) AS x);
    ELSE
        changed := ARRAY(SELECT DISTINCT document_id FROM (
            (SELECT document_id, ordinal, line_start, line_end FROM new_rows
             EXCEPT SELECT document_id, ordinal, line_start, line_end FROM old_rows)
            UNION ALL
            (SELECT document_id, ordinal, line_start, line_end FROM old_rows
             EXCEPT SELECT document_id, ordinal, line_start, line_end FROM new_rows)) AS x);
    END IF;
    INSERT INTO tq_private.touched AS t (document_id, xid, lines, windows, nodes)
    SELECT doc, pg_current_xact_id(), TG_TABLE_NAME = 'line', TG_TABLE_NAME = 'provisional_window', TG_TABLE_NAME = 'node'
    FROM unnest(changed) AS doc
    ON CONFLICT (document_id, xid) DO UPDATE
    SET lines = t.lines OR excluded.lines, windows = t.windows OR excluded.windows, nodes = t.nodes OR excluded.nodes
    WHERE (excluded.lines AND NOT t.lines) OR (excluded.windows AND NOT t.windows) OR (excluded.nodes AND NOT t.nodes);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION tq_private.touch_document() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- A document that claims to be ready is looked at whole, whatever else its transaction touched.
    INSERT INTO tq_private.touched AS t (document_id, xid, lines, windows, nodes)
    VALUES (NEW.id, pg_current_xact_id(), NEW.status = 'ready', TRUE, TRUE)
    ON CONFLICT (document_id, xid) DO UPDATE SET lines = t.lines OR excluded.lines, windows = TRUE, nodes = TRUE;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION tq_private.verify_nodes(doc uuid, doc_status tq.document_status, lines int) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
-- Without nested loops every plan here is linear, even on tables that were never analysed.
SET enable_nestloop = off SET work_mem = '64MB' AS $$
DECLARE
    r record;
BEGIN
    SELECT count(*) AS found, count(*) FILTER (WHERE target_node_id IS NULL) AS roots,
           count(*) FILTER (WHERE is_leaf) AS leaves,
           sum(line_end::bigint - line_start + 1) FILTER (WHERE is_leaf) AS covered,
           range_agg(int4range(line_start, line_end, '[]')) FILTER (WHERE is_leaf) AS cover
    INTO r
    FROM tq.node WHERE document_id = doc;
    IF r.found > 0 AND (lines IS NULL OR lines = 0
                        OR r.covered IS DISTINCT FROM lines::bigint
                        OR r.cover IS DISTINCT FROM int4multirange(int4range(1, lines, '[]'))) THEN
        RAISE EXCEPTION USING ERRCODE = '23514', SCHEMA = 'tq', TABLE = 'node', CONSTRAINT = 'node_leaves_cover',
            MESSAGE = 'the leaves do not cover the document',
            DETAIL = format('Document %s: %s leaves cover %s, the lines are [1,%s].', doc, r.leaves,
                            left(coalesce(r.cover::text, 'nothing'), 200), coalesce(lines::text, 'unknown')),
            HINT = 'Every line is in exactly one leaf; set line_count before the leaves.';
    END IF;
    IF doc_status = 'ready' AND (lines IS NULL OR r.roots <> 1) THEN
        RAISE EXCEPTION USING ERRCODE = '23514', SCHEMA = 'tq', TABLE = 'node', CONSTRAINT = 'node_one_root',
            MESSAGE = 'a ready document has exactly one root',
            DETAIL = format('Document %s: %s roots.', doc, r.roots),
            HINT = 'One node alone has no target_node_id.';
    END IF;
    IF r.found > 1 OR doc_status = 'ready' THEN
        SELECT p.id, p.line_start, p.line_end, p.is_leaf, p.depth, c.children, c.first, c.last INTO r
        FROM tq.node AS p
        LEFT JOIN (
            SELECT target_node_id AS id, count(*) AS children, min(line_start) AS first, max(line_end) AS last,
                   sum(line_end::bigint - line_start + 1) AS covered, min(depth) AS lowest, max(depth) AS highest,
                   bool_or(depth IS NULL) AS unknown
            FROM tq.node WHERE document_id = doc AND target_node_id IS NOT NULL GROUP BY target_node_id) AS c ON c.id = p.id
        WHERE p.document_id = doc
            AND (p.is_leaf <> (c.id IS NULL)
                 OR c.first <> p.line_start OR c.last <> p.line_end OR c.covered <> p.line_end::bigint - p.line_start + 1
                 OR (doc_status = 'ready'
                     AND (p.depth IS NULL OR (p.target_node_id IS NULL) <> (p.depth = 0)
                          OR c.unknown OR c.lowest <> p.depth + 1 OR c.highest <> p.depth + 1)))
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION USING ERRCODE = '23514', SCHEMA = 'tq', TABLE = 'node', CONSTRAINT = 'node_children_tile_parent',
                MESSAGE = 'children do not tile their parent',
                DETAIL = format('Document %s, node %s (%s, depth %s, lines %s to %s): %s children over lines %s to %s.',
                                doc, r.id, CASE WHEN r.is_leaf THEN 'leaf' ELSE 'no leaf' END, coalesce(r.depth::text, 'unknown'),
                                r.line_start, r.line_end, coalesce(r.children, 0), coalesce(r.first::text, '-'),
                                coalesce(r.last::text, '-')),
                HINT = 'tq_private.build_tree derives ranges and depth from the leaves.';
        END IF;
    END IF;
    SELECT b.node_id, b.ordinal, b.line_start, b.line_end INTO r
    FROM tq.bullet AS b
    JOIN tq.node AS n ON n.id = b.node_id
    WHERE b.document_id = doc AND n.document_id = doc AND (b.line_start < n.line_start OR b.line_end > n.line_end)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = '23514', SCHEMA = 'tq', TABLE = 'bullet', CONSTRAINT = 'bullet_inside_node',
            MESSAGE = 'a bullet lies outside its node',
            DETAIL = format('Document %s, node %s, bullet %s: lines %s to %s.', doc, r.node_id, r.ordinal, r.line_start, r.line_end),
            HINT = 'Delete a node''s bullets before its range changes.';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION tq_private.verify_document(
    doc uuid, first_new_line int, all_lines boolean, windows boolean, nodes boolean) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off AS $$
DECLARE
    d record;
    last_line int;
    counted bigint;
    below int := 0;
    r record;
BEGIN
    -- The update comes first: of two transactions that touch one document the second waits here and then sees, or, with
    -- a snapshot of its own, fails to serialise. Without it each could be right alone and both wrong together.
    UPDATE tq.document SET revision = revision + 1 WHERE id = doc RETURNING status, line_count INTO d;
    IF NOT FOUND THEN
        RETURN;  -- removed by the same transaction
    END IF;

    SELECT coalesce(max(line_no), 0) INTO last_line FROM tq.line WHERE document_id = doc;
    IF all_lines OR first_new_line IS NOT NULL THEN
        IF NOT all_lines THEN
            below := first_new_line - 1;
        END IF;
        SELECT count(*) INTO counted FROM tq.line WHERE document_id = doc AND line_no > below;
        IF counted <> last_line - below
            OR (below > 0 AND NOT EXISTS (SELECT FROM tq.line WHERE document_id = doc AND line_no = below)) THEN
            RAISE EXCEPTION USING ERRCODE = '23514', SCHEMA = 'tq', TABLE = 'line', CONSTRAINT = 'line_numbers_gapless',
                MESSAGE = 'line numbers have a gap',
                DETAIL = format('Document %s: %s lines above line %s, the last is numbered %s.', doc, counted, below, last_line),
                HINT = 'Number the lines of a document 1, 2, 3 and so on.';
        END IF;
    END IF;
    IF d.line_count IS NOT NULL AND d.line_count <> last_line THEN
        RAISE EXCEPTION USING ERRCODE = '23514', SCHEMA = 'tq', TABLE = 'document', CONSTRAINT = 'document_line_count_true',
            MESSAGE = 'line_count is not the number of lines',
            DETAIL = format('Document %s: line_count %s, lines %s.', doc, d.line_count, last_line),
            HINT = 'Change lines and line_count in one transaction.';
    END IF;

    IF nodes THEN
        PERFORM tq_private.verify_nodes(doc, d.status, d.line_count);
    END IF;

    IF windows THEN
        SELECT count(*) AS found, max(line_end) AS last, max(ordinal) AS highest,
               coalesce(bool_and(line_start = before + 1), TRUE) AS chained
        INTO r
        FROM (SELECT line_start, line_end, ordinal, lag(line_end, 1, 0) OVER (ORDER BY ordinal) AS before
              FROM tq.provisional_window WHERE document_id = doc) AS w;
        IF r.found > 0 AND (NOT r.chained OR r.highest <> r.found OR r.last > last_line
                            OR (d.line_count IS NOT NULL AND r.last <> d.line_count)) THEN
            RAISE EXCEPTION USING ERRCODE = '23514', SCHEMA = 'tq', TABLE = 'provisional_window',
                CONSTRAINT = 'provisional_windows_cover',
                MESSAGE = 'provisional windows do not follow one another over the whole document',
                DETAIL = format('Document %s: %s windows, the last ends at line %s of %s.', doc, r.found, r.last, last_line),
                HINT = 'Window k begins at the line after window k - 1.';
        END IF;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION tq_private.check_touched() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    t tq_private.touched;
BEGIN
    -- NEW is the row as first written; later statements of the transaction may have added to it.
    DELETE FROM tq_private.touched WHERE document_id = NEW.document_id AND xid = NEW.xid RETURNING * INTO t;
    IF FOUND THEN
        PERFORM tq_private.verify_document(t.document_id, t.first_new_line, t.lines, t.windows, t.nodes);
    ELSE
        -- The note is gone, by whatever hand: then all of the document is looked at.
        PERFORM tq_private.verify_document(NEW.document_id, NULL, TRUE, TRUE, TRUE);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION tq_private.refuse_by_hand() RETURNS trigger
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- The notes are written by triggers on lines, windows and nodes, and deleted by the check at COMMIT: never by a
    -- statement of somebody's own, which stands at depth 1.
    IF pg_trigger_depth() < 2 THEN
        RAISE EXCEPTION USING ERRCODE = '55000', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME,
            MESSAGE = format('%s cannot be changed by hand', TG_TABLE_NAME),
            DETAIL = 'It says which documents are checked at COMMIT.',
            HINT = 'Change lines, windows and nodes; what they need is noted by itself.';
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION tq_private.check_bullets() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
-- The plan is made once, perhaps for three rows; this one is right for thousands too.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    r record;
BEGIN
    -- The nodes' ranges must stay until COMMIT; a key-share lock, as the foreign key takes, would let them change.
    PERFORM FROM tq.node AS n
    WHERE (n.document_id, n.id) IN (SELECT document_id, node_id FROM new_rows)
    FOR SHARE OF n;
    SELECT b.document_id, b.node_id, b.ordinal, b.line_start, b.line_end, n.line_start AS first, n.line_end AS last INTO r
    FROM new_rows AS b
    JOIN tq.node AS n ON n.document_id = b.document_id AND n.id = b.node_id
    WHERE b.line_start < n.line_start OR b.line_end > n.line_end
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = '23514', SCHEMA = 'tq', TABLE = 'bullet', CONSTRAINT = 'bullet_inside_node',
            MESSAGE = 'a bullet lies outside its node',
            DETAIL = format('Document %s, node %s (lines %s to %s), bullet %s: lines %s to %s.', r.document_id, r.node_id,
                            r.first, r.last, r.ordinal, r.line_start, r.line_end),
            HINT = 'A bullet names lines of its own node.';
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION tq_private.refuse_truncate() RETURNS trigger
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '55000', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME,
        MESSAGE = format('%s cannot be truncated', TG_TABLE_NAME),
        DETAIL = 'TRUNCATE passes by the check that every document is whole.',
        HINT = 'Use tq.remove, or DELETE.';
END $$;

DO $$
DECLARE
    t text;
    r record;
BEGIN
    FOREACH t IN ARRAY ARRAY['line', 'node', 'provisional_window'] LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER %1$s_touch_insert AFTER INSERT ON tq.%1$s REFERENCING NEW TABLE AS new_rows
                        FOR EACH STATEMENT EXECUTE FUNCTION tq_private.touch()', t);
        EXECUTE format('CREATE OR REPLACE TRIGGER %1$s_touch_update AFTER UPDATE ON tq.%1$s
                        REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows
                        FOR EACH STATEMENT EXECUTE FUNCTION tq_private.touch()', t);
        EXECUTE format('CREATE OR REPLACE TRIGGER %1$s_touch_delete AFTER DELETE ON tq.%1$s REFERENCING OLD TABLE AS old_rows
                        FOR EACH STATEMENT EXECUTE FUNCTION tq_private.touch()', t);
    END LOOP;
    FOREACH t IN ARRAY ARRAY['document', 'line', 'node', 'provisional_window'] LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER %1$s_no_truncate BEFORE TRUNCATE ON tq.%1$s
                        FOR EACH STATEMENT EXECUTE FUNCTION tq_private.refuse_truncate()', t);
    END LOOP;

    CREATE OR REPLACE TRIGGER touched_not_by_hand BEFORE UPDATE OR DELETE OR TRUNCATE ON tq_private.touched
        FOR EACH STATEMENT EXECUTE FUNCTION tq_private.refuse_by_hand();

    CREATE OR REPLACE TRIGGER document_touch_insert AFTER INSERT ON tq.document FOR EACH ROW
        WHEN (NEW.status = 'ready' OR NEW.line_count IS NOT NULL) EXECUTE FUNCTION tq_private.touch_document();
    CREATE OR REPLACE TRIGGER document_touch_update AFTER UPDATE ON tq.document FOR EACH ROW
        WHEN (NEW.line_count IS DISTINCT FROM OLD.line_count OR (NEW.status = 'ready' AND OLD.status <> 'ready'))
        EXECUTE FUNCTION tq_private.touch_document();
    CREATE OR REPLACE TRIGGER bullet_check_insert AFTER INSERT ON tq.bullet REFERENCING NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION tq_private.check_bullets();
    CREATE OR REPLACE TRIGGER bullet_check_update AFTER UPDATE ON tq.bullet REFERENCING NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION tq_private.check_bullets();
    -- A constraint trigger cannot be replaced: what it does is in its function, and a change of the trigger itself is a
    -- DROP in a migration.
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'tq_private.touched'::regclass AND tgname = 'document_whole') THEN
        CREATE CONSTRAINT TRIGGER document_whole AFTER INSERT ON tq_private.touched DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION tq_private.check_touched();
    END IF;

    -- The server's own triggers behind foreign keys and deferred exclusions too. A dump does not carry this: after a
    -- restore `tq migrate` sets it again.
    FOR r IN
        SELECT c.oid::regclass AS relation, g.tgname
        FROM pg_trigger AS g
        JOIN pg_class AS c ON c.oid = g.tgrelid
        JOIN pg_namespace AS s ON s.oid = c.relnamespace
        WHERE s.nspname IN ('tq', 'tq_private') AND g.tgenabled <> 'A'
        ORDER BY 1, 2
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', r.relation, r.tgname);
    END LOOP;
END $$;
