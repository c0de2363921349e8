"""One language's phrase book, shared by the process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from threading import Lock

from vixio.core.errors import ConfigError
from vixio.core.language_tags import primary
from vixio.language.phrasebook.compiled import CompiledPhrases
from vixio.language.phrasebook.signature import ToolSignature, fingerprint
from vixio.language.phrasebook.stored import load_language
from vixio.language.phrasebook.template import Language

LANGUAGES = ("de", "en", "es", "fr", "ja", "zh")
"""The languages with a phrase book."""


MAX_COMPILED = 64
"""Compiled tool lists that are kept. Devices of one kind share theirs."""


class PhraseBook:
    """The intents of one language; :meth:`compile` adds a session's tools."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._compiled: OrderedDict[str, CompiledPhrases] = OrderedDict()
        self._compiling = Lock()

    @classmethod
    def load(cls, language: str) -> PhraseBook:
        """Return the book of a BCP 47 tag ("en-US" is English).

        Takes about 10 ms the first time; the same object each time. Raises ConfigError if there is
        none, and if a packaged file is broken.
        """
        code = primary(language)
        if code not in LANGUAGES:
            raise ConfigError(f"there is no phrase book for the language {language!r}")
        return _load(code)

    @property
    def language(self) -> str:
        """Its language code."""
        return self._language.code

    def compile(self, tools: Sequence[ToolSignature]) -> CompiledPhrases:
        """Return the phrases for these tools; takes about 10 ms the first time, then microseconds.

        Cached by content, so a changed list of tools never gets the phrases of the old one. May be
        called in any thread.
        """
        key = fingerprint(tools)
        with self._compiling:
            found = self._compiled.get(key)
            if found is None:
                found = self._compiled[key] = CompiledPhrases(self._language, tools, key)
            self._compiled.move_to_end(key)
            while len(self._compiled) > MAX_COMPILED:
                self._compiled.popitem(last=False)
            return found


@lru_cache(maxsize=len(LANGUAGES))
def _load(code: str) -> PhraseBook:
    return PhraseBook(load_language(code))


def first_apology(language: str) -> str:
    """Return the key of what is said to the first words that mean nothing (BCP 47)."""
    return "not_understood_first" if primary(language) in LANGUAGES else "no_phrase_book"
