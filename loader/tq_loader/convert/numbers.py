"""Cells of spreadsheets as they are typed and shown: numbers, dates, percentages."""

from __future__ import annotations

import re
import struct
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from tq_loader.convert.table import Value

EPOCH_1900: Final = datetime(1899, 12, 30)
EPOCH_1904: Final = datetime(1904, 1, 1)
_MAX_SERIAL: Final = 2_958_466  # 9999-12-31


class Format(NamedTuple):
    """What a number format says. ``kind``: number, date, time, datetime, duration, percent, scientific or
    text; ``places``: decimals shown; ``pad``: digits that zeros fill up to; ``before``/``after``: literal
    text around it, such as a currency.
    """

    kind: str
    places: int = 0
    pad: int = 0
    before: str = ""
    after: str = ""


GENERAL: Final = Format("number")

_QUOTED = re.compile(r'"[^"]*"|\\.|_.|\*.')
_BRACKET = re.compile(r"\[([^\]]*)\]")
_BUILT_IN: Final = {
    9: "0%", 10: "0.00%", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "m/d/yy h:mm", 45: "mm:ss", 46: "[h]:mm:ss",
    47: "mm:ss.0", 49: "@",
}  # fmt: skip


def built_in(number: int) -> Format:
    """The format of a number below 164, which files do not spell out."""
    if 27 <= number <= 36 or 50 <= number <= 58:
        return Format("date")  # East Asian dates
    code = _BUILT_IN.get(number)
    return parse_format(code) if code else GENERAL


def parse_format(code: str) -> Format:
    """What a format code such as ``#,##0.00 "€"`` or ``yyyy-mm-dd`` says of positive numbers."""
    section = _sections(code)[0]
    durations = False
    currency = ""

    def bracket(match: re.Match[str]) -> str:
        nonlocal durations, currency
        inner = match.group(1)
        if inner.lower().strip("hms") == "" and inner:
            durations = True
            return inner
        if inner.startswith("$"):
            currency = inner[1:].split("-")[0]
            return "\x01" if currency else ""
        return ""  # colours, conditions

    bare = _BRACKET.sub(bracket, _QUOTED.sub("", section))
    lower = bare.lower().replace("general", "").replace("am/pm", "").replace("a/p", "")
    if durations:
        return Format("duration")
    letters_seen = set(re.findall(r"[ydhms]", lower))
    if letters_seen & set("yd") or ("m" in letters_seen and not letters_seen & set("hs")):
        return Format("datetime" if letters_seen & set("hs") else "date")
    if letters_seen & set("hs"):
        return Format("time")
    if "%" in bare:
        return Format("percent", places=_places(bare))
    if "e+" in lower or "e-" in lower:
        return Format("scientific")
    if bare.strip() == "@":
        return Format("text")
    before, after = _literals(section, currency)
    whole = bare.replace("\x01", "").strip()
    pad = len(whole) if whole and set(whole) == {"0"} and len(whole) > 1 else 0
    return Format("number", places=_places(bare), pad=pad, before=before, after=after)


def _sections(code: str) -> list[str]:
    return re.findall(r'(?:"[^"]*"|\\.|\[[^\]]*\]|[^;])+', code) or [""]


def _places(bare: str) -> int:
    found = re.search(r"\.([0?#]+)", bare)
    return len(found.group(1)) if found else 0


def _literals(section: str, currency: str) -> tuple[str, str]:
    """Currencies and units beside the digits; punctuation that only shapes the number is left out."""
    found = re.search(r"[0#?]", section)
    if not found:
        return "", ""
    end = max(section.rfind(c) for c in "0#?") + 1
    sides = []
    for text in (section[: found.start()], section[end:]):
        shown = "".join(re.findall(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|([$€£¥₹])', text) and [
            "".join(groups) for groups in re.findall(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|([$€£¥₹])', text)
        ])  # fmt: skip
        shown = shown.strip(" ()-–—.,;'")
        sides.append(shown if len(shown) <= 12 else "")
    return sides[0], sides[1]


def number_text(value: float) -> str:
    """A number with all its digits and no exponent, to the 15 that spreadsheets keep."""
    if isinstance(value, int):
        return str(value)
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    short = f"{value:.15g}"
    if "e" not in short:
        return short
    exponent = int(short.split("e")[1])
    # Very large and very small numbers are written as the program shows them.
    return f"{Decimal(short):f}" if -10 <= exponent <= 20 else short.replace("e", "E")


def rounded(value: float) -> int | float:
    """The number to 15 digits; whole ones as int."""
    if isinstance(value, int):
        return value
    if value == int(value) and abs(value) < 2**53 if abs(value) < 1e300 else False:
        return int(value)
    return float(f"{value:.15g}")


def compact_number(raw: int) -> float:
    """A number in the 32 bits that binary workbooks have for short ones: an integer or half a float, or its hundredth."""
    if raw & 2:
        value: float = (raw >> 2) - (1 << 30 if raw & 0x80000000 else 0)
    else:
        value = struct.unpack("<d", struct.pack("<Q", (raw & 0xFFFFFFFC) << 32))[0]
    return value / 100 if raw & 1 else value


def show(value: float, form: Format, epoch: datetime = EPOCH_1900) -> tuple[str, Value]:
    """(as shown, typed) of a number under a format. Dates are ISO."""
    kind = form.kind
    if kind in ("date", "datetime", "time", "duration"):
        shown = serial(value, kind, epoch)
        if shown is not None:
            return shown, shown
        kind = "number"
    typed = rounded(value)
    text = number_text(typed)
    if kind == "percent":
        return f"{text} ({typed * 100:.{form.places}f}%)", typed
    if form.pad and isinstance(typed, int) and typed >= 0:
        text = text.zfill(form.pad)
    if form.before:
        text = f"{form.before}{text}" if len(form.before) == 1 else f"{form.before} {text}"
    if form.after:
        text = f"{text} {form.after}"
    return text, typed


def serial(value: float, kind: str, epoch: datetime) -> str | None:
    """A day count as ISO text; None where it is no date that exists."""
    if not 0 <= value < _MAX_SERIAL and kind != "duration":
        return None
    if kind == "duration" or (kind == "time" and value < 1):
        return duration(timedelta(seconds=round(value * 86400)), day=kind == "time")
    # 1900 is taken for a leap year there: days before its 29th of February are one further on.
    if epoch == EPOCH_1900 and value < 60:
        value += 1
    try:
        moment = epoch + timedelta(days=int(value), seconds=round(value % 1 * 86400, 3))
    except OverflowError:
        return None
    return iso(moment, date_only=kind == "date" and moment.time() == time(0))


def duration(value: timedelta, *, day: bool = False) -> str:
    seconds = round(value.total_seconds())
    sign = "-" if seconds < 0 else ""
    minutes, seconds = divmod(abs(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours:02d}:{minutes:02d}:{seconds:02d}" if day or hours < 100 else (
        f"{sign}{hours}:{minutes:02d}:{seconds:02d}"
    )  # fmt: skip


def iso(value: date | datetime | time, *, date_only: bool = False) -> str:
    """ISO text, seconds only where there are any; a moment at midnight is its date."""
    if isinstance(value, datetime):
        if date_only or value.time() == time(0):
            return value.date().isoformat()
        if value.microsecond >= 999_000:
            value = value.replace(microsecond=0) + timedelta(seconds=1)
        value = value.replace(microsecond=0)
        return value.isoformat(sep=" ", timespec="seconds" if value.second else "minutes")
    return value.isoformat()
