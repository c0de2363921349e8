"""Removes the reasoning that some models write into their text."""

from __future__ import annotations

_OPENING = ("<think>", "<thinking>")
_CLOSING = ("</think>", "</thinking>")


class ThinkFilter:
    """Removes ``<think>…</think>`` from one answer, however it is split into pieces.

    Text is held back only while it may be the beginning of a tag. A closing tag without an opening
    one (some chat templates open it in the prompt) is removed as well; the text before it has been
    passed on by then.
    """

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._at_start = True

    def feed(self, text: str) -> str:
        """Take a piece; return the text to pass on, from it and from the text held back."""
        self._held += text
        said: list[str] = []
        while self._held:
            tags = _CLOSING if self._thinking else _OPENING + _CLOSING
            position, tag = _first(self._held, tags)
            if tag:
                self._say(said, self._held[:position])
                self._held = self._held[position + len(tag) :]
                self._thinking = tag in _OPENING
                continue
            keep = _possible_tag(self._held, tags)
            self._say(said, self._held[: len(self._held) - keep])
            self._held = self._held[len(self._held) - keep :]
            break
        return "".join(said)

    def finish(self) -> str:
        """Return the text held back: the answer is over, so it is not a tag."""
        said: list[str] = []
        self._say(said, self._held)
        self._held = ""
        return "".join(said)

    def _say(self, said: list[str], text: str) -> None:
        if self._thinking:
            return
        if self._at_start:  # models write blank lines after their reasoning
            text = text.lstrip()
        if text:
            self._at_start = False
            said.append(text)


def _first(text: str, tags: tuple[str, ...]) -> tuple[int, str]:
    """Return the first tag in ``text`` and its position; an empty one if there is none."""
    found = [(position, tag) for tag in tags if (position := text.find(tag)) >= 0]
    return min(found, default=(len(text), ""))


def _possible_tag(text: str, tags: tuple[str, ...]) -> int:
    """Return the number of characters at the end of ``text`` that may become a tag."""
    start = text.rfind("<")
    if start < 0 or not any(tag.startswith(text[start:]) for tag in tags):
        return 0
    return len(text) - start
