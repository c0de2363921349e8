"""What may stand at the beginning of a line or sentence: a bare call, or an answer in a wrapping.

Each reader looks at the text from a position and returns a :class:`Start`, ``None`` where more text
is needed to decide, or ``PLAIN``: ordinary text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

from vixio.language.model_output.markers import BEGUN, BEGUN_SPAN, CALL_LANGUAGES, CODE_LANGUAGES
from vixio.language.model_output.written_calls import (
    Parameters,
    WrittenCall,
    calls_in,
    read_calls,
    values_of,
)

MAX_BARE: Final = 8_192
"""Characters of a bare call or of a wrapped answer: it delays the answer."""

_ANNOUNCED: Final = 300
_WORD: Final = re.compile(r"[^\W\d][\w.\-]*")
_AFTER_CALL: Final = re.compile(r"[ \t]*[.;,。；]?[ \t]*")
_PREFIXES: Final = ("default_api.", "functions.", "tools.")
_OTHER_HEADS: Final = {"functools": "[", "print": "("}
_ANNOUNCING: Final = frozenset(
    {"正在调用", "调用", "使用工具", "执行工具", "工具"}
    | {"calling", "call", "invoking", "using tool", "use tool", "tool", "function", "executing"}
)
_ANNOUNCEMENT: Final = re.compile(
    r"\s*(?:正在)?(?:调用|使用|执行|calling|call|invoking|using|use|executing)?\s*"
    r"(?:tool|function|工具|函数)?[ _-]*(?:calls?|name|调用)?\s*[:：=]?\s*(?P<call>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FENCE: Final = re.compile(r"(`{3,})([\w+-]*)([ \t]*\n|[ \t]+)")
_FENCE_PART: Final = re.compile(r"`{1,12}[\w+-]{0,24}[ \t]*")
_PAIRS: Final = {"[": "]", "【": "】", "(": ")", "（": "）"}
_TEXTS: Final = frozenset(
    {"response", "answer", "reply", "text", "content", "message", "output", "speech", "say"}
    | {"final_answer", "spoken", "tts", "回答", "回复", "内容"}
)
_FEW: Final = 4
_ACTION: Final = re.compile(r"Action\s*:\s*(\S+)(\s)")


class Start(NamedTuple):
    """What begins here: it ends at ``end`` and is replaced by ``text``.

    ``hidden``: reasoning begins behind ``end``. ``code``: so does a block of code, to be left as it
    is. ``block``: so do calls, up to where this pattern matches.
    """

    end: int
    text: str = ""
    calls: Sequence[WrittenCall] = ()
    hidden: bool = False
    code: str = ""
    block: re.Pattern[str] | None = None


PLAIN: Final = Start(-1)
_NEVER: Final = re.compile(r"(?!)")


class Starts:
    """Reads what begins a line or a sentence, for the tools with ``names``."""

    def __init__(self, names: Sequence[str], parameters: Parameters) -> None:
        self._names = sorted({*names, *_PREFIXES, *_OTHER_HEADS, "Action"})
        self._parameters = parameters
        self._extent: _Extent | None = None

    def read(self, text: str, at: int, *, final: bool, first: bool) -> Start | None:
        """Read what begins at ``at``. ``first``: nothing of the answer has been said before."""
        character = text[at]
        if character == "{":
            return self._json(text, at, final=final, first=first)
        if character in _PAIRS:
            return self._bracket(text, at, final=final)
        if character == "`":
            return self._fence(text, at, final=final, first=first)
        if not character.isalpha() and character != "_":
            return PLAIN
        if first and (begun := _begun(text, at, final=final)) is not PLAIN:
            return begun
        return self._word(text, at, final=final)

    # -- JSON ---------------------------------------------------------------------------------

    def _json(self, text: str, at: int, *, final: bool, first: bool) -> Start | None:
        inner = _next(text, at + 1)
        if not inner:
            return PLAIN if final else None
        if inner not in "\"'{":
            return PLAIN
        end = self._end(text, at, final=final)
        if end is None:
            return None
        return self._unwrapped(text[at:end], end, first=first)

    def _unwrapped(self, body: str, end: int, *, first: bool) -> Start:
        values = values_of(body)
        if not values:
            return PLAIN
        if calls := self._offered(calls_in(values, self._parameters)):
            return Start(end, calls=calls)
        (value, *more) = values
        if first and not more and isinstance(value, dict) and len(value) <= _FEW:
            lowered = {str(key).lower(): inner for key, inner in value.items()}
            said = [lowered[key] for key in _TEXTS if isinstance(lowered.get(key), str)]
            if len(said) == 1:
                return Start(end, said[0])
        return PLAIN

    def _end(self, text: str, at: int, *, final: bool, quotes: str = '"') -> int | None:
        """Return where the bracket at ``at`` is closed, or the text's end; None: not known yet."""
        extent = self._extent = self._extent or _Extent(quotes)
        length = extent.read(text, at)
        if length < 0:
            if not final and len(text) - at < MAX_BARE:
                return None
            length = len(text) - at
        self._extent = None
        return at + length

    def _offered(self, calls: Sequence[WrittenCall]) -> Sequence[WrittenCall]:
        return calls if all(self._parameters(each.name) is not None for each in calls) else ()

    # -- words --------------------------------------------------------------------------------

    def _may_be_name(self, word: str) -> bool:
        for prefix in _PREFIXES:
            word = word.removeprefix(prefix)
        place = bisect_left(self._names, word)
        return place < len(self._names) and self._names[place].startswith(word)

    def _word(self, text: str, at: int, *, final: bool) -> Start | None:
        match = _WORD.match(text, at)
        if match is None:
            return PLAIN
        word = match[0]
        if not self._may_be_name(word):
            return PLAIN
        following = _next(text, match.end())
        if not following and not final:
            return None
        if word == "Action":
            return self._action(text, at, final=final)
        if not following or following not in self._brackets(word):
            return PLAIN
        return self._called(text, at, text.index(following, match.end()), final=final)

    def _brackets(self, word: str) -> str:
        """Return the brackets in which the arguments may stand behind ``word``."""
        if word in _OTHER_HEADS:
            return _OTHER_HEADS[word]
        for prefix in _PREFIXES:
            word = word.removeprefix(prefix)
        return "({" if self._parameters(word.removesuffix(".call")) is not None else ""

    def _called(self, text: str, at: int, bracket: int, *, final: bool) -> Start | None:
        """Read a call whose arguments are in brackets, which is all of its line."""
        end = self._end(text, bracket, final=final, quotes="\"'")
        if end is None:
            return None
        after = _AFTER_CALL.match(text, end)
        stop = after.end() if after else end
        if stop == len(text) and not final:
            self._extent = None
            return None
        if stop < len(text) and text[stop] != "\n":
            return PLAIN
        body = text[at:end].removeprefix("functools")
        calls = self._offered(read_calls(body, self._parameters))
        return Start(stop, calls=calls) if calls else PLAIN

    def _action(self, text: str, at: int, *, final: bool) -> Start | None:
        """ReAct: ``Action: name``, then ``Action Input: {…}`` in a line of its own."""
        match = _ACTION.match(text, at)
        if match is None:
            short = "\n" not in text[at + len("Action :") :] and len(text) - at < _ANNOUNCED
            return None if short and not final and re.match(r"Action\s*(:|$)", text[at:]) else PLAIN
        if self._parameters(match[1]) is None:
            return PLAIN
        begin = text.index(":", at) + 1
        return Start(begin, block=re.compile(r"\n\s*(?=Observation:)"))

    # -- brackets and fences ------------------------------------------------------------------

    def _bracket(self, text: str, at: int, *, final: bool) -> Start | None:
        inner = _next(text, at + 1)
        if not inner:
            return PLAIN if final else None
        if text[at] == "[" and inner == "{":
            end = self._end(text, at, final=final)
            return None if end is None else self._unwrapped(text[at:end], end, first=False)
        begin = text.index(inner, at + 1)
        word = _WORD.match(text, begin)
        if text[at] == "[" and word is not None and self._may_be_name(word[0]):
            following = _next(text, word.end())
            if not following and not final:
                return None
            if following == "(":
                return self._called(text, at, at, final=final)
        line, newline, _ = text[at : at + _ANNOUNCED].partition("\n")
        rest = line[begin - at :].lower()
        if not any(rest.startswith(each) or each.startswith(rest) for each in _ANNOUNCING):
            return PLAIN
        close = _PAIRS[text[at]]  # "(calling name())" has brackets within
        length = _Extent("").read(line, 0) if close in "])" else line.find(close) + 1
        if length <= 0:
            ended = final or newline or len(line) == _ANNOUNCED
            return PLAIN if ended else None
        return self._announced(line[begin - at : length - 1], at + length)

    def _announced(self, inner: str, end: int) -> Start:
        """Read ``[calling tool: name]``."""
        match = _ANNOUNCEMENT.match(inner)
        body = match["call"] if match else ""
        calls = self._offered(read_calls(body, self._parameters))
        return Start(end, calls=calls) if calls else PLAIN

    def _fence(self, text: str, at: int, *, final: bool, first: bool) -> Start | None:
        fence = _FENCE.match(text, at)
        if fence is None or fence.end() == len(text):
            short = _FENCE_PART.fullmatch(text, at) or fence
            return None if short and not final else PLAIN
        ticks, language = fence[1], fence[2].lower()
        if language in CALL_LANGUAGES:
            return Start(fence.end(), block=re.compile(re.escape(ticks)))
        if "\n" not in fence[3]:
            return PLAIN
        code = Start(fence.end(), text[at : fence.end()], code=ticks)
        if language not in CODE_LANGUAGES:
            return code
        begin = _next(text, fence.end())
        word = _WORD.match(text, text.index(begin, fence.end())) if begin else None
        if begin and begin not in "{[<" and not (word and self._may_be_name(word[0])):
            return code
        close = text.find(ticks, fence.end())
        if close < 0:
            return None if not final and len(text) - at < MAX_BARE else code
        body = text[fence.end() : close]
        if calls := self._offered(read_calls(body, self._parameters)):
            return Start(close + len(ticks), calls=calls)
        read = self._unwrapped(body.strip(), close + len(ticks), first=first)
        return code if read is PLAIN else read


class _Extent:
    """Finds the end of a bracket, each character once."""

    _SIGNS: Final = re.compile(r"[\"'\\\[\](){}]")

    def __init__(self, quotes: str) -> None:
        self._quotes = quotes
        self._read = 0
        self._depth = 0
        self._quote = ""

    def read(self, text: str, at: int) -> int:
        """Return the length up to the closing bracket; -1: it has not come."""
        place = at + self._read
        while match := self._SIGNS.search(text, place):
            sign, place = match[0], match.end()
            if sign == "\\":
                place += 1
            elif self._quote:
                if sign == self._quote:
                    self._quote = ""
            elif sign in self._quotes:
                self._quote = sign
            elif sign in "[({":
                self._depth += 1
            elif sign in "])}":
                self._depth -= 1
                if self._depth == 0:
                    return place - at
        self._read = max(place, len(text)) - at
        return -1


def _begun(text: str, at: int, *, final: bool) -> Start | None:
    match = BEGUN_SPAN.opening.match(text, at)
    if match:
        return Start(match.end(), hidden=True)
    rest = text[at : at + 40].lower()
    return None if not final and any(each.startswith(rest) for each in BEGUN) else PLAIN


def _next(text: str, at: int) -> str:
    """Return the next character that is no white space; empty: it has not come."""
    while at < len(text) and text[at].isspace():
        at += 1
    return text[at : at + 1]
