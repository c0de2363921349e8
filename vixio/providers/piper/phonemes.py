"""Text to phonemes for Piper's voices, without the eSpeak NG that piper-tts loads in its process.

That library crashes on some texts. Voices of other kinds than eSpeak NG's have phonemes by Python
code of the package, or letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from vixio.providers.local_voice.phonemes import Phonemes


class EspeakPhonemes:
    """Phonemes of the eSpeak NG of the default install, as Piper's own would return them."""

    def __init__(self, provider: str, described: Any) -> None:  # noqa: ANN401 - untyped vendor object
        """``described``: the voice's PiperConfig. Raises ProviderUnavailable without its voice."""
        name: str = described.espeak_voice
        self._vowels: Callable[[str], str] = _diacritizer() if name == "ar" else str
        clusters = ("".join(cluster) for cluster in described.vowel_clusters or ())
        longest_first = sorted(map(re.escape, clusters), key=len, reverse=True)
        self._phoneme = re.compile("|".join([*longest_first, "."]), re.DOTALL)
        self._phonemes = Phonemes(provider, name)
        try:
            self._phonemes.check()
        except BaseException:
            self.close()
            raise

    def of(self, text: str) -> Iterator[list[str]]:
        """Yield the phonemes of each sentence. Raises ProviderError."""
        for sounds in self._phonemes.sentences(self._vowels(text)):
            yield self._phoneme.findall(sounds)

    def close(self) -> None:
        """End the process of eSpeak NG."""
        self._phonemes.close()


def _diacritizer() -> Callable[[str], str]:
    """Return what adds the short vowels to Arabic text, with Piper's default threshold."""
    from piper.tashkeel import TashkeelDiacritizer

    diacritizer = TashkeelDiacritizer()
    return lambda text: str(diacritizer(text, taskeen_threshold=0.8))
