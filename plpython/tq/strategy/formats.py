"""A question with its answers as one text: a JSON document, Markdown, plain text, or HTML."""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from tq.ask import words
from tq.ask.words import say
from tq.errors import TqError

Row = dict[str, Any]

WIDTH = 100  # of plain text
_SPECIAL = re.compile(r"[\\`*_\[\]<>&~|]")
_LEADING = re.compile(r"^(\s*)(#+|[-+=]|\d+(?=[.)]))")  # what makes a heading, a list or a rule of a line


def write(question: Row, answers: list[Row], format: str, language: str) -> str:
    """The text. question: {"question", "document", "strategy", "strategy_version", "asked_at", "query_id"}; answers: rows
    of tq.ask. Raises TQ021 for a format that is none."""
    if format not in FORMATS:
        raise TqError(
            "TQ021",
            "invalid value for the argument format",
            f"It is {json.dumps(format[:40])}.",
            f"A format is {', '.join(sorted(FORMATS))}; NULL is that of the strategy. tq.answers gives rows.",
        )
    with words.speaking(language):
        return FORMATS[format](question, answers)


def _json(question: Row, answers: list[Row]) -> str:
    held = max((row["held_back"] or 0 for row in answers), default=0)
    return json.dumps({**question, "held_back": held, "answers": answers}, ensure_ascii=False, indent=2)


# ---------------------------------------------------------------- what is said of an answer


def _scope(question: Row) -> str:
    version = question.get("strategy_version")
    strategy = question.get("strategy")
    asked_at = str(question.get("asked_at") or "")[:16].replace("T", " ")
    told = [
        say("asked of {documents}", documents=question.get("document") or say("the whole scope")),
        say("{strategy} (version {version})", strategy=strategy, version=version)
        if version
        else str(strategy),
        asked_at,
    ]
    return " · ".join(part for part in told if part)


def _place(citation: Row) -> str:
    label = say("{name}, version {version}", name=citation["document"], version=citation["version"])
    where = words.lines(citation["line_start"], citation["line_end"])
    place = (
        say("{label}, {lines} (page {page})", label=label, lines=where, page=citation["page"])
        if citation.get("page")
        else f"{label}, {where}"
    )
    return say("{place}, from a summary", place=place) if citation.get("source") == "bullet" else place


def _heading(row: Row) -> str:
    if row["what"]:
        return str(row["what"])
    failed = row["certainty"] == "failed"
    return say("The question did not run.") if failed else say("Nothing found settles the question.")


def _corrections(row: Row) -> list[tuple[str, str]]:
    """Corrections of an answer: what each says, and who said it where."""
    told = []
    for one in row["detail"].get("corrections") or ():
        by = say("by {name}, {day}", name=one["corrected_by"], day=str(one["corrected_at"])[:10])
        place = f"{_place(one)}; " if one.get("document") else ""
        what = one["what"] or say("nothing settles it")
        told.append((what, f"– {one['note']} ({place}{by})" if one["note"] else f"({place}{by})"))
    return told


def _counted(question: Row, answers: list[Row]) -> str:
    """How many are held back; "" where none is, or all are opened."""
    held = max((row["held_back"] or 0 for row in answers), default=0)
    if not held or question.get("with_held_back"):
        return ""
    return words.count(held, "more ranked answer held back", "more ranked answers held back")


# ---------------------------------------------------------------- plain text


def _wrapped(label: str, text: str, indent: str = "   ") -> list[str]:
    start = f"{indent}{label}: " if label else indent
    lines: list[str] = []
    for part in str(text).splitlines() or [""]:
        lines += textwrap.wrap(
            part, WIDTH, initial_indent=start if not lines else indent + "  ", subsequent_indent=indent + "  ",
            break_long_words=False, break_on_hyphens=False,
        ) or [start.rstrip() if not lines else ""]  # fmt: skip
    return lines


def _text(question: Row, answers: list[Row]) -> str:
    out = [*_wrapped("", question["question"], ""), _scope(question), ""]
    if not answers:
        out += [say("There are no answers yet.")]
    for row in answers:
        out += _wrapped("", f"{row['rank']}. {_heading(row)}", "")
        out.append(f"   {say(row['certainty'])}")
        for what, more in _corrections(row):
            out += _wrapped(say("Correction"), f"{what} {more}")
        if row["disagreement"]:
            out.append(f"   {say('The sources disagree: another answer contradicts this one.')}")
        out += _wrapped(say("Why"), row["why"])
        out += _wrapped(say("How"), row["how"])
        for citation in row["citations"]:
            out += _wrapped(say("Source"), _place(citation))
            out += [f"     | {line}" for line in citation["quote"].split("\n")]
        if row["missing"]:
            out += _wrapped(say("Missing"), row["missing"])
        if row["specialist"]:
            out += _wrapped("", say("A specialist has to decide this."))
        out.append("")
    if counted := _counted(question, answers):
        out.append(counted)
    return "\n".join(out).rstrip() + "\n"


# ---------------------------------------------------------------- Markdown


def _md(text: object) -> str:
    """A text that Markdown shows as it is."""
    plain = _SPECIAL.sub(r"\\\g<0>", " ".join(str(text).split()))
    return _LEADING.sub(
        lambda found: found[1] + ("\\" + found[2] if not found[2].isdigit() else found[2] + "\\"), plain
    )


def _markdown(question: Row, answers: list[Row]) -> str:
    out = [f"# {_md(question['question'])}", "", f"*{_md(_scope(question))}*", ""]
    if not answers:
        out += [say("There are no answers yet."), ""]
    for row in answers:
        out += [
            f"## {row['rank']}. {_md(_heading(row))}",
            "",
            f"**{say(row['certainty'])}**",
            "",
        ]
        for what, more in _corrections(row):
            out += [f"**{say('Correction')}:** {_md(what)} {_md(more)}", ""]
        if row["disagreement"]:
            out += [f"**{say('The sources disagree: another answer contradicts this one.')}**", ""]
        out += [f"**{say('Why')}:** {_md(row['why'])}", "", f"**{say('How')}:** {_md(row['how'])}", ""]
        for citation in row["citations"]:
            out += [f"{say('Source')}: {_md(_place(citation))}", "", *_quoted(citation["quote"]), ""]
        if row["missing"]:
            out += [f"**{say('Missing')}:** {_md(row['missing'])}", ""]
        if row["specialist"]:
            out += [f"**{say('A specialist has to decide this.')}**", ""]
    if counted := _counted(question, answers):
        out += [f"*{counted}*", ""]
    return "\n".join(out).rstrip() + "\n"


def _quoted(quote: str) -> list[str]:
    # Two blanks at the end keep a line of the quote a line.
    return [f"> {_md(line)}  " for line in quote.split("\n")]


# ---------------------------------------------------------------- HTML


def _html(question: Row, answers: list[Row]) -> str:
    out = [
        '<article class="tq">',
        f"<h1>{_h(question['question'])}</h1>",
        f'<p class="tq-scope">{_h(_scope(question))}</p>',
    ]
    if not answers:
        out.append(f"<p>{_h(say('There are no answers yet.'))}</p>")
    for row in answers:
        out.append(f'<section class="tq-answer tq-{_h(row["certainty"])}">')
        out.append(f"<h2>{row['rank']}. {_h(_heading(row))}</h2>")
        out.append(f'<p class="tq-certainty">{_h(say(row["certainty"]))}</p>')
        for what, more in _corrections(row):
            out.append(
                f'<p class="tq-correction"><b>{_h(say("Correction"))}:</b> <ins>{_h(what)}</ins> {_h(more)}</p>'
            )
        if row["disagreement"]:
            told = _h(say("The sources disagree: another answer contradicts this one."))
            out.append(f'<p class="tq-disagree"><strong>{told}</strong></p>')
        out.append(f"<p><b>{_h(say('Why'))}:</b> {_h(row['why'])}</p>")
        out.append(f"<p><b>{_h(say('How'))}:</b> {_h(row['how'])}</p>")
        for citation in row["citations"]:
            out.append(f'<figure class="tq-source">{_blockquote(citation["quote"])}')
            out.append(f"<figcaption><cite>{_h(_place(citation))}</cite></figcaption></figure>")
        if row["missing"]:
            out.append(f"<p><b>{_h(say('Missing'))}:</b> {_h(row['missing'])}</p>")
        if row["specialist"]:
            out.append(f"<p><strong>{_h(say('A specialist has to decide this.'))}</strong></p>")
        out.append("</section>")
    if counted := _counted(question, answers):
        out.append(f'<p class="tq-held-back">{_h(counted)}</p>')
    out.append("</article>")
    return "\n".join(out) + "\n"


def _blockquote(quote: str) -> str:
    return "<blockquote>" + "<br>".join(map(_h, quote.split("\n"))) + "</blockquote>"


def _h(text: object) -> str:
    return html.escape(str(text), quote=True)


FORMATS: Mapping[str, Callable[[Row, list[Row]], str]] = {
    "json": _json,
    "markdown": _markdown,
    "text": _text,
    "html": _html,
}
