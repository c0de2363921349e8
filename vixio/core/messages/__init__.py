"""What the assistant says and shows by itself, by language.

The words are in catalogues, ``vixio/language/locale/<language>.po`` (docs/speech.md), and in
those of a folder of one's own, which :func:`use_folder` adds for the whole process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from vixio.core.messages.catalogues import PACKAGED, Catalogues, check_folder

LOADING: Final = "loading"
"""The reason of a failure that passes by itself: something that the turn needs is still loading."""

REASONS: Final = (
    "not_ready",
    "no_key",
    "no_model",
    "quota",
    "busy",
    "unreachable",
    "service",
    "request",
    "timeout",
)
"""Why a provider failed. Each has words for a small screen (``reason_…``) and, except for
``timeout``, for the voice (``cannot_…``)."""

PARTS: Final = ("agent", "asr", "tts", "vad", "other")
"""What can fail: the values of :attr:`~vixio.core.errors.ProviderError.part`."""

FILLERS: Final = ("filler_1", "filler_2", "filler_3")
"""The keys of what is said while the model takes long."""

FILLERS_AGAIN: Final = ("filler_again_1", "filler_again_2")
"""The keys of what is said later, when nothing has been heard for a while."""

__all__ = [
    "FILLERS",
    "FILLERS_AGAIN",
    "LOADING",
    "PARTS",
    "REASONS",
    "check_folder",
    "failure_key",
    "has_catalogue",
    "message",
    "reason",
    "use_folder",
]

_words = Catalogues(PACKAGED)


def use_folder(folder: Path | None) -> None:
    """Put the catalogues of ``folder`` over the packaged ones; None: only those.

    For the whole process, from the next message on. Raises ConfigError, one line, for a folder that
    is not there and for a mistake in one of its files; nothing has changed then.
    """
    global _words  # noqa: PLW0603 - the words of a process, as a locale is
    if folder is not None:
        check_folder(folder)
    _words = Catalogues(PACKAGED, *([folder] if folder is not None else []))


def has_catalogue(language: str, folder: Path | None = None) -> bool:
    """Return whether there are messages in ``language`` (BCP 47), or in its base language.

    In the packaged catalogues and those of ``folder``; None: of the folder in use.
    """
    words = _words if folder is None else Catalogues(PACKAGED, folder)
    return words.of(language) is not None


def message(key: str, language: str, **values: str | int) -> str:
    """Return the words of ``key`` in ``language``, in English where it has none.

    ``values`` fill the names in braces; ``n`` chooses the plural form. KeyError for unknown keys.
    """
    return _words.words(key, language, values)


def reason(key: str, language: str) -> str:
    """Return the reason ``key`` in ``language`` for a screen; empty if it is unknown."""
    return message(f"reason_{key}", language) if key in REASONS else ""


def failure_key(reason: str) -> str:
    """Return the key of the message for a failure of this reason."""
    return reason if reason in {"timeout", LOADING} else "failed"
