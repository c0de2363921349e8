"""What ``make demo-home`` finds of a file of music in what a loudspeaker played."""

from __future__ import annotations

import numpy as np
import pytest

from examples.demos.home_sound import PACKET, RATE, Samples, played, surf
from firmware_test_client import Reply

FILE = surf(20.0)


def reply(samples: Samples, underruns: int = 0) -> Reply:
    heard = Reply(index=0, tts_start=0.0, underruns=underruns)
    heard.heard_chunks.append(samples.astype("<i2").tobytes())
    return heard


def test_a_part_of_the_file_is_found_where_it_is() -> None:
    found = played(reply(FILE[5 * RATE : 12 * RATE]), FILE)
    assert found.whole
    assert abs(found.begins - 5 * RATE) < PACKET
    assert found.seconds == 7.0


@pytest.mark.parametrize(
    "heard",
    [
        np.concatenate([FILE[: 3 * RATE], FILE[3 * RATE + PACKET : 9 * RATE]]),
        np.concatenate([FILE[: 3 * RATE], np.zeros(RATE, np.int16), FILE[3 * RATE : 9 * RATE]]),
        np.zeros(9 * RATE, np.int16),
        FILE[:RATE],
    ],
    ids=["a packet is missing", "a second of silence", "silence", "too short"],
)
def test_what_is_not_the_whole_file_fails(heard: Samples) -> None:
    assert not played(reply(heard), FILE).whole


def test_a_gap_fails() -> None:
    assert not played(reply(FILE, underruns=1), FILE).whole
