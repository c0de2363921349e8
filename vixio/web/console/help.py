"""The console's help: the pages of docs/, which the server shows itself, also where it is offline.

The package carries them as ``vixio/docs``; in a checkout they lie beside it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from html import escape
from importlib.resources import files
from itertools import pairwise
from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token


def read_pages() -> dict[str, bytes]:
    """Return the pages in Markdown, by their names without the ending. Call it in a thread."""
    places = (files("vixio") / "docs", files("vixio") / "../docs")
    folder = next((each for each in places if each.is_dir()), None)
    found = sorted(folder.iterdir(), key=lambda each: each.name) if folder else ()
    return {each.name[:-3]: each.read_bytes() for each in found if each.name.endswith(".md")}


def render(name: str, template: str, version: str) -> str:
    """Return a page as HTML, in the places of ``template``. Takes 0.1 s: call it in a thread."""
    from markdown_it import MarkdownIt

    pages = read_pages()
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(pages[name].decode())
    sections: list[tuple[str, str]] = []
    ids: Counter[str] = Counter()
    for token, content in pairwise(tokens):
        token.attrs.pop("style", None)  # of an aligned column: the policy forbids it
        if token.type == "heading_open":
            words = "".join(each.content for each in content.children or ())
            anchor = re.sub(r"[^\w -]", "", words.lower()).replace(" ", "-")  # as GitHub makes it
            token.attrs["id"] = f"{anchor}-{ids[anchor]}" if ids[anchor] else anchor
            ids[anchor] += 1
            if token.tag == "h2":
                sections.append((f"#{token.attrs['id']}", words))
        if token.children:
            token.children = list(_shown(token.children, pages))
    text: str = reader.renderer.render(tokens, reader.options, {})
    titles = {each: its.partition(b"\n")[0].decode().lstrip("# ") for each, its in pages.items()}
    wide = '<div class="wide" role="group" aria-label="Table" tabindex="0"><table>'
    text = text.replace("<table>", wide).replace("</table>", "</table></div>")
    text = text.replace("<pre>", '<pre tabindex="0">')  # what scrolls is reached by the keyboard
    text = text.replace("</h1>", f'</h1>\n<nav aria-label="Sections">{_links(sections)}</nav>', 1)
    return Template(template).substitute(
        version=version, title=escape(titles[name]), text=text, pages=_links(titles.items())
    )


def _shown(tokens: Iterable[Token], pages: Collection[str]) -> Iterator[Token]:
    """Yield what is in a line, without pictures, and without links to files that are not here."""
    here = True
    for token in tokens:
        if token.type == "link_open":
            page, mark, anchor = str(token.attrs["href"]).partition("#")
            name = page.removesuffix(".md")
            if name != page and name in pages:
                token.attrs["href"] = f"{name}{mark}{anchor}"
            else:
                here = not page or "://" in page
        if token.type != "image" and (here or not token.type.startswith("link_")):
            yield token
        here = here or token.type == "link_close"


def _links(links: Iterable[tuple[str, str]]) -> str:
    items = (f'<li><a href="{href}">{escape(words)}</a></li>' for href, words in links)
    return f"<ul>{''.join(items)}</ul>"
