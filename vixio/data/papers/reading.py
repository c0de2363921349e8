"""Reads one document from stdin: ``python -m vixio.data.papers.reading NAME PAGES CHARS SECONDS``.

A program of its own, with limits on time and memory: a broken file, or one that is made to be large
when it is unpacked, costs itself. Writes a JSON line for each passage, or one with an error.
"""

from __future__ import annotations

import io
import json
import os
import re
import resource
import sys
import zipfile
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from vixio.data.papers.words import CJK, words_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MEMORY_BYTES: Final = 1536 * 2**20
UNPACKED_BYTES: Final = 200 * 2**20
"""Of a Word file."""

KINDS: Final = {
    ".pdf": "pdf",
    ".docx": "word",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
}
"""By the end of a name."""

WIDTH: Final = 1_000
"""Of a passage, in Latin letters; a Chinese character is two."""

_SENTENCE: Final = re.compile(r"(?<=[。!?;！？；])|(?<=[.!?;])\s+|\n+")
_LINE_IN_CJK: Final = re.compile(
    rf"(?<=[{CJK}，。、；：！？）])[ \t]*\n[ \t]*(?=[{CJK}，。、；：！？（])"
)
_HYPHEN: Final = re.compile(r"(?<=[a-z])-\n(?=[a-z])")
_LINE: Final = re.compile(r"(?<!\n)\n(?!\n)")

_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKS: Final = re.compile(r"^\s*(#{1,6}|>|[-*+])\s+|[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}|^[|:\s-]+$")
"""Of Markdown."""

Part = tuple[int, str, str]
"""Page, heading, text."""


class Unreadable(Exception):
    """The document cannot be read. One line with the remedy."""


def _pdf(content: bytes, most_pages: int) -> Iterator[Part]:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it is encrypted: save it without a password")
        pages = len(reader.pages)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"no PDF that can be read ({type(error).__name__})") from None
    if pages > most_pages:
        raise Unreadable(f"it has {pages} pages, {most_pages} are allowed: divide it")
    for number in range(pages):
        try:
            text = reader.pages[number].extract_text()
        except (MemoryError, RecursionError):
            raise
        except Exception:  # noqa: BLE001 - a broken page costs itself; the library raises anything
            text = ""
        yield number + 1, "", text


def _word(content: bytes) -> Iterator[Part]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if sum(each.file_size for each in packed.infolist()) > UNPACKED_BYTES:
                raise Unreadable("it is too large when it is unpacked")
    except zipfile.BadZipFile:
        raise Unreadable("no Word file (.docx); save an older one as .docx") from None
    import docx
    from docx.oxml.ns import qn

    try:
        body = docx.Document(io.BytesIO(content)).element.body
    except (KeyError, ValueError) as error:
        raise Unreadable(f"no Word file (.docx) that can be read ({error})") from None
    page, heading, lines = 1, "", list[str]()
    # Word leaves a mark where a page ended when it was last shown; other programs do not.
    for paragraph in body.iter(qn("w:p")):
        style = paragraph.style or ""
        text = ""
        for each in paragraph.iter(
            qn("w:t"), qn("w:tab"), qn("w:br"), qn("w:lastRenderedPageBreak")
        ):
            ends = each.tag == qn("w:lastRenderedPageBreak") or each.get(qn("w:type")) == "page"
            if ends:
                yield page, heading, "\n\n".join([*lines, text])
                page, lines, text = page + 1, [], ""
            else:
                text += each.text or " " if each.tag == qn("w:t") else " "
        if re.match(r"(?i)(heading|title|berschrift|标题|[1-9]$)", style) and text.strip():
            yield page, heading, "\n\n".join(lines)
            heading, lines = text.strip(), []
        lines.append(text)
    yield page, heading, "\n\n".join(lines)


def _markdown(text: str) -> Iterator[Part]:
    heading, lines, fenced = "", list[str](), False
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        if not fenced and (found := re.match(r"#{1,6}\s+(.+?)\s*#*$", line)):
            yield 0, heading, "\n".join(lines)
            heading, lines = found[1], []
        lines.append(_MARKS.sub("", _LINK.sub(r"\1", line)))
    yield 0, heading, "\n".join(lines)


def _html(content: bytes) -> Iterator[Part]:
    from lxml import html

    declared = re.search(rb"charset=[\"']?([\w-]+)", content[:2_048])
    names = (declared[1].decode(), *_ENCODINGS) if declared else _ENCODINGS
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", _decoded(content, names))
    try:
        root: HtmlElement = html.document_fromstring(text or "<p></p>")
    except (ValueError, html.etree.LxmlError):
        raise Unreadable("no web page that can be read") from None
    for each in list(root.iter("script", "style", "noscript", "template", "svg", "nav")):
        each.drop_tree()
    title = (root.findtext(".//title") or "").strip()
    heading, texts = title, list[str]()
    for event, each in html.etree.iterwalk(
        root.body if root.body is not None else root, ("start", "end")
    ):
        if not isinstance(each.tag, str):
            texts.append((each.tail or "") if event == "end" else "")
        elif event == "start" and each.tag in _HEADINGS:
            yield 0, heading, "".join(texts)
            heading, texts = (
                " ".join(each.text_content().split()) or title,
                ["\n\n", each.text or ""],
            )
        else:
            texts.append(each.text or "" if event == "start" else each.tail or "")
            if each.tag in _BLOCKS:
                texts.append("\n\n" if event == "end" else "")
    yield 0, heading, "".join(texts)


_HEADINGS: Final = ("h1", "h2", "h3", "h4")
_BLOCKS: Final = ("p", "div", "li", "tr", "td", "br", "section", "article", "pre", *_HEADINGS)
_ENCODINGS: Final = ("utf-8-sig", "gb18030", "cp1252", "latin-1")


def _decoded(content: bytes, names: Iterable[str] = _ENCODINGS) -> str:
    """Return the text of a file: by its mark, as UTF-8, as GB 18030 if that gives Chinese."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    for name in names:
        try:
            text = content.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
        if name == "gb18030":
            others = re.sub(r"[\x00-\x7f]", "", text)
            if len(others.encode("gb2312", "ignore")) < 2 * len(others) * 0.9:
                continue  # rare characters: the letters of another encoding
        return text
    return content.decode("latin-1")


def parts(name: str, content: bytes, most_pages: int) -> Iterator[Part]:
    """Yield the parts of a document. Raises Unreadable, ImportError."""
    match KINDS.get(os.path.splitext(name.lower())[1]):  # noqa: PTH122 - a name, no path
        case "pdf":
            yield from _pdf(content, most_pages)
        case "word":
            yield from _word(content)
        case "markdown":
            yield from _markdown(_decoded(content))
        case "html":
            yield from _html(content)
        case "text":
            pages = _decoded(content).split("\f")
            for number, page in enumerate(pages, 1):
                yield number if len(pages) > 1 else 0, "", page
        case _:
            raise Unreadable("PDF, Word (.docx), Markdown, text and HTML are read, by their ending")


def passages(text: str) -> Iterator[str]:
    """Divide the text of a part at its sentences, into pieces of :data:`WIDTH`."""
    text = _HYPHEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _LINE.sub(" ", _LINE_IN_CJK.sub("", text))
    piece, width = "", 0
    for sentence in _SENTENCE.split(text):
        clean = " ".join(sentence.split())
        for start in range(0, len(clean), WIDTH // 2):  # a sentence without an end
            each = clean[start : start + WIDTH // 2]
            wide = len(each) + len(re.findall(f"[{CJK}]", each))
            if piece and width + wide > WIDTH:
                yield piece
                piece, width = "", 0
            joint = "" if not piece or re.match(f"[{CJK}]", each) else " "
            piece, width = piece + joint + each, width + wide
    if piece:
        yield piece


def lines(name: str, content: bytes, most_pages: int, most_chars: int) -> Iterator[dict[str, Any]]:
    """Yield what is written for each passage. Raises Unreadable, ImportError."""
    left, title = most_chars, " ".join(words_of(os.path.splitext(name)[0]))  # noqa: PTH122
    for page, heading, text in parts(name, content, most_pages):
        head = " ".join(heading.split())[:200]
        titled = f"{title} {' '.join(words_of(head))}".strip()
        for piece in passages(text):
            left -= len(piece)
            if left < 0:
                raise Unreadable(f"it has more than {most_chars} characters: divide it")
            words = (titled, " ".join(words_of(piece)))
            yield {"page": page, "heading": head, "text": piece, "words": words}
    if left == most_chars:
        raise Unreadable("there is no text in it; pictures of pages need text recognition (OCR)")


def main() -> None:
    """Read the document."""
    name, most_pages, most_chars, seconds = sys.argv[1], *map(int, sys.argv[2:5])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    os.nice(10)
    try:
        for line in lines(name, sys.stdin.buffer.read(), most_pages, most_chars):
            _write(line)
    except Unreadable as error:
        _write({"error": str(error)})
    except ImportError as error:
        _write({"missing": str(error.name)})
    except (MemoryError, RecursionError):
        _write({"error": "it takes too much memory"})
    except Exception as error:  # noqa: BLE001 - a library raises anything for a broken file
        _write({"error": f"it cannot be read ({type(error).__name__})"})


def _write(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
