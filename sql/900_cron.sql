-- Scheduled work, over pg_cron. pg_cron can live in one database of a cluster only, so its absence is no error before a
-- schedule is asked for, and its functions are called by text.

CREATE OR REPLACE FUNCTION tq_private.need_cron() RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'pg_cron') THEN
        RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'pg_cron is not in this database',
            DETAIL = format('This is database %s; cron.database_name is %s.', current_database(),
                            coalesce(current_setting('cron.database_name', TRUE), 'not set (pg_cron is not preloaded)')),
            HINT = 'Preload pg_cron, set cron.database_name to this database, restart, CREATE EXTENSION pg_cron; or run `tq worker`.';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION tq.schedule(schedule text DEFAULT '* * * * *', workers int DEFAULT 1) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    first_job bigint;
    job bigint;
BEGIN
    PERFORM tq_private.need_cron();
    IF workers IS NULL OR workers NOT BETWEEN 1 AND 64 THEN
        RAISE EXCEPTION USING ERRCODE = 'TQ021', MESSAGE = 'invalid value for the argument workers',
            DETAIL = format('It is %s.', coalesce(workers::text, 'NULL')), HINT = 'Give a number from 1 to 64.';
    END IF;
    IF schedule IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TQ021', MESSAGE = 'invalid value for the argument schedule',
            DETAIL = 'It is NULL.', HINT = 'Give a schedule as in a crontab, such as ''* * * * *''.';
    END IF;
    PERFORM tq.unschedule();
    FOR n IN 1 .. workers LOOP
        BEGIN
            -- 55 s of work in a run of a minute: runs do not pile up behind one another.
            EXECUTE 'SELECT cron.schedule($1::text, $2::text, $3::text)'
                INTO job USING format('tq work %s', n), schedule, 'CALL tq.work(55)';
        EXCEPTION WHEN invalid_parameter_value THEN
            RAISE EXCEPTION USING ERRCODE = 'TQ021', MESSAGE = 'invalid value for the argument schedule',
                DETAIL = format('It is %s: %s', coalesce(quote_literal(left(schedule, 100)), 'NULL'), SQLERRM),
                HINT = 'Give a schedule as in a crontab, such as ''* * * * *''.';
        END;
        first_job := coalesce(first_job, job);
    END LOOP;
    -- pg_cron keeps every run for ever.
    EXECUTE 'SELECT cron.schedule($1::text, $2::text, $3::text)' USING 'tq history', '17 * * * *',
        'DELETE FROM cron.job_run_details AS r WHERE r.end_time < now() - interval ''1 day'' AND r.jobid IN'
        || ' (SELECT j.jobid FROM cron.job AS j WHERE j.jobname LIKE ''tq %'')';
    RETURN first_job;
END $$;
COMMENT ON FUNCTION tq.schedule IS
'Let pg_cron work through the queues; the id of the first job.
schedule: as in a crontab; workers: jobs at once, 1 to 64. Replaces an earlier schedule. The jobs run as the caller, whose
statement_timeout has to be 0 (ALTER ROLE … SET statement_timeout = 0, as tq_worker has it): it covers a whole run. A run works
for 55 s and finishes the step in hand. A day of run history is kept.';

CREATE OR REPLACE FUNCTION tq.unschedule() RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    removed int;
BEGIN
    PERFORM tq_private.need_cron();
    EXECUTE 'SELECT count(*) FILTER (WHERE j.jobname LIKE ''tq work %'')::int FROM cron.job AS j,'
        || ' LATERAL cron.unschedule(j.jobid) AS u'
        || ' WHERE (j.jobname LIKE ''tq work %'' OR j.jobname = ''tq history'') AND j.username = current_user' INTO removed;
    RETURN removed;
END $$;
COMMENT ON FUNCTION tq.unschedule IS 'Stop the scheduled work; how many jobs were removed, 0 for none.';
