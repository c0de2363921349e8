"""A number at the end of an answer's sound: identifies the answer.

Three tones one after another, each a digit to the base of ``_BASE``. They are loud and lie in the
voice's band, so any speech codec keeps them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

_BASE: Final = 16
_LOWEST_HZ: Final = 600
_STEP_HZ: Final = 100
_TONE_S: Final = 0.16
_LOUD: Final = 2_000
"""What is louder than this, of 32768, belongs to a tone; the last 30 ms of one tell the end."""

Samples = npt.NDArray[np.int16]


def tail(number: int, rate: int) -> bytes:
    """Return 16-bit PCM that carries ``number`` (below ``_BASE`` cubed), ``rate`` in Hz."""
    digits = (number // _BASE**2 % _BASE, number // _BASE % _BASE, number % _BASE)
    time = np.arange(round(_TONE_S * rate)) / rate
    tones = [9_000 * np.sin(2 * np.pi * (_LOWEST_HZ + _STEP_HZ * digit) * time) for digit in digits]
    return np.concatenate(tones).astype("<i2").tobytes()


def read(samples: Samples, rate: int) -> int | None:
    """Return the number at the end of ``samples``; None where there are no three tones."""
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > _LOUD)
    length = round(_TONE_S * rate)
    if len(loud) == 0 or loud[-1] < 3 * length:
        return None
    end = int(loud[-1])
    number = 0
    for back in (3, 2, 1):
        middle = samples[
            end - back * length + length // 4 : end - (back - 1) * length - length // 4
        ]
        spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle)), 8_192))
        hertz = float(np.argmax(spectrum)) * rate / 8_192
        digit = round((hertz - _LOWEST_HZ) / _STEP_HZ)
        if not 0 <= digit < _BASE:
            return None
        number = number * _BASE + digit
    return number
