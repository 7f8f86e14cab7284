"""What all workbooks share: a sheet's name is a heading, each of its rows a line, and what is odd is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from tq_loader.convert.package import Package, local
from tq_loader.convert.protocol import MALFORMED, ConvertError, LineRanges, Writer, count_of, place_of
from tq_loader.convert.table import Cell, Cells, TableWriter, one_line

MAX_COLUMNS: Final = 16_384
MAX_MERGES: Final = 200_000
ERRORS: Final = frozenset(
    {"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#GETTING_DATA"}
)
# As the binary formats number them.
ERROR_CODES: Final = {
    0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?", 0x24: "#NUM!", 0x2A: "#N/A",
    0x2B: "#GETTING_DATA",
}  # fmt: skip

Merge = tuple[int, int, int, int]  # first row, last row (from 1), first column, last column (from 0)


class Row(NamedTuple):
    """``errors``: cells with an error value; ``uncalculated``: formulas that the file has no value of."""

    number: int
    hidden: bool
    cells: Cells
    errors: int = 0
    uncalculated: int = 0


class Sheet(Protocol):
    """A worksheet of any format. ``state`` is visible or what hides it."""

    name: str
    state: str

    def merges(self, notes: Notes) -> list[Merge]: ...

    def rows(self, notes: Notes) -> Iterator[Row]:
        """Rows in their order, those without cells too."""

    def beside(self, out: Writer, locator: dict[str, Any]) -> None:
        """Lines and omissions of what is not in cells: comments, text boxes, pictures."""


def write_sheet(out: Writer, sheet: Sheet) -> None:
    """Write the lines of a sheet, hidden or not, and what has to be said of it."""
    first = out.lines + 1
    heading(out, sheet.name, sheet.state)
    notes = Notes()
    locator: dict[str, Any] = {"sheet": sheet.name}
    if sheet.state != "visible":
        locator["hidden"] = True
    carried = Carried(sheet.merges(notes))
    writer = TableWriter(out, locator)
    lines = RowLines(out, writer, notes)
    for row in sheet.rows(notes):
        cells = carried.into(row.number, row.cells)
        if cells:
            lines.row(row.number, cells, row.hidden, (row.errors, row.uncalculated))
    writer.close()
    lines.settle()
    notes.say(out, sheet.name)
    sheet.beside(out, locator)
    if sheet.state != "visible":
        out.omission(
            "hidden_sheet",
            f"sheet {sheet.name!r} is hidden in the workbook; it was read",
            line_start=first,
            line_end=out.lines,
        )


@dataclass(slots=True)
class Notes:
    """Lines of a sheet of which something has to be said."""

    errors: LineRanges = field(default_factory=LineRanges)
    uncalculated: LineRanges = field(default_factory=LineRanges)
    hidden: LineRanges = field(default_factory=LineRanges)
    hidden_columns: list[str] = field(default_factory=list)
    merges_left: bool = False

    def say(self, out: Writer, sheet: str) -> None:
        for ranges, kind, detail in (
            (self.errors, "formula_error", "formula errors in place of values"),
            (self.uncalculated, "formula_without_value", "formulas that the file has no calculated value of"),
        ):
            if ranges.count:
                for start, end in ranges.shown(5):
                    out.omission(
                        kind,
                        f"{detail}: {count_of(ranges.count, 'cell')} of sheet {sheet!r} "
                        f"({place_of(start, end)})",
                        line_start=start,
                        line_end=end,
                    )
        for start, end in self.hidden.shown(20):
            out.omission(
                "hidden_rows",
                f"rows of sheet {sheet!r} are hidden in the workbook; they were read ({place_of(start, end)})",
                line_start=start,
                line_end=end,
            )
        if self.hidden_columns:
            shown = ", ".join(self.hidden_columns[:20])
            out.omission(
                "hidden_columns",
                f"columns of sheet {sheet!r} are hidden in the workbook; they were read ({shown})",
            )
        if self.merges_left:
            out.omission(
                "merged_cells",
                f"sheet {sheet!r} has more than {MAX_MERGES:,} merged cells; not all were followed",
            )


class RowLines:
    """Rows to their lines: the writer holds some back until it knows their header."""

    def __init__(self, out: Writer, writer: TableWriter, notes: Notes) -> None:
        self._out = out
        self._writer = writer
        self._notes = notes
        self._waiting: list[tuple[bool, tuple[int, int]]] = []
        self._written = out.lines

    def row(self, number: int, cells: Cells, hidden: bool, faults: tuple[int, int]) -> None:
        self._waiting.append((hidden, faults))
        self._writer.row(number, cells)
        if self._out.lines != self._written:
            self.settle()

    def settle(self) -> None:
        """Each row is one line, in order: as many of those that wait have lines as were written."""
        count = self._out.lines - self._written
        for hidden, (errors, uncalculated) in self._waiting[:count]:
            self._written += 1
            if hidden:
                self._notes.hidden.add(self._written)
            if errors:
                self._notes.errors.add(self._written, errors)
            if uncalculated:
                self._notes.uncalculated.add(self._written, uncalculated)
        del self._waiting[:count]
        self._written = self._out.lines


class Carried:
    """Merged cells: their width for headers, and their value in each further row that they cover."""

    def __init__(self, merges: list[tuple[int, int, int, int]]) -> None:
        self._starts: dict[int, list[tuple[int, int, int]]] = {}
        for top, bottom, left, right in merges:
            self._starts.setdefault(top, []).append((bottom, left, right))
        self._open: list[tuple[int, int, Cell]] = []  # (last row, column, cell)

    def into(self, number: int, cells: Cells) -> Cells:
        """The row with what merged cells above it say; {} when it has nothing of its own."""
        if not self._starts and not self._open:
            return cells
        if self._open:
            self._open = [item for item in self._open if item[0] >= number]
        own = bool(cells)
        for _, column, cell in self._open:
            if own and column not in cells:
                cells[column] = cell
        for bottom, left, right in self._starts.get(number, ()):
            found = cells.get(left)
            if found is None:
                continue
            found = found._replace(span=right - left + 1)
            cells[left] = found
            if bottom > number:
                self._open.append((bottom, left, found._replace(carried=True)))
        return dict(sorted(cells.items())) if own else {}


def heading(out: Writer, name: str, state: str) -> None:
    """A sheet's name is its heading."""
    hidden = state != "visible"
    locator: dict[str, Any] = {"sheet": name} | ({"hidden": True} if hidden else {})
    out.line(name + (" (hidden sheet)" if hidden else ""), kind="heading", level=1, locator=locator)


def comment(out: Writer, locator: dict[str, Any], cell: str | None, author: str, text: str) -> None:
    """A comment on a cell is a line, but none of the sheet's content."""
    by = f" by {author}" if author else ""
    out.line(
        f"[comment on {cell}{by}] {text}",
        kind="furniture",
        locator=locator | {"part": "comment", "cell": cell},
    )


def say_comments(out: Writer, sheet: str, start: int) -> None:
    """That the lines from ``start`` on are comments, where there are any."""
    if out.lines >= start:
        out.omission(
            "comments",
            f"{count_of(out.lines - start + 1, 'comment')} on cells of sheet {sheet!r}, "
            "kept as lines marked as not part of the sheet",
            line_start=start,
            line_end=out.lines,
        )


def say_objects(out: Writer, sheet: str, pictures: int, charts: int, objects: int = 0) -> None:
    for count, kind, what in (
        (pictures, "image", "image"),
        (charts, "chart", "chart"),
        (objects, "embedded_object", "embedded object"),
    ):
        if count:
            out.omission(kind, f"{count_of(count, what)} of sheet {sheet!r} not read")


def drawings(package: Package, part: str, out: Writer, sheet: str, locator: dict[str, Any]) -> None:
    """Text boxes of a sheet in an Office package as lines; its pictures, charts and objects as omissions."""
    pictures = charts = 0
    for name in package.related(part, "drawing"):
        root = package.optional(name)
        if root is None:
            continue
        for element in root.iter():
            match local(element):
                case "txBody":
                    text = one_line(
                        " ".join(
                            "".join(t.text or "" for t in p.iter() if local(t) == "t")
                            for p in element.iter()
                            if local(p) == "p"
                        )
                    )
                    if text:
                        out.line(text, locator=locator | {"part": "text_box"})
                case "pic":
                    pictures += 1
                case "chart":
                    charts += 1
    objects = len(package.related(part, "oleObject")) + len(package.related(part, "package"))
    say_objects(out, sheet, pictures, charts, objects)


def say_beside(package: Package, main: str, out: Writer) -> None:
    """What a workbook has beside its sheets."""
    for kind, what in (("vbaProject", "macros"), ("externalLink", "links to other workbooks")):
        if package.related(main, kind):
            out.omission(
                "macro" if kind == "vbaProject" else "external_link",
                f"the workbook has {what}; they were not read",
            )


def no_cells() -> ConvertError:
    return ConvertError(
        MALFORMED, "workbook is empty", "there is no worksheet in it", "check that it is the file you mean"
    )
