"""tq blobs: where the files' bytes are, and moving them all to another store."""

from __future__ import annotations

import sys

import click

from tq_loader.commands import options

_PLACES = (
    "SELECT coalesce(store, 'database') AS store, count(*) AS blobs,"
    " sum(coalesce(bytes, octet_length(content)))::bigint AS bytes FROM tq.blob GROUP BY 1 ORDER BY 1"
)
_SETTING = "SELECT value #>> '{}' AS store FROM tq.setting WHERE name = 'blob_store'"
_TO_MOVE = (
    "SELECT encode(sha256, 'hex') AS sha256, coalesce(bytes, octet_length(content)) AS bytes FROM tq.blob"
    " WHERE coalesce(store, 'database') <> %s ORDER BY sha256"
)


@click.group("blobs")
def group() -> None:
    """Show where the files' bytes are kept, or move them to another store."""


@group.command("status")
@options.url
@options.as_json
def status(url: str | None, as_json: bool) -> None:
    """Show the stores, and where new files go."""
    from tq_loader.commands import render
    from tq_loader.commands.client import connected

    with connected(url) as connection:
        rows = connection.execute(_PLACES).fetchall()
        setting = connection.execute(_SETTING).fetchone()
    wanted = setting["store"] if setting else "database"
    if as_json:
        render.as_json({"blob_store": wanted, "stores": rows})
        return
    click.echo(f"new files go to {wanted}")
    if rows:
        click.echo()
        render.table(
            ("store", "blobs", "bytes"), [(row["store"], row["blobs"], row["bytes"]) for row in rows]
        )


@group.command("move")
@click.argument("target", required=False)
@options.url
@options.as_json
def move(target: str | None, url: str | None, as_json: bool) -> None:
    """Move all bytes to TARGET: database, file:///path or s3://bucket/prefix.

    TARGET becomes the setting blob_store, so that new files go there too; without it everything goes to where the
    setting says. The server does the work, with its own account and credentials. A copy is read back and compared with
    its digest before the old one is dropped. Stopped half way (Ctrl-C), it goes on where it was when it is run again.
    """
    from tq_loader.commands import render
    from tq_loader.commands.client import connected, error_fields, say_error

    moved = moved_bytes = busy = 0
    failed: list[dict[str, object]] = []
    with connected(url) as connection:
        import psycopg

        if target is not None:
            connection.execute(
                "UPDATE tq.setting SET value = to_jsonb(%s::text) WHERE name = 'blob_store'", [target]
            )
        setting = connection.execute(_SETTING).fetchone()
        wanted = str(setting["store"]) if setting else "database"
        rows = connection.execute(_TO_MOVE, [wanted]).fetchall()
        total = sum(row["bytes"] for row in rows)
        with click.progressbar(
            length=max(1, total),
            label=f"moving {len(rows)} blobs",
            file=sys.stderr,
            hidden=as_json or not rows,
        ) as bar:
            for row in rows:
                try:
                    done = connection.execute(
                        "SELECT tq_private.move_blob(%s, %s) AS old", [row["sha256"], wanted]
                    ).fetchone()
                    old = done["old"] if done else None
                    if old is None:
                        busy += 1
                    else:
                        moved += 1
                        moved_bytes += row["bytes"]
                    if old:
                        connection.execute("SELECT tq_private.drop_copy(%s)", [old])
                except psycopg.Error as error:
                    if error.sqlstate is None or error.sqlstate.startswith("57"):
                        raise
                    fields = error_fields(error)
                    fields["message"] = (fields["message"] or "").removeprefix("plpy.Error: ")
                    failed.append({"sha256": row["sha256"], **fields})
                    if len(failed) == 1 and not as_json:
                        say_error(
                            row["sha256"], fields["code"], fields["message"], fields["detail"], fields["hint"]
                        )
                    if error.sqlstate == "TQ041" and not moved:
                        break  # nothing will get in
                bar.update(row["bytes"])
    left = len(rows) - moved
    if as_json:
        render.as_json(
            {
                "store": wanted,
                "moved": moved,
                "bytes": moved_bytes,
                "busy": busy,
                "left": left,
                "failed": failed,
            }
        )
    else:
        click.echo(f"blobs: {moved} moved to {wanted} ({moved_bytes} bytes), {left} left")
        if busy:
            click.echo(f"blobs: {busy} of them were in the hands of a worker; run it again")
    if failed:
        sys.exit(1)
