-- How deep a strategy goes, and how far its follow-up questions.

-- In a new database, rows of strategies are still to be checked.
SET CONSTRAINTS ALL IMMEDIATE;

-- -1 says no limit, where the strategy inherited from has one.
ALTER TABLE tq.strategy
    ADD COLUMN depth int CONSTRAINT strategy_depth_check CHECK (depth BETWEEN -1 AND 1000),
    ADD COLUMN depth_why int CONSTRAINT strategy_depth_why_check CHECK (depth_why BETWEEN -1 AND 1000),
    ADD COLUMN follow_up text CONSTRAINT strategy_follow_up_check CHECK (follow_up IN ('widen', 'near'));
UPDATE tq.strategy SET follow_up = 'widen' WHERE name = 'default';
ALTER TABLE tq.strategy
    DROP CONSTRAINT strategy_default_whole_check,
    ADD CONSTRAINT strategy_default_whole_check CHECK (name <> 'default' OR num_nulls(
        top_n, documents, routes, rereads, evidence, evidence_why, mode, merge, reasoning_rules, weight_evidence, weight_agreement,
        weight_source, weight_fit, on_error, patience_seconds, versions, source_rule, pairs, format, language, follow_up) = 0);
