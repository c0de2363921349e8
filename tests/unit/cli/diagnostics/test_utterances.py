"""A recording is cut at its pauses, and nothing of it is lost."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from vixio.cli.diagnostics.utterances import Utterance, UtteranceCutter
from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE
from vixio.stations.turn_detector import TurnSettings
from vixio.stations.vad import VADSettings

WINDOW = 512
SECONDS = WINDOW / LISTEN_RATE


def window(number: int) -> bytes:
    """Audio that says which window it is."""
    return number.to_bytes(BYTES_PER_SAMPLE, "little") * WINDOW


def number_of(pcm: bytes) -> int:
    return int.from_bytes(pcm[:2], "little")


def cut(probabilities: list[float], longest: float = 30.0, piece: int = 7) -> list[Utterance]:
    cutter = UtteranceCutter(WINDOW, VADSettings(), TurnSettings(), longest)
    found: list[Utterance] = []
    for start in range(0, len(probabilities), piece):
        numbers = range(start, min(start + piece, len(probabilities)))
        pcm = b"".join(map(window, numbers))
        found += cutter.feed(pcm, probabilities[start : start + piece])
    return [*found, *cutter.finish()]


def spans(found: list[Utterance]) -> list[tuple[int, int]]:
    """First window and the one behind the last, from the audio itself."""
    size = WINDOW * BYTES_PER_SAMPLE
    return [(number_of(each.pcm), number_of(each.pcm) + len(each.pcm) // size) for each in found]


def test_two_sentences_with_a_pause_are_two_utterances() -> None:
    silence, speech = [0.0] * 60, [0.9] * 50
    found = cut([*silence, *speech, *silence, *speech, *silence])
    first, second = spans(found)
    assert (first[0], second[0]) == (60 - 9, 170 - 9)  # with the pre-roll of 300 ms
    assert (first[1], second[1]) == (110 + 16, 220 + 16)  # until the turn is known to be over
    assert found[0].start == first[0] * SECONDS


def test_a_short_pause_ends_nothing() -> None:
    found = cut([0.9] * 30 + [0.0] * 10 + [0.9] * 30 + [0.0] * 40)
    assert len(found) == 1


def test_a_click_is_no_speech() -> None:
    assert cut([0.0] * 50 + [0.9] * 2 + [0.0] * 50) == []


def test_silence_is_nothing() -> None:
    assert cut([0.1] * 500) == []
    assert cut([]) == []


def test_speech_at_the_very_end_is_kept() -> None:
    assert spans(cut([0.0] * 20 + [0.9] * 10)) == [(11, 30)]


def test_what_is_too_long_is_cut_where_it_is_quietest() -> None:
    speech = [0.9] * 400
    speech[70:77] = [0.4] * 7  # a breath: no pause for the detector, but the best there is
    first, *rest = spans(cut(speech, longest=100 * SECONDS))
    assert 70 <= first[1] <= 77
    assert rest[0][0] == first[1]
    assert rest[-1][1] == 400


def test_a_long_recording_takes_no_more_memory_than_its_longest_utterance() -> None:
    cutter = UtteranceCutter(WINDOW, VADSettings(), TurnSettings(), 5.0)
    for number in range(5_000):
        list(cutter.feed(bytes(1024), [0.0 if number % 1_000 < 500 else 0.9]))
        assert len(cutter._pcm) <= 6 * LISTEN_RATE * BYTES_PER_SAMPLE


runs = st.lists(
    st.tuples(st.sampled_from([0.0, 0.2, 0.4, 0.6, 1.0]), st.integers(1, 60)), max_size=25
)


@given(runs, st.integers(8, 80), st.integers(1, 50))
def test_nothing_is_lost_doubled_or_too_long(
    found_by: list[tuple[float, int]], longest: int, piece: int
) -> None:
    probabilities = [level for level, count in found_by for _ in range(count)]
    found = spans(cut(probabilities, longest * SECONDS + 1e-6, piece))
    assert found == spans(cut(probabilities, longest * SECONDS + 1e-6, 1))
    assert all(start < end <= start + longest for start, end in found)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(found))
    heard = {at for start, end in found for at in range(start, end)}
    start = 0
    for level, windows in itertools.groupby(probabilities, key=lambda each: each >= 0.5):
        count = len(list(windows))
        if level and count >= 3:
            assert heard.issuperset(range(start, start + count))
        start += count
