"""Other roles that a device may take by voice: profiles, and what people call them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Self

from vixio.core.language_tags import primary
from vixio.core.whole_phrases import bare

MAX_ROLES: Final = 20
MAX_NAMES: Final = 8
"""Of one role."""
MAX_CHARS: Final = 64
"""Of a name."""

ALIKE: Final = 0.7
"""Share of equal characters from which on a name is meant, where no other comes as near."""

_HAN_LANGUAGES: Final = frozenset({"zh", "yue", "ja"})
_HAN: Final = re.compile("[\u3041-\u30ff\u3400-\u9fff]")

_ARTICLE: Final = re.compile(r"^(?:the|a|an|my|our)\s+", re.IGNORECASE)
_KIND: Final = re.compile(r"(?:\s+(?:role|mode)|角色|模式)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Roles:
    """Profiles that may be taken as roles, each with its spoken names. Hashable; see :meth:`of`.

    ``by_profile``: pairs of a profile's name and what it is called.
    """

    by_profile: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, given: Sequence[str] | Mapping[str, str | Sequence[str]]) -> Self:
        """Return the roles of a list of profiles, or of a mapping from them to spoken names.

        Names in one text are apart by commas; without any, the profile's own is spoken. Raises
        ValueError for too many or too long ones, and for a name that two roles have.
        """
        named = given if isinstance(given, Mapping) else dict.fromkeys(given, "")
        if len(named) > MAX_ROLES:
            raise ValueError(f"expected at most {MAX_ROLES} roles, found {len(named)}")
        seen: dict[str, str] = {}
        found = []
        for profile, names in named.items():
            given_names = [names] if isinstance(names, str) else names
            said = [each for name in given_names for each in re.split(r"[,，、;；]", name)]
            spoken = [" ".join(name.split()) for name in said if name.strip()]
            spoken = spoken or [re.sub(r"[-_.]+", " ", profile)]
            if len(spoken) > MAX_NAMES or any(len(name) > MAX_CHARS for name in spoken):
                raise ValueError(
                    f"expected at most {MAX_NAMES} names of {MAX_CHARS} characters for {profile!r}"
                )
            for name in spoken:
                if not (folded := _plain(name)):
                    raise ValueError(f"expected a name that can be spoken, found {name!r}")
                if (same := seen.setdefault(folded, profile)) != profile:
                    raise ValueError(f"{name!r} is the name of {same!r} and of {profile!r}")
            found.append((profile, tuple(dict.fromkeys(spoken))))
        return cls(tuple(found))

    def __bool__(self) -> bool:
        return bool(self.by_profile)

    def __contains__(self, profile: str) -> bool:
        """Whether a profile may be taken."""
        return any(profile == each for each, _ in self.by_profile)

    def called(self, profile: str, language: str = "") -> str:
        """Return what a profile is called, in the script of a language (BCP 47) where it has a name
        in that; its own name if it is none of these."""
        names = next((names for each, names in self.by_profile if each == profile), (profile,))
        han = primary(language) in _HAN_LANGUAGES
        return next((name for name in names if bool(_HAN.search(name)) is han), names[0])

    @property
    def spoken(self) -> tuple[str, ...]:
        """All spoken names, without articles."""
        return tuple(_ARTICLE.sub("", name) for _, names in self.by_profile for name in names)

    def find(self, words: str) -> str | None:
        """Return the profile that is meant by ``words``, as a recogniser or a model wrote them.

        Small mistakes in spelling do not matter. None: it is none of these, or not certain which.
        """
        wanted = _plain(words)
        if not wanted or len(wanted) > 2 * MAX_CHARS:
            return None
        best: list[tuple[float, str]] = []
        for profile, names in self.by_profile:
            likeness = max(
                SequenceMatcher(None, wanted, _plain(name), autojunk=False).ratio()
                for name in (*names, profile)
            )
            best.append((likeness, profile))
        best.sort(reverse=True)
        if not best or best[0][0] < ALIKE:
            return None
        certain = best[0][0] == 1.0 or len(best) == 1 or best[1][0] < best[0][0]
        return best[0][1] if certain else None


NO_ROLES: Final = Roles()


def _plain(words: str) -> str:
    text = _KIND.sub("", " ".join(words.split()).strip(" .!?。！？"))
    return bare(_ARTICLE.sub("", text))
