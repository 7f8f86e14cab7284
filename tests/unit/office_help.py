"""Office files made in code: just the parts that a converter looks at."""

from __future__ import annotations

import io
import zipfile

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
NAMESPACES = (
    f'xmlns:w="{W}" xmlns:r="{R}" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
)


def zipped(parts: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def relations(*targets: tuple[str, str, str]) -> str:
    """A .rels part of (id, kind, target)."""
    inner = "".join(f'<Relationship Id="{i}" Type="{R}/{kind}" Target="{to}"/>' for i, kind, to in targets)
    return f'<Relationships xmlns="{_RELS}">{inner}</Relationships>'


def docx(body: str, **parts: str | bytes) -> bytes:
    """A Word document; ``styles``, ``footnotes`` and so on are the inner XML of those parts."""
    names = {"styles", "numbering", "footnotes", "endnotes", "comments", "header", "footer"}
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": (
            '<Types><Override PartName="/word/document.xml" ContentType="application/'
            'vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
        ),
        "_rels/.rels": relations(("r1", "officeDocument", "word/document.xml")),
        "word/document.xml": f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>",
    }
    targets = []
    for name, content in parts.items():
        if name in names:
            assert isinstance(content, str)
            files[f"word/{name}.xml"] = f"<w:{name} {NAMESPACES}>{content}</w:{name}>"
            targets.append((name, name, f"{name}.xml"))
        else:
            files[f"word/{name}.bin"] = content
            targets.append((name, "aFChunk", f"{name}.bin"))
    files["word/_rels/document.xml.rels"] = relations(*targets)
    return zipped(files)


def p(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{r(text)}</w:p>"


def r(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def table(*rows: list[str], header: bool = False) -> str:
    """A Word table; a cell is its text, or the inner XML of a w:tc."""
    inner = ""
    for i, row in enumerate(rows):
        inner += "<w:tr>" + ("<w:trPr><w:tblHeader/></w:trPr>" if header and i == 0 else "")
        inner += "".join(f"<w:tc>{c if c.startswith('<') else p(c)}</w:tc>" for c in row) + "</w:tr>"
    return f"<w:tbl>{inner}</w:tbl>"


def pptx(*slides: str, notes: dict[int, str] | None = None, hidden: frozenset[int] = frozenset()) -> bytes:
    """A presentation; a slide is the inner XML of its shape tree."""
    files: dict[str, str | bytes] = {
        "_rels/.rels": relations(("r1", "officeDocument", "ppt/presentation.xml")),
        "ppt/_rels/presentation.xml.rels": relations(
            *((f"s{i}", "slide", f"slides/slide{i}.xml") for i in range(1, len(slides) + 1))
        ),
        "ppt/presentation.xml": f"<p:presentation {NAMESPACES}><p:sldIdLst>"
        + "".join(f'<p:sldId id="{255 + i}" r:id="s{i}"/>' for i in range(1, len(slides) + 1))
        + "</p:sldIdLst></p:presentation>",
    }
    for i, tree in enumerate(slides, start=1):
        show = ' show="0"' if i in hidden else ""
        files[f"ppt/slides/slide{i}.xml"] = (
            f"<p:sld {NAMESPACES}{show}><p:cSld><p:spTree>{tree}</p:spTree></p:cSld></p:sld>"
        )
        if notes and i in notes:
            files[f"ppt/slides/_rels/slide{i}.xml.rels"] = relations(
                ("n", "notesSlide", f"../notesSlides/n{i}.xml")
            )
            files[f"ppt/notesSlides/n{i}.xml"] = (
                f"<p:notes {NAMESPACES}><p:cSld><p:spTree>{shape(notes[i], kind='body')}"
                "</p:spTree></p:cSld></p:notes>"
            )
    return zipped(files)


def shape(text: str, *, kind: str = "", at: tuple[int, int] | None = None) -> str:
    place = ""
    if at is not None:
        place = f'<a:xfrm><a:off x="{at[0]}" y="{at[1]}"/><a:ext cx="100" cy="100"/></a:xfrm>'
    holder = f'<p:ph type="{kind}"/>' if kind else ""
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    return (
        f"<p:sp><p:nvSpPr><p:nvPr>{holder}</p:nvPr></p:nvSpPr><p:spPr>{place}</p:spPr>"
        f"<p:txBody>{lines}</p:txBody></p:sp>"
    )


_ODF = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("style", "style"),
        ("presentation", "presentation"),
    )
)  # fmt: skip


def odf(kind: str, body: str, styles: str = "", **extra: str) -> bytes:
    """An OpenDocument file; ``kind`` is text, spreadsheet or presentation."""
    content = (
        f'<office:document-content {_ODF} xmlns:dc="http://purl.org/dc/elements/1.1/" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink">'
        f"<office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": content,
            **{name.replace("__", "/") + ".xml": text for name, text in extra.items()},
        }
    )
