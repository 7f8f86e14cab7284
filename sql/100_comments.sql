-- What each schema, type and table is: \dn+, \dT+ and \d+ show it. Functions and views carry theirs beside their text.

COMMENT ON SCHEMA tq IS 'Answers from documents: what users call and read.';
COMMENT ON SCHEMA tq_private IS 'What tq is made of; no contract, may change with any version.';

COMMENT ON TYPE tq.document_status IS 'The steps of a document''s life, in order; failed may come from any.';
COMMENT ON TYPE tq.answer_row IS 'What tq.ask returns: one answer with its what, why and how.';

COMMENT ON TABLE tq.document IS 'Documents: one row is one version of one named source.';
COMMENT ON COLUMN tq.document.current IS 'The version that answers for the name; it is ready.';
COMMENT ON COLUMN tq.document.sha256 IS 'Digest of the bytes, and where tq.blob keeps them.';
COMMENT ON COLUMN tq.document.media_type IS 'As given to tq.load, then as the conversion found it.';
COMMENT ON COLUMN tq.document.language IS 'Language whose word stems the line index holds; none where there are none.';
COMMENT ON COLUMN tq.document.tables IS 'How tables are found on its pages; see tq.load.';
COMMENT ON COLUMN tq.document.page_count IS 'Pages of a PDF or picture; NULL before they are counted, and where there are none.';
COMMENT ON COLUMN tq.document.pages_read IS 'How many of them the conversion has read.';
COMMENT ON COLUMN tq.document.line_count IS 'NULL until the conversion is through.';
COMMENT ON COLUMN tq.document.model IS 'Model that read it; NULL for the setting model.';
COMMENT ON COLUMN tq.document.source_weight IS 'What the business says of the source: 1 is usual, more ranks higher.';
COMMENT ON COLUMN tq.document.effective_on IS 'The day from which the document holds.';
COMMENT ON COLUMN tq.document.owner IS 'Role that loaded it; may read, replace and remove it.';
COMMENT ON COLUMN tq.document.sqlstate IS 'Code of the error of a failed document.';
COMMENT ON COLUMN tq.document.revision IS 'Rises whenever lines or tree change; serialises those who change them.';

COMMENT ON COLUMN tq.document.parent_id IS 'The message or file that it was attached to; goes when that goes.';
COMMENT ON COLUMN tq.document.attachment_no IS 'Its number among the files of parent_id, from 1.';
COMMENT ON TABLE tq.record_query IS 'The queries that tq.load_query was given, a row a document.';
COMMENT ON COLUMN tq.record_query.given_by IS 'Role that gave it; no other runs it again.';
COMMENT ON COLUMN tq.record_query.relation IS 'The one table whose rows these are; NULL where there is none with a key.';
COMMENT ON TABLE tq.blob IS 'Bytes of loaded files by their digest, each once.';
COMMENT ON TABLE tq.possible_query IS 'The questions a document should be able to answer, as its owner wrote.';
COMMENT ON TABLE tq.shot IS 'Worked examples, shown in order of name to the model that reads a node.';
COMMENT ON COLUMN tq.shot.node IS 'A node as the model sees it: its lines or bullets, its children by letter, the query.';
COMMENT ON COLUMN tq.shot.choice IS 'What it should choose: ANSWER, DESCEND or NOT_HERE.';
COMMENT ON COLUMN tq.shot.open IS 'With DESCEND: the letters of the children that it should open.';
COMMENT ON COLUMN tq.shot.reason IS 'Why, in a sentence.';

COMMENT ON TABLE tq.line IS 'Lines of documents, 1, 2, 3 … without a gap: what is numbered and cited.';
COMMENT ON COLUMN tq.line.kind IS 'text, heading, table (a row), code, or furniture (a page''s repeated head or foot).';
COMMENT ON COLUMN tq.line.level IS 'Level of a heading, 1 to 6.';
COMMENT ON COLUMN tq.line.page IS 'Page of the file, counted from 1; NULL where there are no pages.';
COMMENT ON COLUMN tq.line.locator IS 'Where the line stands: its box on a page, in points from the top left; the table, row and cells of a row; and so on.';

COMMENT ON TABLE tq.term IS 'The line index: in which lines of a document a term stands.';
COMMENT ON COLUMN tq.term.stretch IS 'Which stretch of lines, in order; a long document has many.';
COMMENT ON COLUMN tq.term.line_nos IS 'Line numbers, ascending, each four bytes, the lowest first.';

COMMENT ON TABLE tq.provisional_window IS 'First run: equal stretches of lines, each read with its neighbours.';
COMMENT ON TABLE tq.boundary IS 'First run: lines at which a new context begins.';

COMMENT ON TABLE tq.node IS 'The summary trees; leaves cover lines, a parent covers its children.';
COMMENT ON COLUMN tq.node.target_node_id IS 'The parent; NULL at the root.';
COMMENT ON COLUMN tq.node.depth IS '0 at the root; NULL until the tree is built.';
COMMENT ON COLUMN tq.node.line_start IS 'First line, inclusive.';
COMMENT ON COLUMN tq.node.line_end IS 'Last line, inclusive.';
COMMENT ON COLUMN tq.node.token_count IS 'Tokens of a leaf''s lines, or of another node''s summary.';
COMMENT ON COLUMN tq.node.summarised IS 'Whether its bullets are written.';

COMMENT ON TABLE tq.bullet IS 'Summaries: each bullet one fact, with the lines it came from.';
COMMENT ON COLUMN tq.bullet.fallback IS 'A verbatim line in place of a bullet that did not pass its check.';

COMMENT ON TABLE tq.setting IS 'Every number and switch that is not a model''s or a strategy''s.';
COMMENT ON COLUMN tq.setting.default_value IS 'What it ships with.';
COMMENT ON TABLE tq.model IS 'Models: driver, limits, prices. All sizes derive from here.';
COMMENT ON COLUMN tq.model.input_tokens IS 'What one call may read.';
COMMENT ON COLUMN tq.model.output_tokens IS 'What one call may write.';
COMMENT ON COLUMN tq.model.concurrency IS 'Calls at once.';
COMMENT ON COLUMN tq.model.delay_ms IS 'Waits so long before each reply: for measurements.';
COMMENT ON COLUMN tq.model.input_price IS 'Money for a million tokens read.';
COMMENT ON COLUMN tq.model.driver IS 'extractive (embedded), anthropic, or openai (any server that speaks its protocol).';
COMMENT ON COLUMN tq.model.base_url IS 'Address of the server; NULL for the provider''s own.';
COMMENT ON COLUMN tq.model.remote_name IS 'What the server calls the model.';
COMMENT ON COLUMN tq.model.slot IS 'Names the model''s places and pause among all sessions.';
COMMENT ON COLUMN tq.model.cached_price IS 'Money for a million tokens read from the provider''s cache.';
COMMENT ON COLUMN tq.model.output_price IS 'Money for a million tokens written.';
COMMENT ON COLUMN tq.model.ingest_mode IS 'calls: each call of ingest by itself; batch: in message batches, cheaper and later (anthropic).';
COMMENT ON COLUMN tq.model.chars_per_token IS 'Characters that a token holds, at most: sizes derive from it.';
COMMENT ON COLUMN tq.model.shown_chars_per_token IS 'Fewer, as replies have shown; counts instead. NULL while they have not.';
COMMENT ON COLUMN tq.query.chars_per_token IS 'By model: the characters a token that its prompts were made for.';
COMMENT ON COLUMN tq.model.batch_share IS 'Share of the price that a call in a batch costs.';

COMMENT ON TABLE tq.batch IS 'Message batches of ingest, until their document is ready.';
COMMENT ON COLUMN tq.batch.status IS 'sending: its id is not learnt yet; sent; cancelling: to be stopped at the provider; ended.';
COMMENT ON COLUMN tq.batch.remote_id IS 'What the provider calls it.';
COMMENT ON COLUMN tq.batch.reckoned_tokens IS 'What it is likely to take, held against the document''s budget meanwhile.';

COMMENT ON TABLE tq.strategy IS 'Use cases: what is asked of the core, and how results are shown.';
COMMENT ON COLUMN tq.strategy.inherits IS 'The strategy that gives what this one leaves NULL; in the end default.';
COMMENT ON COLUMN tq.strategy.scope IS 'Which documents are searched: an SQL condition on columns of tq.document; NULL for all.';
COMMENT ON COLUMN tq.strategy.versions IS 'current: the version that answers for a name; all: every version that is ready.';
COMMENT ON COLUMN tq.strategy.source_rule IS 'What a document weighs as a source: an SQL expression, 0 to 1000, 1 is usual.';
COMMENT ON COLUMN tq.strategy.model IS 'Model of all purposes; NULL, where default has none, for the settings''.';
COMMENT ON COLUMN tq.strategy.model_plan IS 'Model that plans; goes before model.';
COMMENT ON COLUMN tq.strategy.model_read IS 'Model that reads nodes; goes before model.';
COMMENT ON COLUMN tq.strategy.model_compare IS 'Model that compares claims; goes before model.';
COMMENT ON COLUMN tq.strategy.pairs IS 'Pairs of claims that a question has its model compare; all are compared mechanically.';
COMMENT ON COLUMN tq.strategy.weight_evidence IS 'Of the score: source lines above summaries.';
COMMENT ON COLUMN tq.strategy.weight_agreement IS 'Of the score: found in several places above found in one.';
COMMENT ON COLUMN tq.strategy.weight_source IS 'Of the score: what source_rule says of the best source.';
COMMENT ON COLUMN tq.strategy.weight_fit IS 'Of the score: how directly the answer meets the question.';
COMMENT ON COLUMN tq.strategy.format IS 'What tq.answer_text and tq ask write: rows, json, markdown, text or html.';
COMMENT ON COLUMN tq.strategy.language IS 'Language of the phrases in why, how, missing and tq.answer_text: english or german.';
COMMENT ON COLUMN tq.strategy.top_n IS 'How many answers are shown; the rest is counted and held back.';
COMMENT ON COLUMN tq.strategy.documents IS 'How many documents one question searches at most.';
COMMENT ON COLUMN tq.strategy.routes IS 'How many routes go down at once.';
COMMENT ON COLUMN tq.strategy.rereads IS 'How often a node is read again after a reply off the list.';
COMMENT ON COLUMN tq.strategy.evidence IS
'Where a search after a what may stop. line: at source lines; summary: at the highest summary that states it.';
COMMENT ON COLUMN tq.strategy.evidence_why IS
'Where a search after a why may stop: at source lines (line) or at a summary. One after a how ends at lines always.';
COMMENT ON COLUMN tq.strategy.depth IS
'How many levels below the root a walk after a what opens; -1 for no limit. One after a how goes to the leaves always.';
COMMENT ON COLUMN tq.strategy.depth_why IS 'How many levels below the root a walk after a why opens; -1 for no limit.';
COMMENT ON COLUMN tq.strategy.follow_up IS
'What a follow-up does that its picks do not answer: widen (go on from the root, and say so), or near (say so).';
COMMENT ON COLUMN tq.strategy.mode IS
'How it is searched: tree (a walk from the root), single-pass (the whole tree in one call) or chunked-tree (in slices).';
COMMENT ON COLUMN tq.strategy.merge IS
'How slices of a chunked-tree become one choice: union, "top 8" (the best), or "vote 2 of 3" (of as many cuts).';
COMMENT ON COLUMN tq.strategy.model_write IS 'Model that composes answers of several routes; goes before model.';
COMMENT ON COLUMN tq.strategy.reasoning_rules IS 'What counts as a valid reason, in words; shown at every read.';
COMMENT ON COLUMN tq.strategy.max_calls IS 'Calls of a model that a question may take; -1 for no limit.';
COMMENT ON COLUMN tq.strategy.max_tokens IS 'Tokens in and out that a question may take.';
COMMENT ON COLUMN tq.strategy.max_cost IS 'Money that a question may cost.';
COMMENT ON COLUMN tq.strategy.max_seconds IS 'Time that a question may take; then what was found so far is the answer.';
COMMENT ON COLUMN tq.strategy.patience_seconds IS 'How long a question waits for a rate limit.';
COMMENT ON COLUMN tq.query.strategy_version IS 'Version of the strategy it was asked by: tq.strategy_effective(strategy, version).';
COMMENT ON COLUMN tq.query.prompts IS 'Version of the prompts it was asked with.';
COMMENT ON COLUMN tq.strategy.on_error IS 'raise, or row: a row with the certainty failed.';

COMMENT ON TABLE tq.query IS 'Questions that were asked, each with its plan.';
COMMENT ON COLUMN tq.query.document IS 'The argument doc as it was given; NULL for the whole scope.';
COMMENT ON COLUMN tq.query.status IS 'waiting (in the queue), asking, answered, or failed; while it waits again, error says why.';
COMMENT ON COLUMN tq.query.reads IS 'Nodes read so far.';
COMMENT ON COLUMN tq.query.started_at IS 'When the last attempt began.';
COMMENT ON COLUMN tq.query.sqlstate IS 'Code of the error, with its text, detail and hint beside it.';
COMMENT ON COLUMN tq.query.thread_id IS 'The thread that it is a follow-up of; turn: whose picks it began at.';
COMMENT ON TABLE tq.thread IS 'Conversations: follow-ups that go on from what their owner picked.';
COMMENT ON TABLE tq.pick IS 'What a reader kept of answers, as places: node ids and lines, no text.';
COMMENT ON COLUMN tq.pick.turn IS 'Which call of tq.pick, from 1; a follow-up begins at those of the last.';
COMMENT ON COLUMN tq.pick.pinned IS 'Picked in a version that was not the current one, and stays there.';
COMMENT ON TABLE tq.route IS 'The ways a question took down the trees.';
COMMENT ON COLUMN tq.route.part IS 'What it is after: the what, the why or the how of its subject.';
COMMENT ON TABLE tq.read IS 'Nodes shown to the model on a route, and what it chose.';
COMMENT ON COLUMN tq.read.replies IS 'What the model replied, those thrown away first, each with its reason.';
COMMENT ON TABLE tq.step IS 'Calls of a question that read no node: plan, select, compare, write.';
COMMENT ON TABLE tq.answer IS 'Answers of questions, shown and held back.';
COMMENT ON TABLE tq.citation IS 'Quotes that answers rest on, with their lines.';
COMMENT ON TABLE tq.omission IS 'What was left out, of a document or of an answer, and why.';
COMMENT ON TABLE tq.model_call IS 'Calls of models: tokens and time, counted by step.';
