-- The questions that a document should be able to answer, edited at any time: as rows by whoever owns it, or as a whole.

CREATE OR REPLACE FUNCTION tq_private.number_question() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
BEGIN
    SELECT coalesce(max(q.ordinal), 0) + 1 INTO NEW.ordinal FROM tq.possible_query AS q WHERE q.document_id = NEW.document_id;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION tq_private.number_question IS 'The next number of a possible query that is given none.';

CREATE OR REPLACE TRIGGER possible_query_numbered BEFORE INSERT ON tq.possible_query
FOR EACH ROW WHEN (NEW.ordinal IS NULL) EXECUTE FUNCTION tq_private.number_question();
ALTER TABLE tq.possible_query ENABLE ALWAYS TRIGGER possible_query_numbered;
CREATE OR REPLACE TRIGGER possible_query_values_fit BEFORE INSERT OR UPDATE ON tq.possible_query
FOR EACH ROW EXECUTE FUNCTION tq_private.check_values();
ALTER TABLE tq.possible_query ENABLE ALWAYS TRIGGER possible_query_values_fit;
COMMENT ON CONSTRAINT possible_query_question_check ON tq.possible_query IS 'A possible query has 1 to 1000 characters.';
COMMENT ON CONSTRAINT possible_query_not_blank_check ON tq.possible_query IS 'A possible query has words.';

CREATE OR REPLACE FUNCTION tq.set_questions(doc text, questions text[]) RETURNS int
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp AS $$
DECLARE
    d tq.document;
BEGIN
    d := tq_private.resolve_document(doc);
    IF NOT tq_private.may_change(d.owner) THEN
        RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'the document belongs to another role',
            DETAIL = format('%s is not yours.', tq_private.shown(d.name)),
            HINT = 'Its owner and members of tq_admin edit its possible queries.';
    END IF;
    PERFORM tq_private.check_questions(set_questions.questions);
    DELETE FROM tq.possible_query AS q WHERE q.document_id = d.id;
    INSERT INTO tq.possible_query (document_id, ordinal, question)
    SELECT d.id, q.ordinality, q.question FROM unnest(set_questions.questions) WITH ORDINALITY AS q (question);
    RETURN coalesce(cardinality(set_questions.questions), 0);
END $$;
COMMENT ON FUNCTION tq.set_questions IS
'Replace the possible queries of a document; how many it has now.
questions: in order; {} or NULL for none. Single ones are rows of tq.possible_query. Where questions are shown them is the setting
possible_queries: nowhere, or any of root, nodes, plan. A new version of a document begins with those of the one before.';
