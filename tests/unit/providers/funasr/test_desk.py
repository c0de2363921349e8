"""Which utterances go into one call, and in which order a streaming model hears them."""

from __future__ import annotations

import threading

import numpy as np

from vixio.core.audio import pcm_bytes
from vixio.providers.funasr.desk import Desk, Step, Utterance


def tone(seconds: float, level: int = 5_000) -> bytes:
    samples = pcm_bytes(seconds, 16_000) // 2
    return (np.sin(np.arange(samples) / 10) * level).astype("<i2").tobytes()


def finished(desk: Desk, number: int, seconds: float = 1.0, hotwords: str = "") -> None:
    desk.open(number, "auto", hotwords)
    desk.feed(number, tone(seconds))
    desk.finish(number)


def numbers(batch: list[Utterance]) -> list[int]:
    return [utterance.number for utterance in batch]


def take(desk: Desk) -> list[int]:
    """Take the next batch and be done with it."""
    batch = desk.next_batch()
    wanted = [desk.done(utterance) for utterance in batch]
    assert all(wanted)
    return numbers(batch)


def test_those_that_are_over_go_together_the_oldest_first() -> None:
    desk = Desk(max_batch=3)
    for number in (4, 2, 3, 1):
        finished(desk, number)
    assert take(desk) == [4, 2, 3]
    assert take(desk) == [1]


def test_a_call_is_no_longer_than_it_may_be_with_its_padding() -> None:
    desk = Desk(max_batch=8, max_batch_seconds=10)
    for number, seconds in enumerate((2.0, 4.0, 2.0, 2.0), 1):
        finished(desk, number, seconds)
    # 4 s twice is 8; a third would be padded to 12.
    assert take(desk) == [1, 2]
    assert take(desk) == [3, 4]
    finished(desk, 5, 30.0)
    assert take(desk) == [5]  # one alone may be longer


def test_other_hotwords_are_another_call() -> None:
    desk = Desk()
    for number, words in enumerate(("", "小明", "", "小明"), 1):
        finished(desk, number, hotwords=words)
    assert take(desk) == [1, 3]
    assert take(desk) == [2, 4]


def test_it_waits_for_those_who_still_speak_but_not_for_long() -> None:
    now = [100.0]
    desk = Desk(gather_seconds=5.0, clock=lambda: now[0])
    desk.open(1, "auto", "")
    desk.feed(1, tone(1))
    finished(desk, 2)
    batches: list[list[int]] = []
    taking = threading.Thread(target=lambda: batches.append(numbers(desk.next_batch())))
    taking.start()
    desk.finish(1)  # nobody speaks any more
    taking.join(20)
    assert batches == [[2, 1]]

    desk = Desk(gather_seconds=5.0, clock=lambda: now[0])
    desk.open(1, "auto", "")
    finished(desk, 2)
    now[0] += 5.0
    assert take(desk) == [2]


def test_what_is_given_up_is_not_taken_and_in_a_call_not_wanted() -> None:
    desk = Desk()
    finished(desk, 1)
    finished(desk, 2)
    desk.cancel(1)
    desk.feed(1, tone(1))  # on its way when it was given up
    desk.finish(1)
    batch = desk.next_batch()
    assert numbers(batch) == [2]
    assert desk.wanted(batch[0])
    desk.cancel(2)
    assert not desk.wanted(batch[0])
    assert not desk.done(batch[0])


def test_silence_and_a_click_are_nothing_to_hear() -> None:
    desk = Desk()
    for number, pcm in enumerate((b"", tone(0.05), tone(2, level=50), tone(0.2)), 1):
        desk.open(number, "auto", "")
        desk.feed(number, pcm)
        desk.finish(number)
    assert [utterance.hearable for utterance in desk.next_batch()] == [False, False, False, True]


def test_the_loudest_negative_sample_counts() -> None:
    desk = Desk()
    desk.open(1, "auto", "")
    desk.feed(1, np.full(16_000, -32_768, "<i2").tobytes() + b"\1")
    desk.finish(1)
    assert desk.next_batch()[0].peak == 32_768


def steps(desk: Desk, count: int) -> list[Step]:
    return [desk.next_step() for _ in range(count)]


def test_a_streaming_model_hears_the_utterances_in_turn() -> None:
    desk = Desk(chunk_bytes=pcm_bytes(0.6, 16_000))
    for number in (1, 2):
        desk.open(number, "auto", "")
        desk.feed(number, tone(1.5))
    taken = steps(desk, 4)
    assert [step.utterance.number for step in taken] == [1, 2, 1, 2]
    assert not any(step.final for step in taken)
    for number in (1, 2):
        desk.finish(number)
    taken = steps(desk, 2)
    assert all(step.final for step in taken)
    assert [len(step.pcm) for step in taken] == [pcm_bytes(0.3, 16_000)] * 2


def test_the_last_step_has_what_is_left_be_it_nothing() -> None:
    desk = Desk(chunk_bytes=pcm_bytes(0.6, 16_000))
    desk.open(1, "auto", "")
    desk.feed(1, tone(1.2))
    desk.finish(1)
    first, second = steps(desk, 2)
    assert (first.final, second.final) == (False, True)
    assert len(second.pcm) == len(first.pcm)
    desk.open(2, "auto", "")
    desk.finish(2)
    assert desk.done(second.utterance)
    (only,) = steps(desk, 1)
    assert (only.pcm, only.final) == (b"", True)
