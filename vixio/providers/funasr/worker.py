"""The worker process with the model. Run as ``python -m vixio.providers.funasr.worker``.

It exchanges frames (``vixio.core.framing``) over standard input and output. It exits when its input
ends, even during a call of the model, so it does not outlive the server. The output of FunASR and
its libraries is discarded: it may quote a user's words.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any, Final

from vixio.core.framing import Frame, Unpacker, pack
from vixio.providers.funasr.batch_scheduler import BatchScheduler, Utterance
from vixio.providers.funasr.engine import Engine, join, model_name
from vixio.providers.funasr.messages import MAX_PAYLOAD, Kind, WorkerSettings

_READ_BYTES: Final = 1 << 18
_PRINTED_CHARS: Final = 4_000
_HINT_CHARS: Final = 200
_NO_SUCH_MODEL: Final = re.compile(r"\b404\b|not.?(exist|found)|no such", re.IGNORECASE)


class Worker:
    """Decodes the scheduler's utterances. ``send`` writes a frame to the server."""

    def __init__(
        self, engine: Engine, scheduler: BatchScheduler, send: Callable[[bytes], None]
    ) -> None:
        self._engine = engine
        self._scheduler = scheduler
        self._send = send

    def run(self) -> None:
        """Decode until the process ends."""
        while True:
            if self._engine.streaming:
                self._step()
            else:
                self._batch()

    def _batch(self) -> None:
        batch = self._scheduler.next_batch()
        for utterance in batch:
            if not utterance.hearable:
                self._result(utterance, "", 0)
        batch = [utterance for utterance in batch if utterance.hearable]
        if batch:
            self._recognize(batch)

    def _recognize(self, batch: list[Utterance]) -> None:
        first = batch[0]
        try:
            texts = self._engine.recognize(
                [bytes(utterance.audio) for utterance in batch], first.language, first.hotwords
            )
        except Exception as error:  # noqa: BLE001 - an error of the model fails its utterance only
            if len(batch) == 1:
                self._fail(first, error)
            else:  # one at a time, so that one utterance does not fail the others
                for utterance in batch:
                    self._recognize([utterance])
            return
        for utterance, text in zip(batch, texts, strict=True):
            self._result(utterance, text, len(batch))

    def _step(self) -> None:
        step = self._scheduler.next_step()
        utterance = step.utterance
        if step.final and not utterance.hearable:
            self._result(utterance, "", 0)
            return
        try:
            heard = self._engine.step(step.pcm, utterance.cache, final=step.final)
        except Exception as error:  # noqa: BLE001 - as above
            self._fail(utterance, error)
            return
        utterance.text = join(utterance.text, heard)
        if step.final:
            self._result(utterance, utterance.text, 1)
        elif heard and utterance.hearable and self._scheduler.wanted(utterance):
            self._send(pack(Kind.PARTIAL, utterance.number, {"text": utterance.text}))

    def _result(self, utterance: Utterance, text: str, batch: int) -> None:
        if self._scheduler.done(utterance):
            self._send(pack(Kind.RESULT, utterance.number, {"text": text, "batch": batch}))

    def _fail(self, utterance: Utterance, error: Exception) -> None:
        if self._scheduler.done(utterance):
            # The class only: the message may quote the user.
            message = f"the model failed ({type(error).__name__})"
            self._send(pack(Kind.FAILED, utterance.number, {"message": message}))


def _writer(channel: int) -> Callable[[bytes], None]:
    def write(frame: bytes) -> None:
        while frame:
            frame = frame[os.write(channel, frame) :]

    return write


def _take(scheduler: BatchScheduler, frame: Frame[Kind]) -> None:
    match frame.kind:
        case Kind.OPEN:
            hints = frame.json()
            scheduler.open(frame.stream, hints["language"], hints["hotwords"])
        case Kind.AUDIO:
            scheduler.feed(frame.stream, frame.payload)
        case Kind.FINISH:
            scheduler.finish(frame.stream)
        case Kind.CANCEL:
            scheduler.cancel(frame.stream)
        case _:
            raise ValueError(f"{frame.kind.name} is not for this end")


def _read(channel: int, scheduler: BatchScheduler) -> None:
    """Pass the server's frames to the scheduler; end the process at the end of the input."""
    unpacker = Unpacker(Kind, MAX_PAYLOAD)
    status = 0
    try:
        while data := os.read(channel, _READ_BYTES):
            for frame in unpacker.feed(data):
                _take(scheduler, frame)
    except OSError:  # the server has ended
        pass
    except Exception:  # noqa: BLE001 - a malformed message ends the process; the server restarts it
        status = 1
    finally:
        # Not sys.exit(), which would wait for the model's thread, for seconds.
        os._exit(status)


def why(error: BaseException, settings: WorkerSettings, printed: str) -> dict[str, Any]:
    """Return the payload of UNUSABLE: why the model cannot be loaded, in one line.

    ``retryable``: whether the cause is a hub that could not be reached.
    """
    if isinstance(error, ModuleNotFoundError) and error.name:
        name = error.name.partition(".")[0]
        return {"message": f"the package {name} is missing: pip install {name}"}
    # FunASR prints why a download failed; its exception is about the missing files.
    found = re.search(r"^Download: .* failed!: ?(.*)$", printed, re.MULTILINE)
    cause = " ".join((found[1] if found else str(error) or type(error).__name__).split())
    name = model_name(settings)
    what = f"{name} could not be {'downloaded' if found else 'loaded'}"
    retryable = found is not None and _NO_SUCH_MODEL.search(cause) is None
    return {"message": f"{what} ({cause[:_HINT_CHARS]})", "retryable": retryable}


def main() -> None:
    """Load the model, report it, and decode."""
    values: dict[str, Any] = json.loads(sys.argv[1])
    values["chunk_size"] = tuple(values["chunk_size"])
    settings = WorkerSettings(**values)
    # The channel moves to new descriptors; standard output and error go to a file.
    incoming, outgoing = os.dup(0), os.dup(1)
    with tempfile.TemporaryFile() as printed:
        for descriptor in (1, 2):
            os.dup2(printed.fileno(), descriptor)
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a device, not a path
            os.dup2(nothing.fileno(), 0)
        send = _writer(outgoing)
        scheduler = BatchScheduler(
            max_batch=settings.max_batch,
            max_batch_seconds=settings.max_batch_seconds,
            gather_seconds=settings.gather_seconds,
        )
        # Before loading: the server may end during the download.
        threading.Thread(target=_read, args=(incoming, scheduler), daemon=True).start()
        try:
            engine = Engine(settings)
            engine.warm_up()
        except BaseException as error:  # noqa: BLE001 - reports sys.exit() of a library as well
            sys.stdout.flush()
            printed.seek(0)
            output = printed.read()[-_PRINTED_CHARS:].decode("utf-8", "replace")
            send(pack(Kind.UNUSABLE, 0, why(error, settings, output)))
            os._exit(1)
        with open(os.devnull, "wb") as nothing:  # noqa: PTH123 - as above
            for descriptor in (1, 2):
                os.dup2(nothing.fileno(), descriptor)
    scheduler.set_chunk(engine.chunk_bytes)
    about = {
        "model": engine.model_class,
        "streaming": engine.streaming,
        "hotwords": engine.takes_hotwords,
    }
    send(pack(Kind.READY, 0, about))
    Worker(engine, scheduler, send).run()


if __name__ == "__main__":
    main()
