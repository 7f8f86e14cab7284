-- The queues. pgmq.create cannot run twice without a notice, so each is made once.

DO $$
DECLARE
    queue text;
BEGIN
    FOREACH queue IN ARRAY ARRAY['tq_convert', 'tq_model', 'tq_ask', 'tq_dead'] LOOP
        IF to_regclass(format('pgmq.%I', 'q_' || queue)) IS NULL THEN
            PERFORM pgmq.create(queue);
        END IF;
    END LOOP;
END $$;
