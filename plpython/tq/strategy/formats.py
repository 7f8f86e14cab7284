"""A question with its answers as one text: a JSON document, Markdown, plain text, or HTML."""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from tq.errors import TqError
from tq.strategy import phrases

Row = dict[str, Any]
Words = Mapping[str, str]

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
    return FORMATS[format](question, answers, phrases.of(language))


def _json(question: Row, answers: list[Row], words: Words) -> str:
    held = max((row["held_back"] or 0 for row in answers), default=0)
    return json.dumps({**question, "held_back": held, "answers": answers}, ensure_ascii=False, indent=2)


# ---------------------------------------------------------------- what is said of an answer


def _scope(question: Row, words: Words) -> str:
    of = question.get("document") or words["everything"]
    version = question.get("strategy_version")
    strategy = f"{question.get('strategy')}" + (f" ({words['version']} {version})" if version else "")
    asked_at = str(question.get("asked_at") or "")[:16].replace("T", " ")
    return " · ".join(part for part in (f"{words['asked of']} {of}", strategy, asked_at) if part)


def _place(citation: Row, words: Words) -> str:
    first, last = citation["line_start"], citation["line_end"]
    lines = f"{words['line']} {first}" if first == last else f"{words['lines']} {first}–{last}"
    page = f", {words['page']} {citation['page']}" if citation.get("page") else ""
    summary = f", {words['from a summary']}" if citation.get("source") == "bullet" else ""
    return f"{citation['document']}, {words['version']} {citation['version']}{page}, {lines}{summary}"


def _heading(row: Row, words: Words) -> str:
    return row["what"] or words["failed" if row["certainty"] == "failed" else "nothing"]


def _corrections(row: Row, words: Words) -> list[tuple[str, str]]:
    """Corrections of an answer: what each says, and who said it where."""
    told = []
    for one in row["detail"].get("corrections") or ():
        by = words["corrected"].format(by=one["corrected_by"], at=str(one["corrected_at"])[:10])
        place = f"{_place(one, words)}; " if one.get("document") else ""
        what = one["what"] or words["nothing settles"]
        told.append((what, f"– {one['note']} ({place}{by})" if one["note"] else f"({place}{by})"))
    return told


def _counted(question: Row, answers: list[Row], words: Words) -> str:
    """How many are held back; "" where none is, or all are opened."""
    held = max((row["held_back"] or 0 for row in answers), default=0)
    if not held or question.get("with_held_back"):
        return ""
    return words["held back one"] if held == 1 else words["held back"].format(n=held)


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


def _text(question: Row, answers: list[Row], words: Words) -> str:
    out = [*_wrapped("", question["question"], ""), _scope(question, words), ""]
    if not answers:
        out += [words["no answers"]]
    for row in answers:
        out += _wrapped("", f"{row['rank']}. {_heading(row, words)}", "")
        out.append(f"   {words[row['certainty']]}")
        for what, more in _corrections(row, words):
            out += _wrapped(words["correction"], f"{what} {more}")
        if row["disagreement"]:
            out.append(f"   {words['disagree']}")
        out += _wrapped(words["why"], row["why"])
        out += _wrapped(words["how"], row["how"])
        for citation in row["citations"]:
            out += _wrapped(words["source"], _place(citation, words))
            out += [f"     | {line}" for line in citation["quote"].split("\n")]
        if row["missing"]:
            out += _wrapped(words["missing"], row["missing"])
        if row["specialist"]:
            out += _wrapped("", words["specialist"])
        out.append("")
    if counted := _counted(question, answers, words):
        out.append(counted)
    return "\n".join(out).rstrip() + "\n"


# ---------------------------------------------------------------- Markdown


def _md(text: object) -> str:
    """A text that Markdown shows as it is."""
    plain = _SPECIAL.sub(r"\\\g<0>", " ".join(str(text).split()))
    return _LEADING.sub(
        lambda found: found[1] + ("\\" + found[2] if not found[2].isdigit() else found[2] + "\\"), plain
    )


def _markdown(question: Row, answers: list[Row], words: Words) -> str:
    out = [f"# {_md(question['question'])}", "", f"*{_md(_scope(question, words))}*", ""]
    if not answers:
        out += [words["no answers"], ""]
    for row in answers:
        out += [
            f"## {row['rank']}. {_md(_heading(row, words))}",
            "",
            f"**{words[row['certainty']]}**",
            "",
        ]
        for what, more in _corrections(row, words):
            out += [f"**{words['correction']}:** {_md(what)} {_md(more)}", ""]
        if row["disagreement"]:
            out += [f"**{words['disagree']}**", ""]
        out += [f"**{words['why']}:** {_md(row['why'])}", "", f"**{words['how']}:** {_md(row['how'])}", ""]
        for citation in row["citations"]:
            out += [f"{words['source']}: {_md(_place(citation, words))}", "", *_quoted(citation["quote"]), ""]
        if row["missing"]:
            out += [f"**{words['missing']}:** {_md(row['missing'])}", ""]
        if row["specialist"]:
            out += [f"**{words['specialist']}**", ""]
    if counted := _counted(question, answers, words):
        out += [f"*{counted}*", ""]
    return "\n".join(out).rstrip() + "\n"


def _quoted(quote: str) -> list[str]:
    # Two blanks at the end keep a line of the quote a line.
    return [f"> {_md(line)}  " for line in quote.split("\n")]


# ---------------------------------------------------------------- HTML


def _html(question: Row, answers: list[Row], words: Words) -> str:
    out = [
        '<article class="tq">',
        f"<h1>{_h(question['question'])}</h1>",
        f'<p class="tq-scope">{_h(_scope(question, words))}</p>',
    ]
    if not answers:
        out.append(f"<p>{_h(words['no answers'])}</p>")
    for row in answers:
        out.append(f'<section class="tq-answer tq-{_h(row["certainty"])}">')
        out.append(f"<h2>{row['rank']}. {_h(_heading(row, words))}</h2>")
        out.append(f'<p class="tq-certainty">{_h(words[row["certainty"]])}</p>')
        for what, more in _corrections(row, words):
            out.append(
                f'<p class="tq-correction"><b>{_h(words["correction"])}:</b> <ins>{_h(what)}</ins> {_h(more)}</p>'
            )
        if row["disagreement"]:
            out.append(f'<p class="tq-disagree"><strong>{_h(words["disagree"])}</strong></p>')
        out.append(f"<p><b>{_h(words['why'])}:</b> {_h(row['why'])}</p>")
        out.append(f"<p><b>{_h(words['how'])}:</b> {_h(row['how'])}</p>")
        for citation in row["citations"]:
            out.append(f'<figure class="tq-source">{_blockquote(citation["quote"])}')
            out.append(f"<figcaption><cite>{_h(_place(citation, words))}</cite></figcaption></figure>")
        if row["missing"]:
            out.append(f"<p><b>{_h(words['missing'])}:</b> {_h(row['missing'])}</p>")
        if row["specialist"]:
            out.append(f"<p><strong>{_h(words['specialist'])}</strong></p>")
        out.append("</section>")
    if counted := _counted(question, answers, words):
        out.append(f'<p class="tq-held-back">{_h(counted)}</p>')
    out.append("</article>")
    return "\n".join(out) + "\n"


def _blockquote(quote: str) -> str:
    return "<blockquote>" + "<br>".join(map(_h, quote.split("\n"))) + "</blockquote>"


def _h(text: object) -> str:
    return html.escape(str(text), quote=True)


FORMATS: Mapping[str, Callable[[Row, list[Row], Words], str]] = {
    "json": _json,
    "markdown": _markdown,
    "text": _text,
    "html": _html,
}
