"""The one thread of the process that synthesises, whatever the number of providers and devices.

A job is a piece of text of bounded length. Jobs run in the order in which they came; a longer text
submits its next piece when the last one has been taken, so devices take turns and the thread never
waits for a slow listener. The thread lives while a provider holds the engine.
"""

from __future__ import annotations

import threading
from collections import deque

from vixio.core.errors import ProviderError
from vixio.providers.espeak_library import CALLING, NAME, EspeakLibrary, Voice, load_espeak
from vixio.providers.local_voice.job import VoiceJob


class Job(VoiceJob):
    """A piece of text for one of ``voices``."""

    def __init__(self, text: str, voices: tuple[Voice, ...], *, pause_after: bool) -> None:
        """``voices``: the first one that exists speaks."""
        super().__init__(text)
        self.voices = voices
        self.pause_after = pause_after


class EspeakEngine:
    """The library and its thread. All providers of the process share :data:`ENGINE`."""

    def __init__(self) -> None:
        self._library: EspeakLibrary | None = None
        self._changed = threading.Condition()
        self._jobs: deque[Job] = deque()  # guarded by _changed, as the two below
        self._holders = 0
        self._thread: threading.Thread | None = None

    def load(self) -> int:
        """Load the library if it is not yet; return the sample rate (Hz). Blocking.

        Raises ProviderUnavailable. It stays loaded for good: its state is the process's.
        """
        with CALLING:
            if self._library is None:
                self._library = load_espeak()
            return self._library.sample_rate

    def has_voice(self, voice: Voice) -> bool:
        """Tell whether ``voice`` exists. Blocking; only after :meth:`load`."""
        with CALLING:
            return self._library is not None and self._library.set_voice(voice)

    def hold(self) -> None:
        """Keep the thread running until :meth:`release`. Only after :meth:`load`."""
        with self._changed:
            self._holders += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="vixio-espeak", daemon=True)
                self._thread.start()

    def release(self) -> None:
        """Undo one :meth:`hold`; with the last one the thread ends. Blocking."""
        with self._changed:
            self._holders -= 1
            if self._holders or self._thread is None:
                return
            thread, self._thread = self._thread, None
            self._changed.notify_all()
        thread.join()

    def submit(self, job: Job) -> None:
        """Queue ``job`` behind all others."""
        with self._changed:
            self._jobs.append(job)
            self._changed.notify_all()  # an ending thread may be among those that wait

    def _work(self) -> None:
        while (job := self._next()) is not None:
            if job.cancelled:
                continue
            with CALLING:
                if self._library is not None:
                    job.end(_run(self._library, job))

    def _next(self) -> Job | None:
        with self._changed:
            while self._thread is threading.current_thread():
                if self._jobs:
                    return self._jobs.popleft()
                self._changed.wait()
        return None


def _run(library: EspeakLibrary, job: Job) -> ProviderError | None:
    try:
        if not any(library.set_voice(voice) for voice in job.voices):
            tried = ", ".join(voice.name for voice in job.voices)
            return ProviderError(NAME, f"no such voice: {tried}", retryable=False)
        library.synthesize(job.text, job.write, pause_after=job.pause_after)
    except ProviderError as error:
        return error
    except Exception as error:  # noqa: BLE001 - the thread serves all devices and must go on
        failed = ProviderError(NAME, f"synthesis failed ({type(error).__name__})")
        failed.__cause__ = error
        return failed
    return None


ENGINE = EspeakEngine()
