"""Whether a text is one SELECT that reads named tables and does nothing else.

This is the first guard: it says early, and in words, what is wrong. Behind it the query runs with its caller's rights, as
one statement, in a function that may not write, inside a read-only subtransaction that is always rolled back. So what
slips through here can do no more than the caller could do by a SELECT.

sqlglot is imported with this module: only tq.load_query and tq.refresh import it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError

from tq.errors import TqError

MAX_CHARS: Final = 100_000

# The class of sqlglot's nodes has another name from version to version.
Tree = Any

HINT: Final = (
    "Give one SELECT over tables and views that you may read, without INTO, FOR UPDATE, parameters, or functions that "
    "write, wait, read files or run other SQL."
)

_WRITES: Final = "which writes or changes the session"
_WAITS: Final = "which waits"
_FILES: Final = "which reaches files of the server"
_RUNS: Final = "which runs SQL that cannot be seen here"
_SERVER: Final = "which acts on the server"

# By name in any schema. What is volatile and not named here is found in the catalogue (tq.records.query).
REFUSED: Final[dict[str, str]] = {
    name: why
    for why, names in (
        (
            _WRITES,
            "nextval setval lastval set_config setseed lo_create lo_creat lo_open lo_put lo_unlink lo_from_bytea lowrite"
            " lo_truncate lo_truncate64 loread lo_close lo_lseek lo_lseek64 lo_tell lo_tell64 pg_notify"
            " txid_current pg_current_xact_id pg_export_snapshot pg_import_system_collations"
            " pg_advisory_lock pg_advisory_lock_shared pg_advisory_xact_lock pg_advisory_xact_lock_shared"
            " pg_try_advisory_lock pg_try_advisory_lock_shared pg_try_advisory_xact_lock"
            " pg_try_advisory_xact_lock_shared pg_advisory_unlock pg_advisory_unlock_shared pg_advisory_unlock_all",
        ),
        (_WAITS, "pg_sleep pg_sleep_for pg_sleep_until pg_wal_replay_wait"),
        (
            _FILES,
            "pg_read_file pg_read_binary_file pg_stat_file pg_ls_dir pg_ls_logdir pg_ls_waldir pg_ls_tmpdir"
            " pg_ls_archive_statusdir pg_ls_logicalmapdir pg_ls_logicalsnapdir pg_ls_replslotdir pg_current_logfile"
            " lo_import lo_export lo_get pg_file_write pg_file_sync pg_file_rename pg_file_unlink pg_logdir_ls"
            " pg_read_file_old pg_hba_file_rules pg_show_all_file_settings pg_ident_file_mappings",
        ),
        (
            _RUNS,
            "dblink dblink_exec dblink_connect dblink_connect_u dblink_open dblink_fetch dblink_close dblink_send_query"
            " dblink_get_result dblink_disconnect dblink_cancel_query dblink_build_sql_insert dblink_build_sql_update"
            " dblink_build_sql_delete query_to_xml query_to_xmlschema query_to_xml_and_xmlschema cursor_to_xml"
            " cursor_to_xmlschema table_to_xml table_to_xmlschema table_to_xml_and_xmlschema schema_to_xml"
            " schema_to_xmlschema schema_to_xml_and_xmlschema database_to_xml database_to_xmlschema"
            " database_to_xml_and_xmlschema ts_stat ts_rewrite crosstab crosstab2 crosstab3 crosstab4 crosstab_hash"
            " connectby xpath_table",
        ),
        (
            _SERVER,
            "pg_terminate_backend pg_cancel_backend pg_reload_conf pg_rotate_logfile pg_promote pg_switch_wal"
            " pg_create_restore_point pg_start_backup pg_stop_backup pg_backup_start pg_backup_stop"
            " pg_log_backend_memory_contexts"
            " pg_wal_replay_pause pg_wal_replay_resume pg_stat_reset pg_stat_reset_shared"
            " pg_stat_reset_single_table_counters pg_stat_reset_single_function_counters pg_stat_reset_slru"
            " pg_stat_reset_replication_slot pg_stat_clear_snapshot pg_create_physical_replication_slot"
            " pg_create_logical_replication_slot pg_drop_replication_slot pg_copy_physical_replication_slot"
            " pg_copy_logical_replication_slot pg_replication_slot_advance pg_logical_slot_get_changes"
            " pg_logical_slot_get_binary_changes pg_logical_slot_peek_changes pg_logical_slot_peek_binary_changes"
            " pg_logical_emit_message pg_replication_origin_create pg_replication_origin_drop"
            " pg_replication_origin_advance pg_replication_origin_session_setup pg_prewarm brin_summarize_new_values"
            " brin_summarize_range brin_desummarize_range gin_clean_pending_list",
        ),
    )
    for name in names.split()
}

_WRITING: Final = (
    exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter, exp.TruncateTable, exp.Copy, exp.Set,
    exp.Command, exp.Transaction, exp.Commit, exp.Rollback, exp.Use, exp.Pragma,
)  # fmt: skip
_WORDS: Final = {"TruncateTable": "TRUNCATE", "Set": "SET", "Transaction": "BEGIN"}


@dataclass(frozen=True, slots=True)
class Call:
    """A name before a parenthesis: schema ('' where none is written) and name, folded as PostgreSQL folds them."""

    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class Vetted:
    """What is known of an allowed query.

    table: of a query over one table alone, its name as written, quoted, to be looked up; None otherwise.
    plain: whether each row of it is a row of that table (no grouping, no DISTINCT). columns: for each output, the
    column of the table that it shows unchanged, "*" for all of them, None for anything computed. ordered: whether the
    query orders its rows.
    """

    text: str
    table: str | None
    columns: tuple[str | None, ...]
    ordered: bool
    calls: tuple[Call, ...]


def refused(seen: str) -> TqError:
    return TqError("TQ030", "query not allowed", seen, HINT)


def vet(query: str) -> Vetted:
    """The query, without a semicolon at its end. Raises TQ030 with what was seen."""
    if not query.strip():
        raise refused("It is empty.")
    if len(query) > MAX_CHARS:
        raise refused(f"It has {len(query):,} characters; at most {MAX_CHARS:,} are read.")
    try:
        dialect = Postgres()
        tokens = dialect.tokenize(query)
        while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
            tokens.pop()
        _begins(tokens)
        found = [tree for tree in dialect.parser().parse(tokens, query) if tree is not None]
    except SqlglotError as error:
        raise refused(f"It cannot be read as SQL of PostgreSQL: {_first(str(error))}") from None
    except RecursionError:
        raise refused("It is nested too deeply.") from None
    if any(isinstance(tree, exp.Semicolon) for tree in found) or len(found) != 1:
        raise refused(f"It has {len(found)} statements, or a semicolon inside.")
    tree = found[0]
    _kinds(tree)
    if not isinstance(tree, exp.Select | exp.SetOperation | exp.Subquery):
        raise refused(f"It is {_word(tree)}, and no SELECT.")
    calls = tuple(_calls(tokens))
    for call in calls:
        why = REFUSED.get(call.name)
        if why:
            raise refused(f"It calls {call.name}, {why}.")
    table, columns = _base(tree)
    text = query[: tokens[-1].end + 1]
    return Vetted(text, table, columns, tree.args.get("order") is not None, calls)


def _first(text: str) -> str:
    lines = text.replace("\x1b[4m", "").replace("\x1b[0m", "").strip().splitlines()
    return (lines[0] if lines else "no more is known")[:200]


def _begins(tokens: list[Token]) -> None:
    if not tokens:
        raise refused("It holds no statement.")
    first = next((token for token in tokens if token.token_type is not TokenType.L_PAREN), tokens[0])
    if first.token_type not in (TokenType.SELECT, TokenType.WITH):
        raise refused(f"It begins with {first.text[:40].upper()}, and not with SELECT or WITH.")
    for i, token in enumerate(tokens):
        if token.token_type is TokenType.SEMICOLON:
            raise refused("It has several statements: there is a semicolon inside.")
        if token.token_type is TokenType.UNICODE_STRING or (
            token.text.lower() == "u"
            and i + 1 < len(tokens)
            and tokens[i + 1].token_type is TokenType.AMP
            and tokens[i + 1].start == token.end + 1
        ):
            raise refused("It writes a name or text with Unicode escapes (U&).")


def _kinds(tree: Tree) -> None:
    for node in tree.walk():
        if isinstance(node, _WRITING):
            raise refused(f"It holds {_word(node)}.")
        if isinstance(node, exp.Into):
            raise refused("It writes a table (SELECT … INTO).")
        if isinstance(node, exp.Lock):
            raise refused("It locks rows (FOR UPDATE or FOR SHARE).")
        if isinstance(node, exp.Parameter | exp.Placeholder):
            raise refused("It has a parameter, and none is given.")


def _word(node: Tree) -> str:
    if isinstance(node, exp.Command):
        return str(node.this).upper()[:40]
    name = type(node).__name__
    return _WORDS.get(name, name.upper())


def _calls(tokens: list[Token]) -> Iterator[Call]:
    """Every name that stands before a parenthesis. More than the calls (a list of columns is among them): what is
    found by the tokens does not hang on how a parser understands them."""
    for i, token in enumerate(tokens[:-1]):
        if tokens[i + 1].token_type is not TokenType.L_PAREN:
            continue
        name = _folded(token)
        if not name:
            continue
        qualified = i >= 2 and tokens[i - 1].token_type is TokenType.DOT
        yield Call(_folded(tokens[i - 2]) if qualified else "", name)


def _folded(token: Token) -> str:
    if token.token_type is TokenType.IDENTIFIER:
        return str(token.text)
    text = str(token.text).lower()
    return text if text[:1].isalpha() or text[:1] == "_" else ""


def _base(tree: Tree) -> tuple[str | None, tuple[str | None, ...]]:
    """The one table, and what each output shows of it."""
    nothing: tuple[str | None, tuple[str | None, ...]] = (None, ())
    if not isinstance(tree, exp.Select):
        return nothing
    if any(
        tree.args.get(part) for part in ("with_", "with", "group", "distinct", "having", "joins", "laterals")
    ):
        return nothing
    source = tree.args.get("from_") or tree.args.get("from")
    tables = list(tree.find_all(exp.Table))
    if source is None or not isinstance(source.this, exp.Table) or len(tables) != 1:
        return nothing
    table = source.this
    if not isinstance(table.this, exp.Identifier) or table.args.get("joins") or table.args.get("laterals"):
        return nothing
    alias = table.alias
    if any(
        isinstance(
            node, exp.AggFunc | exp.Unnest | exp.GenerateSeries | exp.ExplodingGenerateSeries | exp.Explode
        )
        for node in tree.walk()
    ):
        return nothing
    if table.args.get("alias") is not None and table.args["alias"].args.get("columns"):
        return nothing  # columns under other names
    own = {_name(table.this), alias}
    columns: list[str | None] = []
    for output in tree.expressions:
        shown = output.this if isinstance(output, exp.Alias) else output
        if isinstance(shown, exp.Star):
            columns.append("*")
        elif isinstance(shown, exp.Column) and (not shown.table or shown.table in own):
            columns.append("*" if isinstance(shown.this, exp.Star) else _name(shown.this))
        else:
            columns.append(None)
    parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
    return ".".join('"' + _name(part).replace('"', '""') + '"' for part in parts), tuple(columns)


def _name(identifier: Tree) -> str:
    text = str(identifier.this) if isinstance(identifier, exp.Identifier) else str(identifier)
    return text if isinstance(identifier, exp.Identifier) and identifier.args.get("quoted") else text.lower()
