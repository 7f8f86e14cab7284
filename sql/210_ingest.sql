-- Work: messages of the queues become lines, windows, leaves, bullets and a tree.

-- It commits between its steps, so that nothing around it may set a parameter: each of its transactions sets the search path.
CREATE OR REPLACE PROCEDURE tq_private.work(seconds int, until_empty boolean, INOUT result int, INOUT problem jsonb)
LANGUAGE plpython3u AS $$
from tq import entry
return entry.work(plpy, seconds, until_empty)
$$;
COMMENT ON PROCEDURE tq_private.work IS 'The body of tq.work(); result is the number of messages that were done.';

CREATE OR REPLACE PROCEDURE tq.work(seconds int DEFAULT 55, until_empty boolean DEFAULT FALSE)
LANGUAGE plpgsql AS $$
DECLARE
    result pg_catalog.int4;
    problem pg_catalog.jsonb;
BEGIN
    CALL tq_private.work(seconds, until_empty, result, problem);
    PERFORM tq_private.raise_problem(problem);
END $$;
COMMENT ON PROCEDURE tq.work IS
'Do the steps that wait in the queues, for so many seconds.
Runs alone, outside a transaction block, and commits between steps. until_empty: end as soon as no message is left; those in
flight at another worker, and those deferred, are waited for. Any number of workers may run at once.';

-- Definer: only a table's owner may analyse it.
CREATE OR REPLACE FUNCTION tq_private.refresh_statistics() RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    -- Where the statistics still say that a table is empty, every index that begins with document_id looks as good as the
    -- primary key, and a read of one node may scan its whole document. Skipped where another session does the same.
    ANALYZE (SKIP_LOCKED) tq.node, tq.bullet;
END $$;
COMMENT ON FUNCTION tq_private.refresh_statistics IS 'Tell the planner of a tree that has just grown.';
