"""What is checked of each turn of the natural conversation, beside what the script expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from examples.demos.natural_model import ALIKE, answer_before, question
from examples.demos.natural_script import Script
from examples.demos.natural_words import Language, behind, contains, share_heard, sounds
from vixio.cli.demo.conversation import Finding
from vixio.core.history import INTERRUPTED
from vixio.core.whole_phrases import bare

if TYPE_CHECKING:
    from firmware_test_client import Reply

_UNIT: Final[Mapping[str, str]] = {"en": "words", "zh": "syllables"}
_LOUD: Final = 330
"""Of 32768, about -40 dBFS: a block of 10 ms below it is silent."""


def heard(said: str, stt: str, language: Language) -> Finding:
    """Whether the recogniser has understood the user well enough."""
    share = share_heard(said, stt, language)
    return Finding(share >= ALIKE, f"{share:.0%} of what was said was heard")


def asked(requests: Sequence[dict[str, Any]], stt: str) -> Finding:
    """Whether the model got the words that were heard.

    Before, it may have been asked in a pause, with their beginning: that is given up.
    """
    asks = [question(request) for request in requests]
    early = list(takewhile(lambda each: _begins(each, stt), asks))
    got = asks[len(early) :]
    good = bool(got) and bool(stt) and all(stt in each for each in got)
    if not asks:
        return Finding(False, "the model was never asked")
    times = {0: "never", 1: "once", 2: "twice"}.get(len(got), f"{len(got)} times")
    what = "with the words that were heard" if good else f"with {(got or asks)[0]!r}"
    return Finding(good, f"the model was asked {times}, {what}")


def _begins(part: str, whole: str) -> bool:
    """Whether ``part`` is about the beginning of ``whole``, and not all of it."""
    short, long = bare(part), bare(whole)
    if whole in part or not short or len(short) >= len(long):
        return False
    return SequenceMatcher(None, short, long[: len(short)]).ratio() >= ALIKE


def shortened(
    requests: Sequence[dict[str, Any]], answer: str, back: str, language: Language
) -> Finding:
    """Whether the model's history has of an interrupted answer what was heard, and no more.

    ``back``: what the recogniser understands of that part which came out of the loudspeaker.
    """
    history = answer_before(requests[0]).replace(INTERRUPTED, "") if requests else ""
    told, whole = sounds(history, language), sounds(answer, language)
    # The last word may be cut in two.
    beginning = 0 < len(told) < len(whole) and "".join(whole).startswith("".join(told))
    alike = min(share_heard(history, back, language), share_heard(back, history, language))
    said = f"{len(told)} of the {len(whole)} {_UNIT[language]}"
    text = f"the model's history has {said} of the interrupted answer, {alike:.0%} as it was heard"
    return Finding(beginning and alike >= ALIKE, text)


def cut(reply: Reply, answer: str, later: int, language: Language) -> Finding:
    """Whether the server has broken the answer off, long before its end.

    ``later``: packets and further answers that came in the second behind it. One packet may have
    been under way. There need not be a `tts stop`: a device that listens at once gets none.
    """
    begun = len(sounds(reply.text, language)) / len(sounds(answer, language))
    text = f"the user said the wake word when {reply.played_ms / 1000:.1f} s had been spoken"
    good = later <= 1 and not reply.cut and 0 < begun < 0.75
    rest = f"but {later} packets followed" if later > 1 else f"{1 - begun:.0%} of it never came"
    return Finding(good, f"{text}; {rest}")


def stored(facts: Sequence[str], stt: str, key: str, language: Language) -> Finding:
    """Whether the memory has what was heard behind the key, and nothing else."""
    fact = behind(stt, key, language)
    good = bool(fact) and list(facts) == [fact]
    return Finding(good, f"the memory has {list(facts)!r}")


def recalled(reply: Reply, facts: Sequence[str], language: Language) -> Finding:
    """Whether the answer has what the memory has, all of it."""
    good = bool(facts) and all(contains(reply.text, fact, language) for fact in facts)
    return Finding(good, f"the answer has {'' if good else 'not '}what was stored")


def length(reply: Reply, script: Script) -> Finding:
    """Whether about as much speech came out of the loudspeaker as the words take."""
    samples = reply.heard.samples
    block = reply.heard.rate // 100
    blocks = samples[: len(samples) // block * block].reshape(-1, block)
    loud = np.abs(blocks.astype(np.int32)).max(axis=1, initial=0) >= _LOUD
    seconds = float(loud.sum()) / 100
    count = len(sounds(reply.text, script.language))
    least, most = script.seconds
    good = count > 0 and least * count <= seconds <= most * count
    return Finding(good, f"{seconds:.1f} s of speech for {count} {_UNIT[script.language]}")


def understood(answer: str, back: str, language: Language) -> Finding:
    """Whether the recogniser has understood the answer, as the device played it."""
    share = share_heard(answer, back, language)
    return Finding(share >= ALIKE, f"the answer is heard as {back!r}: {share:.0%} as written")
