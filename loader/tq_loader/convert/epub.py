"""EPUB: the chapters in the order of the book's spine, each read as the web page that it is."""

from __future__ import annotations

import posixpath
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from lxml import etree as untyped

from tq_loader.convert.charset import decode_labelled
from tq_loader.convert.detect import Found
from tq_loader.convert.html import Unread, blocks, charset_of, local, parse
from tq_loader.convert.package import Package
from tq_loader.convert.protocol import MALFORMED, PASSWORD, ConvertError, Job, Writer

etree: Any = untyped

_PAGES: Final = frozenset(
    ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")
)
_FONT_ONLY: Final = frozenset(("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"))


def convert(data: bytes | bytearray, job: Job, found: Found, out: Writer) -> None:
    """Write the lines of a book. Raises TQ013 for one whose chapters are locked."""
    book = Package(data, job.memory_mb, "book")
    package_name = _package_name(book)
    raw = _read(book, package_name)
    if raw is None:
        raise _broken(f"its package file {package_name} is not in it")
    package = xml(raw)
    out.document("application/epub+zip", _text_of(package, "title"))
    locked = _locked(book)
    items: dict[str, tuple[str, str]] = {}
    for element in package.iter():
        if local(element) == "item" and element.get("id"):
            name = _resolve(package_name, element.get("href") or "")
            items[element.get("id")] = (name, (element.get("media-type") or "").lower())
    spine = [e.get("idref") for e in package.iter() if local(e) == "itemref"]
    order = [items[i] for i in dict.fromkeys(spine) if i in items]
    if not order:
        # A book without a spine: what pages there are, as they stand.
        order = [item for item in items.values() if item[1] in _PAGES]
    unread = Unread()
    missing: list[str] = []
    for name, media_type in order:
        if name in locked:
            raise ConvertError(
                PASSWORD,
                "book is locked",
                f"{name} is encrypted (digital rights management)",
                "load a copy without protection",
            )
        chapter = _read(book, name) if media_type in _PAGES or not media_type else None
        if chapter is None:
            missing.append(name)
            continue
        text = decode_labelled(chapter, charset_of(chapter[:1024])).text
        try:
            root = parse(text, xhtml=True)
        except ConvertError as error:
            if error.code != MALFORMED:
                raise
            missing.append(name)
            continue
        for block in blocks(root, unread, {"part": name}):
            out.line(block.text, kind=block.kind, level=block.level, locator=block.locator)
    if not out.lines:
        raise _broken("not one of its chapters has text")
    for name in missing[:20]:
        out.omission("part", f"the part {name} of the book could not be read")
    unread.scripts = 0
    unread.say(out, out.lines, where="the book")


def _read(book: Package, name: str) -> bytes | None:
    return book.read(name) if book.has(name) else None


def _package_name(book: Package) -> str:
    raw = _read(book, "META-INF/container.xml")
    if raw is not None:
        for element in xml(raw).iter():
            if local(element) == "rootfile" and element.get("full-path"):
                return str(element.get("full-path"))
    found = [name for name in book.names if name.lower().endswith(".opf")]
    if not found:
        raise _broken("it has no package file")
    return found[0]


def xml(raw: bytes) -> Any:
    """The tree of an XML file, without entities, types or anything from elsewhere."""
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, recover=True
    )
    try:
        root = etree.fromstring(raw, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise _broken(str(error)[:200]) from error
    if root is None:
        raise _broken("its package file is empty")
    return root


def _locked(book: Package) -> set[str]:
    raw = _read(book, "META-INF/encryption.xml")
    found: set[str] = set()
    if raw is None:
        return found
    for element in xml(raw).iter():
        if local(element) != "encrypteddata":
            continue
        way = next((e.get("Algorithm") for e in element.iter() if local(e) == "encryptionmethod"), None)
        if way in _FONT_ONLY:
            continue
        found |= {unquote(e.get("URI") or "") for e in element.iter() if local(e) == "cipherreference"}
    return found


def _resolve(base: str, href: str) -> str:
    path = unquote(urlsplit(href).path)
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), path))


def _text_of(root: Any, name: str) -> str | None:
    for element in root.iter():
        if local(element) == name:
            text = "".join(element.itertext()).strip()
            if text:
                return text
    return None


def _broken(why: str) -> ConvertError:
    return ConvertError(
        MALFORMED, "book is damaged", why, "open it in a reader's program, save it anew and load that"
    )
