-- A question and its answers as one text.

CREATE OR REPLACE FUNCTION tq_private.text_of(question jsonb, answers jsonb, format text, language text,
                                              OUT result text, OUT problem jsonb)
LANGUAGE plpython3u STABLE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
from tq import entry
return entry.text_of(plpy, question, answers, format, language)
$$;
COMMENT ON FUNCTION tq_private.text_of IS
'Rows of tq.ask, as JSON, written out in json, markdown, text or html.
question: {"question", "document", "strategy", "strategy_version", "asked_at"}.';

CREATE OR REPLACE FUNCTION tq.answer_text(query_id uuid, format text DEFAULT NULL, with_held_back boolean DEFAULT FALSE)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    asked tq.query;
    settings jsonb;
    answers jsonb;
    walked record;
BEGIN
    asked := tq_private.known_query(answer_text.query_id);
    SELECT v.settings INTO settings FROM tq.strategy_version AS v
    WHERE v.strategy = asked.strategy AND v.version = asked.strategy_version;
    SELECT jsonb_agg(to_jsonb(a) ORDER BY a.rank) INTO answers FROM tq.answers(asked.id, with_held_back) AS a;
    walked := tq_private.text_of(
        jsonb_build_object('question', asked.question, 'document', asked.document, 'strategy', asked.strategy,
                           'strategy_version', asked.strategy_version, 'asked_at', asked.asked_at, 'query_id', asked.id,
                           'with_held_back', coalesce(with_held_back, FALSE)),
        coalesce(answers, '[]'), coalesce(answer_text.format, nullif(settings ->> 'format', 'rows'), 'text'),
        coalesce(settings ->> 'language', 'english'));
    PERFORM tq_private.raise_problem(walked.problem);
    RETURN walked.result;
END $$;
COMMENT ON FUNCTION tq.answer_text IS
'A question that was asked, with its answers, as one text.
query_id: of tq.ask. format: json (one document), markdown, text or html (escaped, a fragment); NULL for its strategy''s, where
rows are written as text. with_held_back: also the answers that were not shown. Corrections stand beside their answers.';
