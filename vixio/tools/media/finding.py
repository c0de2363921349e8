"""Finds what a user names, by ear: with spelling mistakes, in Chinese by its sound.

Each name is compared as it is written, and by its pinyin without tones where it has Chinese
characters, so that 晴天 is found by 青天. A name that is said only in part counts less.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from vixio.tools.media.library import Item, Kind

Wanted = Literal["any", "music", "story", "podcast", "radio"]

GOOD: Final = 72.0
"""Of 100: below this nothing is meant."""

_SURE: Final = 80.0
"""Of 100: a slip in a word, no other word."""

MAX_QUEUE: Final = 500

_WORDS: Final = re.compile(r"[^\w]+")
_CHINESE: Final = re.compile(r"[\u3400-\u9fff]")
_FILL: Final = frozenset(
    {"a", "an", "the", "some", "any", "my", "our", "for", "by", "from", "of", "please", "me", "us"}
    | {"song", "songs", "track", "music", "album", "artist", "radio", "station", "something", "to"}
    | {"story", "stories", "tale", "podcast", "play", "listen", "hear"}
)
_NEAR: Final = (("zh", "z"), ("ch", "c"), ("sh", "s"), ("ang", "an"), ("eng", "en"), ("ing", "in"))
"""Sounds that many speakers, and recognisers, do not tell apart."""

_FILL_ZH: Final = re.compile(
    r"(请|我想听|我要听|播放|放|来|听|一首|一个|首歌|歌曲|歌|音乐|专辑|电台|广播|故事|播客|给|讲|的)"
)
_KINDS: Final[dict[Wanted, tuple[str, ...]]] = {
    "story": ("story", "stories", "tale", "故事", "童话"),
    "radio": ("radio", "station", "电台", "广播"),
    "podcast": ("podcast", "播客"),
}
"""Words of a query that name a kind."""

_STORIES: Final = frozenset(
    {"audiobook", "speech", "story", "fairy tale", "hörspiel", "有声书", "故事"}
)


class Index:
    """The names of all items, folded once. ``search`` blocks for milliseconds per 10,000."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self._names: list[tuple[int, int, str]] = []
        """By item: the rank of a field, and its folded forms."""
        for place, item in enumerate(items):
            fields = (item.title, item.artist, item.album, item.genre, *item.groups)
            for rank, field in enumerate(fields):
                for form in _forms(field):
                    self._names.append((place, min(rank, 4), form))
            if item.artist:
                for form in _forms(f"{item.title} {item.artist}"):
                    self._names.append((place, 0, form))
        self._texts = [form for _, _, form in self._names]

    def search(self, query: str, kind: Wanted = "any") -> list[Item]:
        """Return what is meant, in the order in which it is to be played; empty: nothing.

        A title gives this item; an artist, album, genre, folder or playlist all that belong to it.
        Without a query: all of the kind, or all music.
        """
        said = query.casefold()
        if kind == "any":
            named = [each for each, words in _KINDS.items() if any(word in said for word in words)]
            for each in named:
                if found := self.search(query, each):
                    return found
        rest = _stripped(query)
        wanted = dict.fromkeys([*_forms(rest), *(_forms(query) if rest.strip() else ())])
        if not wanted:
            return [each for each in self.items if _fits(each, "music" if kind == "any" else kind)]
        best: dict[int, tuple[float, int]] = {}
        for form in wanted:
            for score, place, rank in self._scores(form):
                if _fits(self.items[place], kind):
                    known = best.get(place)
                    if known is None or (score, -rank) > (known[0], -known[1]):
                        best[place] = (score, rank)
        if not best:
            # "a story for Anna" where none is hers: any story.
            return [each for each in self.items if _fits(each, kind)] if kind == "story" else []
        top, first = max(best.values(), key=lambda each: (each[0], -each[1]))
        chosen = [
            self.items[place]
            for place, (score, rank) in best.items()
            if score >= top - 3 and (rank == first)
        ]
        if first == 0:
            return chosen[:1] if kind != "story" else chosen
        return sorted(chosen, key=lambda each: (each.album, each.number, each.place))

    def _scores(self, form: str) -> Iterable[tuple[float, int, int]]:
        from rapidfuzz import fuzz, process

        for _, _, at in process.extract(
            form, self._texts, scorer=fuzz.WRatio, score_cutoff=GOOD - 10, limit=MAX_QUEUE
        ):
            place, rank, name = self._names[at]
            if (worth := _alike(form, name)) >= GOOD:
                yield worth, place, rank


def _alike(form: str, name: str) -> float:
    """Return how well ``form`` names ``name``, 0 to 100: as a whole, or one within the other."""
    from rapidfuzz import fuzz

    whole = max(fuzz.ratio(form, name), fuzz.token_sort_ratio(form, name) - 2)
    one, other = form.split(), name.split()
    if not one or not other or min(len(form), len(name)) < 3:
        return whole
    # Words within others; of a part less is certain, and a short word is in many.
    part = fuzz.partial_ratio(form, name)
    if part < _SURE or not (_has(one, other) or _has(other, one)):
        return whole
    covered = min(len(form), len(name)) / max(len(form), len(name))
    return max(whole, part * (0.75 + 0.25 * covered))


def _has(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether each of ``words`` is one of ``others``, but for a slip."""
    from rapidfuzz import fuzz

    return all(
        any(
            word == other or (len(word) > 3 and fuzz.ratio(word, other) >= _SURE - 5)
            for other in others
        )
        for word in words
    )


def _fits(item: Item, kind: Wanted | Kind) -> bool:
    if kind in ("any", item.kind):
        return True
    return kind == "story" and item.genre.casefold() in _STORIES


def _forms(text: str) -> list[str]:
    """Return how a name is compared: its letters, and the sounds of its Chinese characters."""
    folded = "".join(
        each
        for each in unicodedata.normalize("NFKD", text.casefold())
        if not unicodedata.combining(each)
    )
    plain = " ".join(_WORDS.split(folded)).replace("_", " ").strip()
    if not plain:
        return []
    if not _CHINESE.search(plain):
        return [plain]
    from pypinyin import lazy_pinyin

    sounds = " ".join(" ".join(lazy_pinyin(plain)).split())
    for said, heard in _NEAR:
        sounds = sounds.replace(said, heard)
    return [plain, sounds]


def _stripped(query: str) -> str:
    if _CHINESE.search(query):
        return _FILL_ZH.sub(" ", query)
    return " ".join(word for word in query.split() if word.casefold().strip(",.!?") not in _FILL)
