-- What must be there before any other file runs: server, extensions, queues, tables. Also the roles, because the
-- files after this one grant to them.

DO $$
DECLARE
    missing text;
BEGIN
    IF current_setting('server_version_num')::int < 150000 THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = 'tq needs PostgreSQL 15 or newer',
            DETAIL = format('This server is %s.', current_setting('server_version')),
            HINT = 'Upgrade the server, or run `make up`, which makes a cluster of its own.';
    END IF;
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = 'tq needs a database in UTF8',
            DETAIL = format('This one is in %s.', current_setting('server_encoding')),
            HINT = 'CREATE DATABASE ... ENCODING ''UTF8'' TEMPLATE template0.';
    END IF;
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = 'the migrating role is not a superuser',
            DETAIL = 'Only a superuser creates PL/Python functions.',
            HINT = 'Connect as a superuser and run `tq migrate`.';
    END IF;
    SELECT string_agg(e, ', ') INTO missing
    FROM unnest(ARRAY['plpython3u', 'btree_gist']) AS e
    WHERE NOT EXISTS (SELECT FROM pg_extension WHERE extname = e);
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = 'extensions are missing',
            DETAIL = format('Not in this database: %s.', missing),
            HINT = 'Install Debian''s postgresql-plpython3-NN and postgresql-contrib, then run `tq migrate`.';
    END IF;
    IF to_regclass('pgmq.meta') IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = 'pgmq is not installed in this database',
            DETAIL = 'The table pgmq.meta does not exist.',
            HINT = 'Run `tq migrate`, which installs it.';
    END IF;
    IF to_regclass('tq.document') IS NULL OR to_regclass('tq_private.touched') IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = 'the tables of tq are not there',
            DETAIL = 'The files of sql/ come after the migrations.',
            HINT = 'Run `tq migrate`.';
    END IF;
END $$;

-- Rows that a data migration changed are checked now: a table with pending trigger events cannot be altered.
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;

-- Roles belong to the cluster, and several databases may be migrated at once: losing the race is no error.
DO $$
DECLARE
    r text;
BEGIN
    FOREACH r IN ARRAY ARRAY['tq_owner', 'tq_reader', 'tq_loader', 'tq_worker', 'tq_admin'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER', r);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
        END IF;
    END LOOP;
    FOREACH r IN ARRAY ARRAY['tq_reader', 'tq_loader', 'tq_worker'] LOOP
        IF NOT EXISTS (SELECT FROM pg_auth_members WHERE roleid = r::regrole AND member = 'tq_admin'::regrole) THEN
            BEGIN
                EXECUTE format('GRANT %I TO tq_admin', r);
            EXCEPTION WHEN duplicate_object OR unique_violation OR internal_error THEN
                NULL;
            END;
        END IF;
    END LOOP;
    -- statement_timeout covers a whole CALL tq.work() and cannot be lifted inside it.
    IF NOT EXISTS (SELECT FROM pg_db_role_setting
                   WHERE setrole = 'tq_worker'::regrole AND setdatabase = 0 AND 'statement_timeout=0' = ANY (setconfig)) THEN
        BEGIN
            ALTER ROLE tq_worker SET statement_timeout = 0;
        EXCEPTION WHEN duplicate_object OR unique_violation OR internal_error THEN
            NULL;
        END;
    END IF;
END $$;
