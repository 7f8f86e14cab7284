-- Owner, row-level security and grants of everything; always last. PUBLIC may execute nothing.

-- ---------------------------------------------------------------- owner

DO $$
DECLARE
    r record;
BEGIN
    FOR r IN SELECT n.nspname FROM pg_namespace AS n
             WHERE n.nspname IN ('tq', 'tq_private') AND n.nspowner <> 'tq_owner'::regrole LOOP
        EXECUTE format('ALTER SCHEMA %I OWNER TO tq_owner', r.nspname);
    END LOOP;
    FOR r IN SELECT c.oid::regclass AS name, c.relkind FROM pg_class AS c
             WHERE c.relnamespace IN ('tq'::regnamespace, 'tq_private'::regnamespace) AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
                AND c.relowner <> 'tq_owner'::regrole
                -- a column's own sequence follows its table
                AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                                AND c.relkind = 'S' AND d.deptype IN ('a', 'i')) LOOP
        EXECUTE format('ALTER %s %s OWNER TO tq_owner',
                       CASE r.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
                       r.name);
    END LOOP;
    FOR r IN SELECT t.oid::regtype AS name FROM pg_type AS t
             LEFT JOIN pg_class AS c ON c.oid = t.typrelid
             WHERE t.typnamespace IN ('tq'::regnamespace, 'tq_private'::regnamespace) AND t.typowner <> 'tq_owner'::regrole
                AND (t.typtype IN ('e', 'd', 'r') OR (t.typtype = 'c' AND c.relkind = 'c')) LOOP
        EXECUTE format('ALTER TYPE %s OWNER TO tq_owner', r.name);
    END LOOP;
    FOR r IN SELECT p.oid::regprocedure AS name FROM pg_proc AS p
             WHERE p.pronamespace IN ('tq'::regnamespace, 'tq_private'::regnamespace) AND p.proowner <> 'tq_owner'::regrole LOOP
        EXECUTE format('ALTER ROUTINE %s OWNER TO tq_owner', r.name);
    END LOOP;
END $$;

-- ---------------------------------------------------------------- who sees which rows

-- A document's rows are seen by its owner and by members of tq_reader; a question's by its asker. Workers and
-- administrators see and write all. tq_owner, whom the definer functions run as, is the tables' owner and not bound.
DO $$
DECLARE
    t text;
    r record;
    of_document constant text[] := ARRAY['possible_query', 'line', 'term', 'provisional_window', 'boundary', 'node', 'bullet',
                                         'record_query', 'batch'];
    of_either constant text[] := ARRAY['omission', 'model_call'];
    of_query constant text[] := ARRAY['route', 'read', 'step', 'answer'];
    owned constant text := 'EXISTS (SELECT FROM tq.document AS d WHERE d.id = document_id AND d.owner = current_user)';
    asked constant text := 'EXISTS (SELECT FROM tq.query AS q WHERE q.id = query_id AND q.asked_by = current_user)';
BEGIN
    FOREACH t IN ARRAY ARRAY['document', 'query', 'citation', 'thread', 'pick', 'correction'] || of_document || of_either || of_query LOOP
        IF NOT (SELECT relrowsecurity FROM pg_class WHERE oid = format('tq.%I', t)::regclass) THEN
            EXECUTE format('ALTER TABLE tq.%I ENABLE ROW LEVEL SECURITY', t);
        END IF;
        FOR r IN SELECT policyname FROM pg_policies WHERE schemaname = 'tq' AND tablename = t AND policyname ~ '^tq_' LOOP
            EXECUTE format('DROP POLICY %I ON tq.%I', r.policyname, t);
        END LOOP;
        EXECUTE format('CREATE POLICY tq_all ON tq.%I TO tq_admin USING (TRUE) WITH CHECK (TRUE)', t);
    END LOOP;
    FOREACH t IN ARRAY ARRAY['document'] || of_document || of_either LOOP
        EXECUTE format('CREATE POLICY tq_work ON tq.%I TO tq_worker USING (TRUE) WITH CHECK (TRUE)', t);
    END LOOP;

    CREATE POLICY tq_own ON tq.document FOR SELECT TO PUBLIC USING (owner = current_user);
    CREATE POLICY tq_read ON tq.document FOR SELECT TO tq_reader USING (TRUE);
    FOREACH t IN ARRAY of_document LOOP
        EXECUTE format('CREATE POLICY tq_own ON tq.%I FOR SELECT TO PUBLIC USING (%s)', t, owned);
        EXECUTE format('CREATE POLICY tq_read ON tq.%I FOR SELECT TO tq_reader USING (TRUE)', t);
    END LOOP;
    FOREACH t IN ARRAY of_either LOOP
        EXECUTE format('CREATE POLICY tq_own ON tq.%I FOR SELECT TO PUBLIC USING (query_id IS NULL AND %s)', t, owned);
        EXECUTE format('CREATE POLICY tq_read ON tq.%I FOR SELECT TO tq_reader USING (query_id IS NULL)', t);
    END LOOP;
    CREATE POLICY tq_asked ON tq.query FOR SELECT TO PUBLIC USING (asked_by = current_user);
    FOREACH t IN ARRAY of_either || of_query LOOP
        EXECUTE format('CREATE POLICY tq_asked ON tq.%I FOR SELECT TO PUBLIC USING (%s)', t, asked);
    END LOOP;
    CREATE POLICY tq_asked ON tq.citation FOR SELECT TO PUBLIC USING (EXISTS (
        SELECT FROM tq.answer AS a JOIN tq.query AS q ON q.id = a.query_id WHERE a.id = answer_id AND q.asked_by = current_user));
    EXECUTE format('CREATE POLICY tq_edit ON tq.possible_query TO tq_loader USING (%s) WITH CHECK (%s)', owned, owned);
    CREATE POLICY tq_asked ON tq.correction FOR SELECT TO PUBLIC USING (EXISTS (
        SELECT FROM tq.answer AS a JOIN tq.query AS q ON q.id = a.query_id WHERE a.id = answer_id AND q.asked_by = current_user));
    CREATE POLICY tq_own ON tq.correction FOR DELETE TO PUBLIC USING (corrected_by = current_user);
    CREATE POLICY tq_own ON tq.thread FOR SELECT TO PUBLIC USING (owner = current_user);
    CREATE POLICY tq_own ON tq.pick FOR SELECT TO PUBLIC USING (
        EXISTS (SELECT FROM tq.thread AS t WHERE t.id = thread_id AND t.owner = current_user));
END $$;

-- ---------------------------------------------------------------- grants

GRANT USAGE ON SCHEMA tq, tq_private TO tq_reader, tq_loader, tq_worker, tq_admin;
REVOKE ALL ON ALL TABLES IN SCHEMA tq, tq_private FROM PUBLIC, tq_reader, tq_loader, tq_worker, tq_admin;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA tq, tq_private FROM PUBLIC, tq_reader, tq_loader, tq_worker, tq_admin;
REVOKE ALL ON ALL ROUTINES IN SCHEMA tq, tq_private FROM PUBLIC, tq_reader, tq_loader, tq_worker, tq_admin;

GRANT SELECT ON
    tq.document, tq.possible_query, tq.line, tq.term, tq.provisional_window, tq.boundary, tq.node, tq.bullet,
    tq.query, tq.route, tq.read, tq.step, tq.answer, tq.citation, tq.omission, tq.model_call, tq.setting, tq.model, tq.strategy,
    tq.batch,
    tq.strategy_version, tq.record_query, tq.thread, tq.pick, tq.progress, tq.queue, tq.summary_node, tq.usage
TO tq_reader, tq_loader, tq_worker;
GRANT SELECT ON tq.correction TO tq_reader, tq_loader, tq_worker;
GRANT DELETE ON tq.correction TO tq_reader, tq_loader;
GRANT SELECT ON tq.test_query TO tq_reader;
GRANT SELECT ON tq.shot TO tq_reader, tq_loader, tq_worker;
-- A document's owner edits its possible queries as rows.
GRANT INSERT, UPDATE, DELETE ON tq.possible_query TO tq_loader;
GRANT SELECT ON tq.blob TO tq_worker;
GRANT UPDATE (content, store, bytes) ON tq.blob TO tq_worker;
-- What ingest finds out about a document; whose it is and what it is called are its owner's.
GRANT UPDATE (current, status, media_type, title, language, line_count, pages_read, page_count, model, started_at, finished_at,
              sqlstate, error, hint, failed_step)
ON tq.document TO tq_worker;
GRANT INSERT, UPDATE, DELETE ON
    tq.line, tq.term, tq.provisional_window, tq.boundary, tq.node, tq.bullet, tq.omission, tq.model_call, tq.batch
TO tq_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tq TO tq_admin;
REVOKE INSERT, UPDATE, DELETE ON tq.strategy_version FROM tq_admin;  -- what was, was
GRANT SELECT ON tq_private.installed, tq_private.alembic_version TO tq_reader, tq_loader, tq_worker, tq_admin;

-- A function that no line names may be executed by its owner alone; trigger functions need no grant. A test holds this
-- list against the catalogue.
DO $$
DECLARE
    r record;
    f regproc;
BEGIN
    FOR r IN
        SELECT g.roles, s.name, n.nsp
        FROM (VALUES
            ('tq', 'tq_reader, tq_loader, tq_worker', 'outline lines ask answers explain check select compare_modes replay fit estimate
             source source_url page_image strategy_effective pick follow_up suggest
             ask_later cancel_query tables'),
            ('tq', 'tq_loader, tq_admin', 'load load_text retry cancel remove'),
            ('tq', 'tq_worker', 'work'),
            ('tq', 'tq_admin', 'schedule unschedule refresh_model'),
            ('tq_private', 'tq_reader, tq_loader, tq_worker',
             'asker shown document_progress waits_for how_far like_pattern match_documents near_names raise_not_found raise_not_ready
              resolve_documents resolve_document summary invalid_argument check_named may_change
              ask_walk ask_record answered select_walk modes_walk rejected_line follow_walk known_thread picks_of_answers picks_of_citations keep_picks
              queue_question stop_query check_strategy raise_problem known_query line_range
              take_places pause_model recall_reply replies_of replay_walk fit_of estimate_of read_citation
              stored_document source_of source_url_of page_image_of table_place table_markdown strategy_values number_of date_of boolean_of
              date_plus days_between'),
            ('tq_private', 'tq_loader', 'store_document change_documents'),
            ('tq', 'tq_reader, tq_loader, tq_worker', 'rerank answer_text correct'),
            ('tq_private', 'tq_reader, tq_loader, tq_worker', 'rerank_of text_of keep_correction corrections_of'),
            ('tq_private', 'tq_loader, tq_admin', 'check_questions'),
            ('tq', 'tq_loader, tq_admin', 'load_query refresh set_questions'),
            ('tq', 'tq_reader, tq_loader, tq_worker', 'record'),
            ('tq_private', 'tq_loader, tq_admin', 'query_walk run_query keep_query'),
            ('tq_private', 'tq_reader, tq_loader, tq_worker', 'record_walk'),
            ('tq_private', 'tq_worker', 'work store_attachment begin_query query_goes_on query_found query_answered query_failed
              query_waits'),
            ('tq_private', 'tq_worker', 'build_tree refresh_statistics ingest_replies keep_replies drop_old_replies
              move_blob blob_moved drop_copy copy_dropped raise_problem'),
            ('tq_private', 'tq_worker', 'correct_model open_batch join_batch batch_replies batch_requests end_batch drop_batches'),
            ('tq_private', 'tq_admin', 'need_cron limits_of raise_problem')
        ) AS g (nsp, roles, names)
        CROSS JOIN LATERAL (SELECT g.nsp) AS n
        CROSS JOIN LATERAL regexp_split_to_table(g.names, '\s+') AS s (name)
    LOOP
        f := to_regproc(format('%I.%I', r.nsp, r.name));
        IF f IS NOT NULL THEN
            EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO %s', f, r.roles);
        END IF;
    END LOOP;
END $$;

-- What others installed. The queues: workers read and write them, the owner sends on behalf of whoever loads.
DO $$
DECLARE
    r record;
BEGIN
    GRANT USAGE ON SCHEMA pgmq TO tq_owner, tq_worker;
    GRANT SELECT ON pgmq.meta TO tq_owner, tq_worker;
    FOR r IN SELECT c.oid::regclass AS name, c.relkind FROM pg_class AS c
             WHERE c.relnamespace = 'pgmq'::regnamespace AND c.relname ~ '^[qa]_tq_' AND c.relkind IN ('r', 'S')
             ORDER BY 1 LOOP
        EXECUTE format('GRANT %s ON %s %s TO tq_owner, tq_worker',
                       CASE r.relkind WHEN 'S' THEN 'USAGE' ELSE 'SELECT, INSERT, UPDATE, DELETE' END,
                       CASE r.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, r.name);
    END LOOP;
    IF to_regnamespace('cron') IS NOT NULL THEN
        GRANT USAGE ON SCHEMA cron TO tq_admin;
    END IF;
END $$;
