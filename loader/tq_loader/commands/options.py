"""Options that several commands share."""

from __future__ import annotations

import click

instance = click.option(
    "--instance",
    metavar="NAME",
    help="One of this checkout's private clusters (default: TQ_INSTANCE, else main).",
)
url = click.option(
    "--url", "url", metavar="URL", help="Another database (default: TQ_URL, else the private cluster)."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
