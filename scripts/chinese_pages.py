"""Name the Chinese pages whose English sources have changed: chinese_pages.py [--accept PAGE…]

README.zh.md and docs/zh are written for readers in China, from sections of the English pages. At
its end each page names them, with a digest of each::

    <!-- sources
    docs/devices.md#claiming-a-device 1a2b3c4d5e6f
    -->

A section reaches from its heading to the next one, of whatever level; how its lines are broken
does not count. Where one has changed, read both and mend the Chinese page, then let ``--accept``
write the digests anew. Exit status: 1 if a page is stale, 2 if a source is not there.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SOURCES = re.compile(r"^<!-- sources\n(.*?)^-->$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"#+ +(.+?) *$")


@dataclass(frozen=True)
class Section:
    """The part of a page under a heading. ``line``: of the heading, from 1."""

    line: int
    text: str

    @property
    def digest(self) -> str:
        """Twelve digits of the SHA-256 of its words."""
        return hashlib.sha256(" ".join(self.text.split()).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Source:
    """A section that a page is drawn from, as the page names it."""

    page: str
    name: str
    """The English page and the anchor of the section."""
    digest: str

    @property
    def now(self) -> Section | None:
        """The section as it is; None: it is not there."""
        path, _, anchor = self.name.partition("#")
        place = ROOT / path
        return sections(place.read_text(encoding="utf-8")).get(anchor) if place.is_file() else None


def sections(text: str) -> Mapping[str, Section]:
    """Return the sections of a page by the anchors that GitHub gives their headings."""
    lines, starts, fenced = text.splitlines(), [], False
    for number, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if not fenced and (found := HEADING.fullmatch(line)):
            starts.append((number, found[1]))
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    made: dict[str, Section] = {}
    for (start, heading), end in zip(starts, ends, strict=True):
        base = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        repeats = (f"{base}-{number}" for number in itertools.count(1))
        anchor = next(each for each in itertools.chain([base], repeats) if each not in made)
        made[anchor] = Section(start + 1, "\n".join(lines[start:end]))
    return made


@cache
def pages() -> list[Path]:
    """Return the Chinese pages."""
    return [ROOT / "README.zh.md", *sorted((ROOT / "docs/zh").glob("*.md"))]


def sources(page: Path) -> Iterator[Source]:
    """Yield the sections that a page is drawn from. Raises ValueError if it names none."""
    found = SOURCES.findall(page.read_text(encoding="utf-8"))
    if len(found) != 1:
        raise ValueError(f"{page}: expected one comment that begins with `<!-- sources`")
    for line in found[0].splitlines():
        name, _, digest = line.partition(" ")
        yield Source(str(page.relative_to(ROOT)), name, digest)


def stale(page: Path) -> Iterator[str]:
    """Yield a line for each source of a page that is not as the page knows it."""
    for source in sources(page):
        now = source.now
        if now is None:
            yield f"{source.page}: there is no {source.name}"
        elif now.digest != source.digest:
            path = source.name.partition("#")[0]
            yield f"{source.page}: {path}:{now.line} has changed ({source.name})"


def accept(page: Path) -> int:
    """Write the digests of a page's sources as they are; return how many are not there."""
    text, gone = page.read_text(encoding="utf-8"), 0
    lines = []
    for source in sources(page):
        now = source.now
        if now is None:
            print(f"{source.page}: there is no {source.name}", file=sys.stderr)
            gone += 1
        lines.append(f"{source.name} {source.digest if now is None else now.digest}\n")
    body = "".join(lines)
    page.write_text(SOURCES.sub(lambda _: f"<!-- sources\n{body}-->", text), encoding="utf-8")
    return gone


def main() -> int:
    """Print what is stale, or accept it; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--accept", nargs="+", type=Path, metavar="PAGE", default=[])
    accepted: list[Path] = parser.parse_args().accept
    if accepted:
        return 2 if sum(accept(each.resolve()) for each in accepted) else 0
    found = [line for page in pages() for line in stale(page)]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
