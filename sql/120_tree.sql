-- The tree: derived from its leaves by recursive CTEs, never typed in.

CREATE OR REPLACE FUNCTION tq_private.build_tree(
    doc uuid,
    node_ids uuid[],       -- inner nodes, in any order
    parent_ids uuid[],     -- the parent of each, NULL at the root
    titles text[],
    levels int[],
    kinds text[],
    leaf_ids uuid[],       -- leaves that are there already
    leaf_parents uuid[])   -- the inner node above each; NULL where the one leaf is the root
RETURNS int                -- inner nodes written
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, tq, pg_temp
-- Arrays and fresh rows have no statistics: with nested loops the planner would choose a quadratic walk.
SET enable_nestloop = off SET work_mem = '64MB' AS $$
DECLARE
    n constant int := coalesce(cardinality(node_ids), 0);
    leaves constant int := coalesce(cardinality(leaf_ids), 0);
    hung_leaves int;
    written int;
BEGIN
    IF leaves = 0 OR leaves <> coalesce(cardinality(leaf_parents), 0) OR n <> coalesce(cardinality(parent_ids), 0)
        OR n <> coalesce(cardinality(titles), 0) OR n <> coalesce(cardinality(levels), 0)
        OR n <> coalesce(cardinality(kinds), 0) THEN
        RAISE EXCEPTION USING ERRCODE = '22023',
            MESSAGE = 'the arrays of a tree differ in length',
            DETAIL = format('%s inner nodes, %s leaves.', n, leaves),
            HINT = 'Give one element a node in each array.';
    END IF;

    -- Building again replaces what an earlier building left. Leaves stay, and so do inner nodes that keep their id.
    UPDATE tq.node AS old SET target_node_id = NULL, depth = NULL
    WHERE old.document_id = doc AND old.is_leaf AND old.target_node_id IS NOT NULL
        AND NOT EXISTS (SELECT FROM unnest(leaf_ids) AS kept (id) WHERE kept.id = old.id);
    DELETE FROM tq.node AS old
    WHERE old.document_id = doc AND NOT old.is_leaf
        AND NOT EXISTS (SELECT FROM unnest(node_ids) AS kept (id) WHERE kept.id = old.id);

    WITH RECURSIVE given AS MATERIALIZED (
        SELECT id, parent, title, level, kind
        FROM unnest(node_ids, parent_ids, titles, levels, kinds) AS g (id, parent, title, level, kind)
    ), leaf AS MATERIALIZED (
        SELECT l.id, l.parent, n.line_start, n.line_end
        FROM unnest(leaf_ids, leaf_parents) AS l (id, parent)
        JOIN tq.node AS n ON n.document_id = doc AND n.id = l.id AND n.is_leaf
    ), up AS (  -- each leaf's range at each of its ancestors, merged level by level on the way to the root
        SELECT parent AS id, min(line_start) AS line_start, max(line_end) AS line_end, 1 AS hop
        FROM leaf WHERE parent IS NOT NULL GROUP BY parent
        UNION ALL
        SELECT g.parent, u.line_start, u.line_end, u.hop + 1
        FROM up AS u JOIN given AS g ON g.id = u.id
        WHERE g.parent IS NOT NULL AND u.hop <= 1000
    ), ranges AS (
        SELECT id, min(line_start) AS line_start, max(line_end) AS line_end FROM up GROUP BY id
    ), down AS (
        SELECT id, 0 AS depth FROM given WHERE parent IS NULL
        UNION ALL
        SELECT g.id, d.depth + 1 FROM down AS d JOIN given AS g ON g.parent = d.id WHERE d.depth <= 1000
    ), put AS (
        INSERT INTO tq.node AS old (document_id, id, target_node_id, depth, is_leaf, line_start, line_end, title, level, kind)
        SELECT doc, g.id, g.parent, d.depth, FALSE, r.line_start, r.line_end, g.title, g.level, coalesce(g.kind, 'text')
        FROM given AS g
        JOIN ranges AS r ON r.id = g.id
        JOIN down AS d ON d.id = g.id
        ON CONFLICT (document_id, id) DO UPDATE SET
            target_node_id = excluded.target_node_id, depth = excluded.depth, line_start = excluded.line_start,
            line_end = excluded.line_end, title = excluded.title, level = excluded.level, kind = excluded.kind
        RETURNING 1
    ), hung AS (
        UPDATE tq.node AS n SET target_node_id = l.parent, depth = coalesce(d.depth + 1, 0)
        FROM leaf AS l LEFT JOIN down AS d ON d.id = l.parent
        WHERE n.document_id = doc AND n.id = l.id AND n.is_leaf AND (l.parent IS NULL OR d.id IS NOT NULL)
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM put), (SELECT count(*) FROM hung) INTO written, hung_leaves;

    IF written <> n OR hung_leaves <> leaves THEN
        RAISE EXCEPTION USING ERRCODE = '23514', SCHEMA = 'tq', TABLE = 'node', CONSTRAINT = 'node_children_tile_parent',
            MESSAGE = 'the tree does not hang together',
            DETAIL = format('%s of %s inner nodes have a leaf below and the root above; %s of %s leaves are there.',
                            written, n, hung_leaves, leaves),
            HINT = 'Name each parent among node_ids, one of them without a parent, and only leaves of this document.';
    END IF;
    RETURN written;
END $$;
COMMENT ON FUNCTION tq_private.build_tree IS 'Hangs a document''s leaves under new inner nodes; derives ranges and depths.';
