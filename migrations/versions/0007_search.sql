-- What a question is after, and where each part of it may stop.

ALTER TABLE tq.strategy
    ADD COLUMN evidence_why text NOT NULL DEFAULT 'line'
        CONSTRAINT strategy_evidence_why_check CHECK (evidence_why IN ('line', 'summary'));

-- Every question asked until now was after a what.
ALTER TABLE tq.route
    ADD COLUMN part text NOT NULL DEFAULT 'what'
        CONSTRAINT route_part_check CHECK (part IN ('what', 'why', 'how'));
ALTER TABLE tq.route ALTER COLUMN part DROP DEFAULT;
