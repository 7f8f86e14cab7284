-- Work: messages of the queues become lines, windows, leaves, bullets and a tree.

-- It commits between its steps, so it has neither a SET clause nor a shell around it, and its names are qualified in Python.
CREATE OR REPLACE PROCEDURE tq.work(seconds int DEFAULT 55, until_empty boolean DEFAULT FALSE)
LANGUAGE plpython3u AS $$
from tq import entry
entry.work(plpy, seconds, until_empty)
$$;
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
