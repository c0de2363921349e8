"""The console's files, read once: with their types, compressed, and a version of them all."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from vixio.web.console.help import read_pages

INDEX: Final = "index.html"

HELP: Final = "help.html"
"""The frame of a page of the documentation."""

TYPES: Final[Mapping[str, str]] = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/manifest+json",
    "svg": "image/svg+xml",
}
"""By the ending of a name. A file of another type is not served."""

VERSION: Final = "VERSION"
"""In the index: replaced by the version of the files."""

PRELOADED: Final = ("lib/", "components/")
"""Folders whose modules every page uses: a browser is told of them before it finds them."""

MARK: Final = "<!-- files -->"
"""In the index: replaced by links to the style sheets and to those modules."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file. ``compressed``: with gzip."""

    content: bytes
    compressed: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class Assets:
    """All files, by their path. ``version``: of their contents, as it stands in their URLs."""

    version: str
    index: Asset
    files: Mapping[str, Asset]
    help_pages: frozenset[str]
    """Names of pages of the documentation, which are no files of their own here."""


def read_assets() -> Assets:
    """Read the files. Takes some 30 ms: call it in a thread."""
    found = dict(sorted(_read(files("vixio.web.console") / "static")))
    pages = read_pages()
    digest = hashlib.sha256()
    for path, content in (found | pages).items():
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    version = digest.hexdigest()[:12]
    index = found.pop(INDEX).decode().replace(MARK, _links(found)).replace(VERSION, version)
    return Assets(
        version,
        make_asset(INDEX, index.encode()),
        {path: make_asset(path, content) for path, content in found.items()},
        frozenset(pages),
    )


def _read(folder: Traversable, prefix: str = "") -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found.extend(_read(entry, f"{prefix}{entry.name}/"))
        elif entry.name.rpartition(".")[2] in TYPES:
            found.append((f"{prefix}{entry.name}", entry.read_bytes()))
    return found


def make_asset(path: str, content: bytes) -> Asset:
    """Compress a file. ``path``: its ending gives the type."""
    media_type = TYPES[path.rpartition(".")[2]]
    return Asset(content, gzip.compress(content, mtime=0), media_type)


def _links(found: Mapping[str, bytes]) -> str:
    links = [
        f'<link rel="stylesheet" href="{VERSION}/{path}">'
        for path in found
        if path.endswith(".css")
    ]
    links += [
        f'<link rel="modulepreload" href="{VERSION}/{path}">'
        for path in found
        if path.endswith(".js") and path.startswith(PRELOADED)
    ]
    return "\n    ".join(links)
