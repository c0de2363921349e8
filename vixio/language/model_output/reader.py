"""Divides what a language model writes into text for the user and calls of tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from vixio.language.model_output.hidden import Hidden
from vixio.language.model_output.markers import (
    ANALYSIS,
    ASSISTANTS,
    BEGUN_SPAN,
    CALL_TAG,
    CHANNEL,
    DETAILS,
    MARKERS,
    MESSAGE,
    NAMED_CALL_TAG,
    PARTIAL,
    PLAIN_TOKENS,
    SPEAKER_TOKENS,
    SPEAKERS,
    SPEAKS,
    THOUGHT_TAG,
    THOUGHTS,
    TURN_TOKENS,
    WRAPPING_TAG,
    Markers,
    Span,
    normal,
)
from vixio.language.model_output.starts import PLAIN, Start, Starts
from vixio.language.model_output.written_calls import Parameters, WrittenCall, read_calls

MAX_CALL: Final = 65_536
"""Characters of one call: far beyond any arguments."""

_MENTION: Final = 200
"""Characters behind a marker in mid-sentence in which its end has to come: else it is mentioned."""

_HEADER: Final = 200
_TOKEN: Final = re.compile(r"</?[|｜][^\s<>][^<>\n]{0,62}>|<[\w/]{1,40}[|｜]>")
_TOKEN_PART: Final = re.compile(r"</?([|｜]([^\s<>][^<>\n]{0,62})?)?|<[\w/]{1,40}[|｜]")
_TAG: Final = re.compile(r"<(/?)([^\W\d][\w:.\-]*)(=[\"']?[\w.:\-]*[\"']?)?")
_ATTRIBUTES: Final = re.compile(r"(\s[^<>]{0,200})?/?>")
_ATTRIBUTES_PART: Final = re.compile(r"(\s[^<>]{0,200})?/?")
_ROLE: Final = re.compile(r"\s*(\w*)(?:[ \t]+to=([\w.\-]+))?")
_ROLE_PART: Final = re.compile(r"([ \t]+(t(o(=[\w.\-]*)?)?)?)?")
_RECIPIENT: Final = re.compile(r"to=([\w.\-]+)")
_FRESH: Final = re.compile(r"(?:^|\n|[.!?:…][\"'”’)*_]*\s|[。！？：；…][\"”’）]*)\s*\Z")
_CONTEXT: Final = 12
_TURN_TAG_TEXT: Final = "<start_of_turn>"
_TURN_TAG: Final = re.compile(_TURN_TAG_TEXT)
_BODY: Final = re.compile(r"\s*(?:[{\[<`]|call:)")


def nothing_offered(name: str) -> None:
    """Say of each name that there is no such tool."""


class OutputReader:
    """Reads one answer; the result does not depend on how it is split into pieces.

    ``names``: of the offered tools, in every way that a model may write them; ``parameters`` finds
    the schema of one. Text is held back only while it may be the beginning of a marker or a call.
    """

    def __init__(
        self,
        names: Sequence[str] = (),
        parameters: Parameters = nothing_offered,
        markers: Markers = MARKERS,
    ) -> None:
        self.calls: list[WrittenCall] = []
        """What the answer has called, so far."""
        self.unread = 0
        """How many calls could not be read."""
        self.altered = False
        """Whether anything has been left out or changed."""
        self._parameters = parameters
        self._markers = markers
        self._starts = Starts(names, parameters)
        self._text = ""
        self._at = 0
        self._final = False
        self._out: list[str] = []
        self._said = False
        self._last = ""
        """The end of what was passed on, for what comes behind it."""
        self._mode: Callable[[], bool] = self._in_text
        self._hidden = Hidden(THOUGHTS, "")
        self._close = THOUGHTS.closing
        self._searched = 0
        self._body = 0
        """Where the text of a call begins, behind its marker."""
        self._mentioned = False
        """Whether a marker in mid-sentence may be no more than mentioned."""
        self._recipient = ""
        self._ticks = ""

    def feed(self, text: str) -> str:
        """Take a piece; return the text for the user that is certain now."""
        self._text += text
        return self._run()

    def finish(self) -> str:
        """Return the rest: the answer is over."""
        self._final = True
        return self._run()

    def _run(self) -> str:
        while self._at < len(self._text) or (self._final and self._mode != self._in_text):
            if not self._mode():
                break
        self._text = self._text[self._at :]
        self._searched = max(self._searched - self._at, 0)
        self._at = 0
        said = "".join(self._out)
        self._out.clear()
        return said

    # -- text ---------------------------------------------------------------------------------

    def _in_text(self) -> bool:
        text, at = self._text, self._at
        character = text[at]
        if not character.isspace() and _FRESH.search(self._last):
            start = self._starts.read(text, at, final=self._final, first=not self._said)
            if start is None:
                return False
            if start is not PLAIN:
                return self._begin(start)
        if character == "<":
            return self._angle()
        plain = self._markers.plain.match(text, at)
        if plain:
            self._say(plain[0])
            self._at = plain.end()
            return True
        for marker in self._markers.literal:
            if marker[0] == character.lower():
                found = normal(text[at : at + len(marker)])
                if found == marker:
                    return self._marker(marker, at + len(marker))
                if marker.startswith(found) and not self._final:
                    return False
        return self._pass_on(1)

    def _begin(self, start: Start) -> bool:
        if start.hidden:
            return self._hide(BEGUN_SPAN, start.end)
        if start.block is not None:
            return self._block(start.block, start.end, start.end)
        if start.code:
            self._say(start.text)
            self._ticks = start.code
            self._mode = self._in_code
        else:
            self.calls += start.calls
            self._say(start.text)
            self._removed()
        self._at = start.end
        return True

    def _pass_on(self, length: int) -> bool:
        self._say(self._text[self._at : self._at + length])
        self._at += length
        return True

    def _say(self, text: str) -> None:
        self._last = (self._last + text)[-_CONTEXT:]
        if not self._said:  # models write blank lines behind their reasoning
            text = text.lstrip()
        if text:
            self._said = True
            self._out.append(text)

    def _removed(self) -> None:
        self.altered = True
        self._last = "\n"

    def _in_code(self) -> bool:
        """Pass on a block of code as it is: markers in it are what it is about."""
        close = self._text.find(self._ticks, self._at)
        if close >= 0:
            self._mode = self._in_text
            return self._pass_on(close + len(self._ticks) - self._at)
        if self._final:
            self._mode = self._in_text
            return self._pass_on(len(self._text) - self._at)
        length = len(self._text) - self._at - len(self._ticks) + 1
        if length > 0:
            self._pass_on(length)
        return False

    # -- markers ------------------------------------------------------------------------------

    def _angle(self) -> bool:
        text, at = self._text, self._at
        if self._last.endswith("`"):  # it is quoted
            return self._pass_on(1)
        if token := _TOKEN.match(text, at):
            return self._marker(normal(token[0]), token.end())
        if not self._final and _TOKEN_PART.fullmatch(text, at):
            return False
        tag = _TAG.match(text, at)
        if tag is None or len(tag[0]) > PARTIAL:
            return self._pass_on(1)
        if tag.end() == len(text) and not self._final:
            return False
        attributes = _ATTRIBUTES.match(text, tag.end())
        known = self._is_known(tag[2])
        if attributes is None or not known:
            short = known and _ATTRIBUTES_PART.fullmatch(text, tag.end()) and not self._final
            return False if short else self._pass_on(1)
        return self._tag(tag, attributes.group(), attributes.end())

    def _is_known(self, name: str) -> bool:
        tags = (THOUGHT_TAG, CALL_TAG, NAMED_CALL_TAG, WRAPPING_TAG)
        return (
            name.lower() in PLAIN_TOKENS
            or normal(f"<{name}>") in self._markers.tags
            or any(tag.fullmatch(name) for tag in tags)
        )

    def _tag(self, tag: re.Match[str], attributes: str, end: int) -> bool:
        closing, name, value = tag.groups()
        named = bool(value) or re.search(r"\bname\s*=", attributes) is not None
        if name.lower() == "details":
            if closing or not re.search(r"type\s*=\s*[\"']?reasoning", attributes):
                return self._pass_on(1)
            return self._hide(DETAILS, end)
        if THOUGHT_TAG.fullmatch(name):
            return self._remove(end) if closing else self._hide(THOUGHTS, end)
        if NAMED_CALL_TAG.fullmatch(name) and named and not closing:
            close = re.compile(rf"</(?:[\w-]+:)?{re.escape(name.rpartition(':')[2])}\s*>")
            return self._block(close, self._at, end)
        if CALL_TAG.fullmatch(name) and not closing:
            ends = rf"</{re.escape(name)}\s*>"
            if not name.endswith("s"):  # small models forget to close one before the next
                ends += rf"|(?=<{re.escape(name)}[\s>])"
            return self._block(re.compile(ends, re.IGNORECASE), end, end)
        written = normal(f"<{closing}{name}>")
        return self._marker(written, end)

    def _marker(self, marker: str, end: int) -> bool:
        markers = self._markers
        if marker in markers.reasoning:
            return self._hide(markers.reasoning[marker], end)
        if marker in markers.calls:
            return self._block(markers.calls[marker].closing, end, end)
        if marker == CHANNEL:
            return self._channel(end)
        if marker in TURN_TOKENS:
            return self._turn(end)
        if marker in SPEAKER_TOKENS:
            return self._speaker(SPEAKER_TOKENS[marker], end)
        return self._remove(end)

    def _remove(self, end: int) -> bool:
        self._at = end
        self._removed()
        return True

    def _channel(self, end: int) -> bool:
        """Read a header of gpt-oss: who the message is for, and whether it is reasoning."""
        place = self._text.find(MESSAGE, end, end + _HEADER)
        if place < 0:
            if not self._final and len(self._text) - end < _HEADER:
                return False
            return self._remove(end)
        header, begin = self._text[end:place], place + len(MESSAGE)
        named = _RECIPIENT.search(header)
        recipient = named[1] if named else self._recipient
        self._recipient = ""
        if recipient and recipient not in ASSISTANTS:
            self._text = f"{self._text[:begin]}{recipient} {self._text[begin:]}"
            self._last = "\n"
            return self._block(ANALYSIS.closing, begin, begin)
        if header.strip().lower().startswith("analysis"):
            return self._hide(ANALYSIS, begin)
        return self._remove(begin)

    def _turn(self, end: int) -> bool:
        role = _ROLE.match(self._text, end)
        if role is None or (not self._final and _ROLE_PART.fullmatch(self._text, role.end(1))):
            return False
        name = role[1].lower()
        if name not in ASSISTANTS and name not in SPEAKERS:
            return self._remove(end)
        self._recipient = role[2] or ""
        return self._speaker(name, role.end())

    def _speaker(self, name: str, end: int) -> bool:
        invented = name not in ASSISTANTS and _FRESH.search(self._last)
        self._remove(end)
        if invented:
            self._mode = self._in_others_words
        return True

    def _in_others_words(self) -> bool:
        """Drop what the model makes others say, up to where it speaks itself."""
        place = self._text.find("<", self._at)
        self._at = len(self._text) if place < 0 else place
        if place < 0:
            self._mode = self._in_text if self._final else self._mode
            return False
        token = _TOKEN.match(self._text, place)
        if token is None:
            token = _TURN_TAG.match(self._text, place)
        if token is None:
            rest = self._text[place:]
            if not self._final and (_TOKEN_PART.fullmatch(rest) or _TURN_TAG_TEXT.startswith(rest)):
                return False
            self._at += 1
            return True
        if normal(token[0]) in SPEAKS:
            self._mode = self._in_text
        else:
            self._at = token.end()
        return True

    # -- reasoning ----------------------------------------------------------------------------

    def _hide(self, span: Span, end: int) -> bool:
        """Begin to hide a stretch; in mid-sentence only one that ends soon."""
        if self._said and not _FRESH.search(self._last):
            near = self._text[end : end + _MENTION]
            line = near.partition("\n")[0]
            close = span.closing.search(line)
            if close:
                return self._remove(end + close.end())
            if not self._final and len(line) == len(near) < _MENTION:
                return False
            return self._pass_on(end - self._at)
        self._hidden = Hidden(span, self._text[self._at : end])
        self._mode = self._in_reasoning
        self._at = end
        return True

    def _in_reasoning(self) -> bool:
        hidden = self._hidden
        self._at = hidden.read(self._text, self._at, final=self._final)
        if not (hidden.closed or self._final):
            return False
        self._mode = self._in_text
        if not hidden.closed:
            marker, text = hidden.given_back(said=self._said)
            self._say(marker)
            self._text, self._at = text, 0
        self._removed()
        return True

    # -- calls --------------------------------------------------------------------------------

    def _block(self, close: re.Pattern[str], begin: int, opened: int) -> bool:
        """Begin to collect a call: its text begins at ``begin``, its marker ends at ``opened``."""
        self._mentioned = False
        if self._said and not _FRESH.search(self._last):
            body = _BODY.match(self._text, opened)
            if body is None:
                more = self._text[opened:].strip()
                waits = not more or "call:".startswith(more)
                return False if waits and not self._final else self._pass_on(opened - self._at)
            self._mentioned = True
        self._close, self._body = close, begin - self._at
        self._searched = opened
        self._mode = self._in_block
        return True

    def _in_block(self) -> bool:
        text, at = self._text, self._at
        close = self._close.search(text, max(self._searched, at))
        if close is None and not self._final and len(text) - at < MAX_CALL:
            self._searched = max(at, self._searched, len(text) - PARTIAL)
            return False
        end, after = (close.start(), close.end()) if close else (len(text), len(text))
        body = text[at + self._body : end]
        self._mode = self._in_text
        calls = read_calls(body, self._parameters)
        if not calls and body.strip() and self._mentioned:
            return self._pass_on(after - at)
        self.calls += calls
        self.unread += bool(body.strip() and not calls)
        self._at = after
        self._removed()
        return True


def text_of_output(output: str) -> str:
    """Return the text for the user of a whole answer, from a model without tools."""
    reader = OutputReader()
    return (reader.feed(output) + reader.finish()).strip()
