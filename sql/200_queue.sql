-- The queues. Names are in lower case: pgmq's notifications are silent for any other. An argument of pgmq's overloaded
-- functions is always cast.

DO $$
DECLARE
    queue text;
BEGIN
    FOREACH queue IN ARRAY ARRAY['tq_convert', 'tq_model', 'tq_ask', 'tq_dead'] LOOP
        IF NOT EXISTS (SELECT FROM pgmq.meta AS m WHERE m.queue_name = queue) THEN
            PERFORM pgmq.create(queue::text);
        END IF;
    END LOOP;
END $$;
