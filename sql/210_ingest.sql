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
