"""A conversation as stereo sound: left the user, right the loudspeaker."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from firmware_test_client.pcm import Pcm, from_samples, write_stereo_wav
from firmware_test_client.records import Records

_USER_RATE = 16_000  # Hz, where nothing was said


def user_side(records: Records, origin: float, until: float) -> Pcm:
    """The user's speech, with silence between utterances."""
    rate = records.spoken[0].utterance.pcm.rate if records.spoken else _USER_RATE
    pieces = ((spoken.start, spoken.utterance.pcm) for spoken in records.spoken)
    return _lay_out(pieces, origin, until, rate)


def loudspeaker_side(records: Records, origin: float, until: float) -> Pcm:
    """The device's sound, with silence between replies."""
    rate = max((heard.rate for heard in records.heard), default=24_000)
    pieces = ((heard.time, Pcm(heard.pcm, heard.rate)) for heard in records.heard)
    return _lay_out(pieces, origin, until, rate)


def _lay_out(pieces: Iterable[tuple[float, Pcm]], origin: float, until: float, rate: int) -> Pcm:
    line = np.zeros(max(0, round((until - origin) * rate)), dtype=np.int32)
    for time, pcm in pieces:
        samples = pcm.resampled(rate).samples
        at = round((time - origin) * rate)
        samples = samples[max(0, -at) :]
        at = max(0, at)
        part = samples[: max(0, len(line) - at)]
        line[at : at + len(part)] += part
    return from_samples(line, rate)


def write_conversation(records: Records, path: Path, start: float) -> None:
    """Write the stereo file; it begins at `start` and ends with the last sound of either side."""
    ends = [spoken.end for spoken in records.spoken]
    ends += [heard.time + heard.duration for heard in records.heard]
    until = max(ends, default=start)
    write_stereo_wav(
        path, user_side(records, start, until), loudspeaker_side(records, start, until)
    )
