-- Worked examples for the prompt of a node.

CREATE TABLE tq.shot (
    name text PRIMARY KEY CONSTRAINT shot_name_check CHECK (length(btrim(name)) BETWEEN 1 AND 200),
    node text NOT NULL CONSTRAINT shot_node_check CHECK (btrim(node) <> ''),
    choice text NOT NULL CONSTRAINT shot_choice_check CHECK (choice IN ('ANSWER', 'DESCEND', 'NOT_HERE')),
    open text[] NOT NULL DEFAULT '{}' CONSTRAINT shot_open_check CHECK (array_to_string(open, '', '-') ~ '^[A-Z]*$'),
    reason text NOT NULL CONSTRAINT shot_reason_check CHECK (btrim(reason) <> ''),
    CONSTRAINT shot_opens_check CHECK ((choice = 'DESCEND') = (cardinality(open) > 0))
);
