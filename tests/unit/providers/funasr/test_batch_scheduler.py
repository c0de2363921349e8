"""The batch scheduler: utterances of one call, and the order of a streaming model's steps."""

from __future__ import annotations

import threading

import numpy as np

from vixio.core.audio import pcm_bytes
from vixio.providers.funasr.batch_scheduler import BatchScheduler, Step, Utterance


def tone(seconds: float, level: int = 5_000) -> bytes:
    samples = pcm_bytes(seconds, 16_000) // 2
    return (np.sin(np.arange(samples) / 10) * level).astype("<i2").tobytes()


def finished(
    scheduler: BatchScheduler, number: int, seconds: float = 1.0, hotwords: str = ""
) -> None:
    scheduler.open(number, "auto", hotwords)
    scheduler.feed(number, tone(seconds))
    scheduler.finish(number)


def numbers(batch: list[Utterance]) -> list[int]:
    return [utterance.number for utterance in batch]


def take(scheduler: BatchScheduler) -> list[int]:
    """Return the numbers of the next batch, marked as done."""
    batch = scheduler.next_batch()
    wanted = [scheduler.done(utterance) for utterance in batch]
    assert all(wanted)
    return numbers(batch)


def test_ended_utterances_share_a_batch_oldest_first() -> None:
    scheduler = BatchScheduler(max_batch=3)
    for number in (4, 2, 3, 1):
        finished(scheduler, number)
    assert take(scheduler) == [4, 2, 3]
    assert take(scheduler) == [1]


def test_a_call_is_no_longer_than_it_may_be_with_its_padding() -> None:
    scheduler = BatchScheduler(max_batch=8, max_batch_seconds=10)
    for number, seconds in enumerate((2.0, 4.0, 2.0, 2.0), 1):
        finished(scheduler, number, seconds)
    # Two of 4 s take 8 s; with padding a third would make 12 s.
    assert take(scheduler) == [1, 2]
    assert take(scheduler) == [3, 4]
    finished(scheduler, 5, 30.0)
    assert take(scheduler) == [5]  # a single utterance may be longer


def test_other_hotwords_are_another_call() -> None:
    scheduler = BatchScheduler()
    for number, words in enumerate(("", "小明", "", "小明"), 1):
        finished(scheduler, number, hotwords=words)
    assert take(scheduler) == [1, 3]
    assert take(scheduler) == [2, 4]


def test_a_batch_waits_a_bounded_time_for_open_utterances() -> None:
    now = [100.0]
    scheduler = BatchScheduler(gather_seconds=5.0, clock=lambda: now[0])
    scheduler.open(1, "auto", "")
    scheduler.feed(1, tone(1))
    finished(scheduler, 2)
    batches: list[list[int]] = []
    taking = threading.Thread(target=lambda: batches.append(numbers(scheduler.next_batch())))
    taking.start()
    scheduler.finish(1)  # no utterance is open any more
    taking.join(20)
    assert batches == [[2, 1]]

    scheduler = BatchScheduler(gather_seconds=5.0, clock=lambda: now[0])
    scheduler.open(1, "auto", "")
    finished(scheduler, 2)
    now[0] += 5.0
    assert take(scheduler) == [2]


def test_cancelled_utterances_are_not_decoded_and_their_results_dropped() -> None:
    scheduler = BatchScheduler()
    finished(scheduler, 1)
    finished(scheduler, 2)
    scheduler.cancel(1)
    scheduler.feed(1, tone(1))  # sent before the cancellation arrived
    scheduler.finish(1)
    batch = scheduler.next_batch()
    assert numbers(batch) == [2]
    assert scheduler.wanted(batch[0])
    scheduler.cancel(2)
    assert not scheduler.wanted(batch[0])
    assert not scheduler.done(batch[0])


def test_silence_and_a_click_are_nothing_to_hear() -> None:
    scheduler = BatchScheduler()
    for number, pcm in enumerate((b"", tone(0.05), tone(2, level=50), tone(0.2)), 1):
        scheduler.open(number, "auto", "")
        scheduler.feed(number, pcm)
        scheduler.finish(number)
    assert [utterance.hearable for utterance in scheduler.next_batch()] == [
        False,
        False,
        False,
        True,
    ]


def test_the_loudest_negative_sample_counts() -> None:
    scheduler = BatchScheduler()
    scheduler.open(1, "auto", "")
    scheduler.feed(1, np.full(16_000, -32_768, "<i2").tobytes() + b"\1")
    scheduler.finish(1)
    assert scheduler.next_batch()[0].peak == 32_768


def steps(scheduler: BatchScheduler, count: int) -> list[Step]:
    return [scheduler.next_step() for _ in range(count)]


def test_a_streaming_model_hears_the_utterances_in_turn() -> None:
    scheduler = BatchScheduler(chunk_bytes=pcm_bytes(0.6, 16_000))
    for number in (1, 2):
        scheduler.open(number, "auto", "")
        scheduler.feed(number, tone(1.5))
    taken = steps(scheduler, 4)
    assert [step.utterance.number for step in taken] == [1, 2, 1, 2]
    assert not any(step.final for step in taken)
    for number in (1, 2):
        scheduler.finish(number)
    taken = steps(scheduler, 2)
    assert all(step.final for step in taken)
    assert [len(step.pcm) for step in taken] == [pcm_bytes(0.3, 16_000)] * 2


def test_the_last_step_has_the_rest_even_if_empty() -> None:
    scheduler = BatchScheduler(chunk_bytes=pcm_bytes(0.6, 16_000))
    scheduler.open(1, "auto", "")
    scheduler.feed(1, tone(1.2))
    scheduler.finish(1)
    first, second = steps(scheduler, 2)
    assert (first.final, second.final) == (False, True)
    assert len(second.pcm) == len(first.pcm)
    scheduler.open(2, "auto", "")
    scheduler.finish(2)
    assert scheduler.done(second.utterance)
    (only,) = steps(scheduler, 1)
    assert (only.pcm, only.final) == (b"", True)
