"""Zip packages of XML parts (OOXML, OpenDocument), read without trusting any size or entity in them."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, Final
from urllib.parse import unquote

from lxml import etree

from tq_loader.convert.protocol import MALFORMED, PASSWORD, TOO_LARGE, ConvertError

# lxml's stubs know no event streams of untyped names; elements are handled as Any throughout.
Element = Any

MAX_MEMBERS: Final = 65_536
# All parts of XML together, unpacked. They are read one by one, the long ones in a stream.
MAX_UNPACKED: Final = 2 << 30
# A tree of elements takes about this many times the size of its XML.
TREE_COST: Final = 6
_XML_NAMES: Final = (".xml", ".rels", ".vml", ".htm", ".html", ".mht", ".rtf", ".txt")

_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError, ValueError)


class Package:
    """The members of a zip by name. Raises TQ011 for a damaged one, TQ012 for one that unpacks to too much,
    TQ013 for one with a password.
    """

    def __init__(self, data: bytes | bytearray, memory_mb: int, what: str) -> None:
        self._what = what
        # 0 is no limit for the process; a tree is then still bounded.
        self._most = (memory_mb or 4096) * (1 << 20) // TREE_COST
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            members = self._zip.infolist()
        except _DAMAGED as error:
            raise self.damaged(f"its zip directory cannot be read: {error}") from error
        if len(members) > MAX_MEMBERS:
            raise self.too_large(f"it has {len(members):,} members, the limit is {MAX_MEMBERS:,}")
        # What the directory declares is also the most that is ever unpacked of a member.
        size = sum(member.file_size for member in members if member.filename.lower().endswith(_XML_NAMES))
        if size > MAX_UNPACKED:
            raise self.too_large(
                f"it unpacks to {size >> 20:,} MB of XML, the limit is {MAX_UNPACKED >> 20:,} MB"
            )
        self._members = {member.filename.lstrip("/"): member for member in members}
        # Part names are compared without regard to case.
        self._folded = {name.lower(): name for name in self._members}
        self._relations: dict[str, dict[str, Relation]] = {}

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def has(self, name: str) -> bool:
        return name.lower() in self._folded

    def size(self, name: str) -> int:
        return self._member(name).file_size

    def read(self, name: str, most: int | None = None) -> bytes:
        """All bytes of a member of at most ``most`` bytes (as much as a tree may have, when None)."""
        member = self._member(name)
        most = self._most if most is None else most
        if member.file_size > most:
            raise self.too_large(
                f"its part {name} unpacks to {member.file_size >> 20:,} MB, the limit is {most >> 20:,} MB"
            )
        with self.open(name) as stream:
            try:
                return stream.read()
            except _DAMAGED as error:
                raise self.damaged(f"its part {name} cannot be unpacked: {error}") from error

    def open(self, name: str) -> IO[bytes]:
        member = self._member(name)
        if member.flag_bits & 1:
            raise password(self._what)
        try:
            return self._zip.open(member)
        except _DAMAGED as error:
            raise self.damaged(f"its part {name} cannot be opened: {error}") from error

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of a member in pieces of 1 MiB."""
        with self.open(name) as stream:
            try:
                while chunk := stream.read(1 << 20):
                    yield chunk
            except _DAMAGED as error:
                raise self.damaged(f"its part {name} cannot be unpacked: {error}") from error

    def tree(self, name: str) -> Element:
        """The root element of a part."""
        return self.parse(self.read(name), name)

    def optional(self, name: str | None) -> Element | None:
        """The root element of a part that the document can do without; None where it is absent or broken."""
        if name is None or not self.has(name):
            return None
        try:
            return self.tree(name)
        except ConvertError as error:
            if error.code != MALFORMED:
                raise
            return None

    def parse(self, data: bytes, name: str) -> Element:
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True,
            remove_pis=True,
        )  # fmt: skip
        try:
            root = etree.fromstring(data, parser)
        except etree.XMLSyntaxError as error:
            raise self.damaged(f"its part {name} is not well-formed: {error}") from error
        self._refuse_doctype(root, name)
        return root

    def stream(self, name: str, tags: tuple[str, ...]) -> Iterator[Element]:
        """Elements of these tags (``{namespace}name``) as their ends come; each is emptied afterwards."""
        with self.open(name) as stream:
            events = etree.iterparse(
                stream, events=("end",), tag=tags, resolve_entities=False, no_network=True, load_dtd=False,
                huge_tree=False, remove_comments=True, remove_pis=True,
            )  # fmt: skip
            first = True
            try:
                for _, element in events:
                    if first:
                        self._refuse_doctype(element, name)
                        first = False
                    yield element
                    element.clear(keep_tail=False)
                    # Emptied elements would still pile up before their parent.
                    parent = element.getparent()
                    if parent is not None:
                        while element.getprevious() is not None:
                            del parent[0]
            except etree.XMLSyntaxError as error:
                raise self.damaged(f"its part {name} is not well-formed: {error}") from error
            except _DAMAGED as error:
                raise self.damaged(f"its part {name} cannot be unpacked: {error}") from error

    def relations(self, part: str) -> dict[str, Relation]:
        """What a part points to, by relation id; "" is the package itself."""
        if part not in self._relations:
            folder, base = posixpath.split(part)
            name = posixpath.join(folder, "_rels", base + ".rels")
            found: dict[str, Relation] = {}
            root = self.optional(name)
            for element in () if root is None else root:
                target = element.get("Target", "")
                external = element.get("TargetMode") == "External"
                if not external:
                    target = self._resolve(folder, target)
                found[element.get("Id", "")] = Relation(
                    element.get("Type", "").rsplit("/", 1)[-1], target, external
                )
            self._relations[part] = found
        return self._relations[part]

    def related(self, part: str, kind: str) -> list[str]:
        """Names of the parts that ``part`` points to by relations of one kind, for example ``footnotes``."""
        return [
            relation.target
            for relation in self.relations(part).values()
            if relation.kind == kind and not relation.external and self.has(relation.target)
        ]

    def damaged(self, detail: str) -> ConvertError:
        return ConvertError(
            MALFORMED,
            "document is damaged",
            f"{self._what}: {detail}",
            "open it in the program that made it and save it again",
        )

    def too_large(self, detail: str) -> ConvertError:
        return ConvertError(
            TOO_LARGE,
            "document is too large when unpacked",
            f"{self._what}: {detail}",
            "split it into smaller files, or check that it is what it claims to be",
        )

    def _resolve(self, folder: str, target: str) -> str:
        if not target.startswith("/"):
            target = posixpath.join(folder, target)
        target = posixpath.normpath(target).lstrip("/")
        if target.lower() not in self._folded and unquote(target).lower() in self._folded:
            return unquote(target)
        return target

    def _member(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._members[self._folded[name.lower()]]
        except KeyError as error:
            raise self.damaged(f"its part {name} is missing") from error

    def _refuse_doctype(self, element: Element, name: str) -> None:
        # Entities are never expanded; a document type, which none of these formats has, is where they would
        # be declared.
        if element.getroottree().docinfo.internalDTD is not None:
            raise self.damaged(f"its part {name} declares a document type, which the format forbids")


class Relation:
    """A pointer from one part to another, or to an address outside."""

    __slots__ = ("external", "kind", "target")

    def __init__(self, kind: str, target: str, external: bool) -> None:
        self.kind = kind
        self.target = target
        self.external = external


def password(what: str) -> ConvertError:
    return ConvertError(
        PASSWORD,
        "password needed",
        f"the {what} is encrypted",
        "remove the password in the program that made it and load the result",
    )


def local(element: Element) -> str:
    """The name of an element without its namespace; strict and transitional files differ only there."""
    tag = element.tag
    return tag[tag.rfind("}") + 1 :] if isinstance(tag, str) else ""


def attribute(element: Element, name: str) -> str | None:
    """An attribute by its local name, in whatever namespace."""
    value = element.get(name)
    if value is None:
        end = "}" + name
        for key, found in element.attrib.items():
            if key.endswith(end):
                return str(found)
    return None if value is None else str(value)


def flag(element: Element | None) -> bool:
    """Whether an on/off element such as ``w:vanish`` is there and not switched off."""
    return element is not None and attribute(element, "val") not in ("0", "false", "off", "none")


def title_of(package: Package) -> str | None:
    """The title in the document's properties."""
    for name in package.related("", "core-properties") or ["docProps/core.xml"]:
        root = package.optional(name)
        if root is not None:
            for element in root:
                if local(element) == "title":
                    return element.text or None
    return None


def kind_of(data: bytes | bytearray) -> str | None:
    """docx, pptx, xlsx, xlsb, odt, ods or odp by what the zip's parts say; None for any other zip."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = {name.lower().lstrip("/"): name for name in archive.namelist()[:MAX_MEMBERS]}

            def start(name: str, most: int) -> bytes:
                if name not in names:
                    return b""
                with archive.open(names[name]) as stream:
                    return stream.read(most)

            mime = start("mimetype", 100).strip()
            for mark, kind in _ODF:
                if mime.startswith(b"application/vnd.oasis.opendocument." + mark):
                    return kind
            types = start("[content_types].xml", 1 << 20).lower()
    except _DAMAGED:
        return None
    for mark, kind in _OOXML:
        if mark in types:
            return kind
    for name, kind in _PARTS:
        if name in names:
            return kind
    return None


_ODF: Final = ((b"text", "odt"), (b"spreadsheet", "ods"), (b"presentation", "odp"))
_OOXML: Final = (
    (b"wordprocessingml.document.main", "docx"),
    (b"wordprocessingml.template.main", "docx"),
    (b"ms-word.document.macroenabled.main", "docx"),
    (b"ms-word.template.macroenabledtemplate.main", "docx"),
    (b"spreadsheetml.sheet.main", "xlsx"),
    (b"spreadsheetml.template.main", "xlsx"),
    (b"ms-excel.sheet.macroenabled.main", "xlsx"),
    (b"ms-excel.template.macroenabled.main", "xlsx"),
    (b"ms-excel.sheet.binary.macroenabled.main", "xlsb"),
    (b"presentationml.presentation.main", "pptx"),
    (b"presentationml.slideshow.main", "pptx"),
    (b"presentationml.template.main", "pptx"),
    (b"ms-powerpoint.presentation.macroenabled.main", "pptx"),
    (b"ms-powerpoint.slideshow.macroenabled.main", "pptx"),
)
_PARTS: Final = (
    ("word/document.xml", "docx"),
    ("xl/workbook.xml", "xlsx"),
    ("xl/workbook.bin", "xlsb"),
    ("ppt/presentation.xml", "pptx"),
)
