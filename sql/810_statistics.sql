-- Views for people and dashboards.

CREATE OR REPLACE VIEW tq.progress WITH (security_invoker = true) AS
SELECT d.name AS document, d.version, d.status, p.step, p.done, p.total, d.started_at, d.finished_at, d.sqlstate, d.error,
       d.hint, d.id AS document_id, d.current, d.loaded_at, tq_private.waits_for(d) AS waits_for
FROM tq.document AS d
CROSS JOIN LATERAL tq_private.document_progress(d) AS p;
COMMENT ON VIEW tq.progress IS
'How far each version of each document is.
done of total counts pages or lines (convert; the total of lines is unknown), windows (mark), leaves (summarise) or nodes (build, finish).
waits_for: message batches at the provider.';

-- Not security_invoker: it counts messages and shows none.
CREATE OR REPLACE VIEW tq.queue AS
WITH message AS (
    SELECT 'tq_convert' AS queue, read_ct, vt, enqueued_at FROM pgmq.q_tq_convert
    UNION ALL SELECT 'tq_model', read_ct, vt, enqueued_at FROM pgmq.q_tq_model
    UNION ALL SELECT 'tq_ask', read_ct, vt, enqueued_at FROM pgmq.q_tq_ask
)
SELECT q.queue,
       count(m.queue) FILTER (WHERE m.vt <= clock_timestamp()) AS waiting,
       count(m.queue) FILTER (WHERE m.vt > clock_timestamp()) AS in_flight,
       min(m.enqueued_at) AS oldest,
       (SELECT count(*) FROM pgmq.q_tq_dead AS x WHERE x.message ->> 'queue' = q.queue) AS dead
FROM unnest(ARRAY['tq_convert', 'tq_model', 'tq_ask']) AS q (queue)
LEFT JOIN message AS m USING (queue)
GROUP BY q.queue;
COMMENT ON VIEW tq.queue IS
'Messages waiting, in flight and dead, a queue each.
in_flight: being worked on, or deferred; oldest: when the oldest that is not done was sent; dead: given up.';

CREATE OR REPLACE VIEW tq.usage WITH (security_invoker = true) AS
SELECT c.called_at::date AS day, c.purpose, c.model, d.name AS document, sum(c.calls)::bigint AS calls,
       sum(c.input_tokens)::bigint AS input_tokens, sum(c.output_tokens)::bigint AS output_tokens,
       sum(c.cost) AS cost, sum(c.elapsed_ms) AS elapsed_ms, sum(c.cached_tokens)::bigint AS cached_tokens
FROM tq.model_call AS c
LEFT JOIN tq.document AS d ON d.id = c.document_id
GROUP BY 1, 2, 3, 4;
COMMENT ON VIEW tq.usage IS
'Tokens, time and cost of model calls by day, purpose, model, document.
cost is in the unit of tq.model''s prices, as they were at the call; cached_tokens are a part of input_tokens. document is NULL for calls of a question.';
