"""What the server's processor time is spent on: samples of its event loop, sorted by part.

A signal comes after each few milliseconds of processor time (ITIMER_PROF, setitimer(2)); its
handler looks at the stack of the event loop's thread and asks to which part of a turn the functions
on it belong. It costs less than 1 % and changes nothing in the server. The other threads are known
by their names.
"""

from __future__ import annotations

import signal
from collections import Counter
from types import CodeType, FrameType
from typing import Final

STEP_S: Final = 0.004
"""Of processor time between two samples; the kernel's tick may make it longer."""

SENDING: Final = "pacing"
IDLE: Final = "idle"
OTHER: Final = "loop, sockets"
OTHER_THREADS: Final = "other threads"

_PLACES: Final = (
    ("levelling", ("/vixio/audio/loudness",)),
    ("encoding", ("/vixio/audio/codec.py:OpusEncoder", "/vixio/core/session/reply_audio")),
    (SENDING, ("/vixio/core/pacer",)),
    ("tools", ("/vixio/tools/", "/vixio/core/tools/", "/vixio/transports/xiaozhi/device_tools")),
    ("ASR", ("/vixio/stations/asr", "/vixio/providers/openai_speech/asr", "/funasr_server/")),
    (
        "agent",
        ("/vixio/stations/agent", "/vixio/providers/openai_agent", "/vixio/core/turns/runner",
         "/site-packages/agents/"),
    ),
    ("TTS", ("/vixio/stations/tts", "/vixio/stations/sentence",
             "/vixio/providers/openai_speech/tts", "/vixio/providers/edge_tts",
             "/site-packages/edge_tts/", "/vixio/providers/audio_stream")),
    ("session", ("/vixio/core/session/reply", "/vixio/core/session/dialogue")),
    ("listening", ("/vixio/transports/", "/vixio/stations/", "/vixio/core/session/session",
                   "/vixio/providers/", "/vixio/audio/codec.py:OpusDecoder")),
    ("bench", ("/bench/vixio_bench/load/usage", "/bench/vixio_bench/load/probe")),
    (IDLE, ("/selectors.py:EpollSelector.select", "/selectors.py:KqueueSelector.select")),
)  # fmt: skip
"""Parts, with pieces of ``file:function``. A stack counts for the first part that it touches."""

_THREADS: Final = (("vixio-vad", "listening"), ("vixio-encode", "encoding"))

PARTS: Final = (*dict.fromkeys(part for part, _ in _PLACES), OTHER, OTHER_THREADS)


class WorkSampler:
    """Takes the samples. Start it in the main thread, which runs the event loop."""

    def __init__(self) -> None:
        self._known: dict[CodeType, int] = {}
        self._samples: Counter[str] = Counter()

    def start(self) -> None:
        """Begin to sample."""
        signal.signal(signal.SIGPROF, self._sample)
        signal.siginterrupt(signal.SIGPROF, False)
        signal.setitimer(signal.ITIMER_PROF, STEP_S, STEP_S)

    def stop(self) -> None:
        """Sample no more."""
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)

    def reset(self) -> None:
        """Forget what was seen."""
        self._samples.clear()

    def seconds(self, by_thread: dict[str, float]) -> dict[str, float]:
        """Return the processor time of each part.

        ``by_thread``: seconds that each thread has used since :meth:`reset`, by name.
        """
        parts = dict.fromkeys(PARTS, 0.0)
        busy = self._samples.total() - self._samples[IDLE]
        for name, seconds in by_thread.items():
            if name != "MainThread":
                parts[_part_of_thread(name)] += seconds
            elif busy:
                for part, count in self._samples.items():
                    parts[part] += seconds * count / busy
        del parts[IDLE]
        return {part: seconds for part, seconds in parts.items() if seconds}

    def _sample(self, _: int, frame: FrameType | None) -> None:
        best = len(_PLACES)
        while frame is not None:
            place = self._known.get(frame.f_code)
            if place is None:
                place = self._known[frame.f_code] = _place(frame.f_code)
            best = min(best, place)
            frame = frame.f_back
        self._samples[_PLACES[best][0] if best < len(_PLACES) else OTHER] += 1


def _place(code: CodeType) -> int:
    name = f"{code.co_filename}:{code.co_qualname}"
    for index, (_, pieces) in enumerate(_PLACES):
        if any(piece in name for piece in pieces):
            return index
    return len(_PLACES)


def _part_of_thread(name: str) -> str:
    return next((part for start, part in _THREADS if name.startswith(start)), OTHER_THREADS)
