"""Which speech is next, and when."""

from __future__ import annotations

from vixio.core.session.speech import Priority, SpeechHandle, SpeechOutcome, SpeechStatus
from vixio.core.session.speech_queue import MAX_WAITING, QUIET_S, SpeechQueue


def queue(*handles: SpeechHandle) -> SpeechQueue:
    made = SpeechQueue()
    for handle in handles:
        made.add(handle)
    return made


def test_by_priority_then_by_arrival() -> None:
    low, a, b, high = (
        SpeechHandle(text, priority)
        for text, priority in (
            ("low", Priority.LOW),
            ("a", Priority.NORMAL),
            ("b", Priority.NORMAL),
            ("high", Priority.HIGH),
        )
    )
    waiting = queue(low, a, b, high)
    assert [waiting.take(0.0) for _ in range(4)] == [high, a, b, low]
    assert waiting.take(0.0) is None


def test_a_speech_that_gave_way_is_the_first_of_its_priority() -> None:
    a, b = SpeechHandle("a"), SpeechHandle("b")
    waiting = queue(a)
    waiting.add(b, first=True)
    assert waiting.take(0.0) is b


def test_a_low_priority_waits_for_a_pause() -> None:
    low = SpeechHandle("low", Priority.LOW)
    waiting = queue(low)
    waiting.disturbed(10.0)
    assert waiting.due == 10.0 + QUIET_S
    assert waiting.take(10.0) is None
    assert waiting.take(10.0 + QUIET_S) is low


def test_more_than_the_limit_is_refused() -> None:
    handles = [SpeechHandle(str(number)) for number in range(MAX_WAITING + 1)]
    waiting = queue(*handles)
    assert len(waiting) == MAX_WAITING
    assert handles[-1].outcome == SpeechOutcome(SpeechStatus.DROPPED)
    assert not handles[0].done


def test_one_that_waits_is_taken_back() -> None:
    handles = [SpeechHandle("a"), SpeechHandle("b")]
    waiting = queue(*handles)
    assert not waiting.remove(SpeechHandle("c"))
    assert waiting.remove(handles[0])
    assert len(waiting) == 1
