-- What readers say of answers.

-- Definer: whoever asks writes no tables.
CREATE OR REPLACE FUNCTION tq_private.keep_correction(
    answer uuid, what text, note text, document uuid, line_start int, line_end int, test boolean) RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    asked tq.query;
    result uuid;
BEGIN
    SELECT q.* INTO asked FROM tq.answer AS a JOIN tq.query AS q ON q.id = a.query_id
    WHERE a.id = keep_correction.answer AND tq_private.may_change(q.asked_by)
    FOR KEY SHARE OF a;
    IF NOT FOUND THEN
        PERFORM tq_private.invalid_argument('answer_id',
            coalesce('You have no answer with the id ' || answer || '.', 'It is NULL.'),
            'The column answer_id of tq.ask has it; in a read-only transaction it is NULL and nothing is kept.');
    END IF;
    INSERT INTO tq.correction (answer_id, what, note, document_id, line_start, line_end, corrected_by)
    VALUES (answer, keep_correction.what, keep_correction.note, document, keep_correction.line_start, keep_correction.line_end,
            tq_private.asker())
    RETURNING id INTO result;
    IF test THEN
        INSERT INTO tq.test_query (document, question, strategy, what, expected_document, line_start, line_end,
                                   correction_id, added_by)
        SELECT asked.document, asked.question, asked.strategy, keep_correction.what, d.name, c.line_start, c.line_end, result,
               tq_private.asker()
        FROM (SELECT keep_correction.line_start, keep_correction.line_end) AS c
        LEFT JOIN tq.document AS d ON d.id = keep_correction.document;
    END IF;
    RETURN result;
END $$;
COMMENT ON FUNCTION tq_private.keep_correction IS 'Keep a correction of an answer that the asker may see.';

CREATE OR REPLACE FUNCTION tq.correct(
    answer_id uuid, what text, note text DEFAULT '', citation jsonb DEFAULT NULL, test boolean DEFAULT FALSE) RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    place record;
    cited tq.document;
    first int;
    last int;
BEGIN
    IF btrim(correct.what) = '' OR (correct.what IS NULL AND btrim(coalesce(correct.note, '')) = '') THEN
        PERFORM tq_private.invalid_argument('what',
            CASE WHEN correct.what IS NULL THEN 'It is NULL, and there is no note.' ELSE 'It is empty.' END,
            'Give the right answer; or NULL where nothing settles the question, with a note that says why.');
    END IF;
    IF length(correct.what) > 10000 OR length(correct.note) > 10000 THEN
        PERFORM tq_private.invalid_argument(CASE WHEN length(correct.what) > 10000 THEN 'what' ELSE 'note' END,
            'It has more than 10000 characters.', 'Shorten it.');
    END IF;
    IF correct.citation IS NOT NULL THEN
        place := tq_private.read_citation(correct.citation);
        first := place.line_start;
        last := place.line_end;
        cited := tq_private.resolve_document(place.document || coalesce('@' || place.version, ''));
        IF NOT (1 <= first AND first <= last AND last <= cited.line_count) THEN
            PERFORM tq_private.invalid_argument('citation',
                format('%s has no %s; it has %s lines.', tq_private.shown(cited.name),
                       tq_private.line_range(first, last), cited.line_count),
                'Name lines from 1 on that are there.');
        END IF;
    END IF;
    RETURN tq_private.keep_correction(correct.answer_id, correct.what, coalesce(correct.note, ''), cited.id, first, last,
                                      coalesce(correct.test, FALSE));
END $$;
COMMENT ON FUNCTION tq.correct IS
'Say what is right in place of an answer; returns the correction''s id.
answer_id: of tq.ask, your own. what: the right answer, NULL where nothing settles the question. citation: where it stands, as an
element of citations. test: also make it a row of tq.test_query. tq.answers and tq.answer_text show it beside the answer.';

CREATE OR REPLACE FUNCTION tq_private.corrections_of(answer uuid) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, tq, pg_temp
RETURN (
    SELECT CASE count(*) WHEN 0 THEN '{}' ELSE jsonb_build_object('corrections', jsonb_agg(jsonb_build_object(
               'correction_id', c.id, 'what', c.what, 'note', c.note, 'document', d.name, 'version', d.version,
               'line_start', c.line_start, 'line_end', c.line_end, 'corrected_by', c.corrected_by,
               'corrected_at', c.corrected_at) ORDER BY c.corrected_at, c.id)) END
    FROM tq.correction AS c LEFT JOIN tq.document AS d ON d.id = c.document_id
    WHERE c.answer_id = answer);
COMMENT ON FUNCTION tq_private.corrections_of IS
'What readers said of an answer, the last at the end, as a part of its detail; {} where nobody did.';

COMMENT ON TABLE tq.correction IS 'What readers say is right in place of an answer.';
COMMENT ON COLUMN tq.correction.what IS 'The right answer; NULL where nothing settles the question.';
COMMENT ON COLUMN tq.correction.document_id IS 'Where it stands; NULL where that is not said, or the document is gone.';
COMMENT ON TABLE tq.test_query IS 'Questions with the answers that they should get.';
COMMENT ON COLUMN tq.test_query.document IS 'The argument doc; NULL for the whole scope of the strategy.';
COMMENT ON COLUMN tq.test_query.what IS 'The right answer; NULL where nothing settles the question.';
COMMENT ON COLUMN tq.test_query.expected_document IS 'Name of the document in whose lines it stands.';
COMMENT ON COLUMN tq.test_query.correction_id IS 'The correction that it was made of.';
