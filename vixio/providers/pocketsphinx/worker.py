"""The worker process: decodes the utterances of many devices, a slice at a time.

Run as ``python -m vixio.providers.pocketsphinx.worker``. It reads and writes frames
(``vixio.core.framing``) on standard input and output, and ends when its input ends, so it cannot
outlive the server.

An utterance in progress may hold a decoder, but never the last one: that one is reserved for
utterances that have ended, whose result is awaited.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections import OrderedDict
from contextlib import suppress
from math import exp
from pathlib import Path
from typing import Any, Final

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.chunk import Completeness
from vixio.core.framing import Frame, Unpacker, pack
from vixio.language.phrasebook import PhraseBook, ToolSignature
from vixio.providers.pocketsphinx.decoder import (
    GrammarDecoder,
    Heard,
    Primer,
    SpokenGrammar,
)
from vixio.providers.pocketsphinx.lexicon import Lexicon
from vixio.providers.pocketsphinx.messages import MAX_PAYLOAD, Kind, WorkerSettings
from vixio.providers.pocketsphinx.utterance import Utterance

_MAX_GRAMMARS: Final = 64
_BEGUN: Final = -90.0
"""Score from which words are the beginning of a sentence; chosen on three voices of the tuning
set, where most beginnings have it and hardly another sentence."""
_CONFIDENCE_WIDTH: Final = 15.0
"""Score above the threshold at which the confidence is 0.73."""


class Worker:
    """Everything but the pipes."""

    def __init__(self, settings: WorkerSettings) -> None:
        """Raises OSError or RuntimeError if the model cannot be loaded."""
        self._settings = settings
        self._book = PhraseBook.load(settings.language)
        self._lexicon = Lexicon(Path(settings.dictionary), guess=settings.language == "en")
        model = Path(settings.model)
        self._primer = Primer(model)
        self._idle = [GrammarDecoder(model) for _ in range(settings.decoders)]
        self._used: list[GrammarDecoder] = []
        """To be renewed when the worker is idle, or when one is needed."""
        self._grammars: OrderedDict[str, SpokenGrammar] = OrderedDict()
        self._utterances: dict[int, Utterance] = {}

    @property
    def busy(self) -> bool:
        """Whether :meth:`work` has something to do."""
        return bool(self._used) or any(
            item.workable and (item.decoder is not None or self._may_take(item))
            for item in self._utterances.values()
        )

    def take(self, frame: Frame[Kind]) -> list[bytes]:
        """Take a frame from the server; return the frames that answer it."""
        if frame.kind in {Kind.PREPARE, Kind.OPEN}:
            return self._open(frame)
        utterance = self._utterances.get(frame.stream)
        if utterance is None:
            return []
        if frame.kind is Kind.AUDIO:
            utterance.feed(frame.payload)
        elif frame.kind is Kind.HINTS:
            return self._change_grammar(frame, utterance)
        elif frame.kind is Kind.FINISH:
            utterance.finished = True
        elif frame.kind is Kind.CANCEL:
            self._release(self._utterances.pop(frame.stream))
        return []

    def work(self) -> list[bytes]:
        """Do a slice of work, for finished utterances first; return the frames to send."""
        for stream, item in sorted(self._utterances.items(), key=lambda pair: not pair[1].finished):
            if not item.workable:
                continue
            if item.decoder is None:
                if not self._may_take(item):
                    continue
                prime = item.prime()
                if not prime:
                    return self._result(stream, item, Heard((), 0.0))
                if not self._idle:
                    self._renew()
                item.decoder = self._idle.pop()
                item.decoder.start(item.spoken, self._primer.cepstral_mean(prime))
            item.decode_slice(item.decoder)
            if item.decoded:
                return self._result(stream, item, item.decoder.finish(item.loud))
            return []
        if self._used:
            self._renew()
        return []

    def _may_take(self, item: Utterance) -> bool:
        left = len(self._idle) + len(self._used)
        return left > (0 if item.finished or self._settings.decoders == 1 else 1)

    def _renew(self) -> None:
        decoder = self._used.pop()
        decoder.renew()
        self._idle.append(decoder)

    def _open(self, frame: Frame[Kind]) -> list[bytes]:
        spoken, answers = self._grammar(frame.json())
        if frame.kind is Kind.PREPARE:
            for decoder in self._idle:
                decoder.load(spoken)
            answers.append(pack(Kind.PREPARED))
        else:
            limit = pcm_bytes(self._settings.max_seconds, LISTEN_RATE)
            self._utterances[frame.stream] = Utterance(spoken, limit)
        return answers

    def _change_grammar(self, frame: Frame[Kind], item: Utterance) -> list[bytes]:
        if item.finished:
            return []
        try:
            spoken, answers = self._grammar(frame.json())
        except Exception:  # raised again: the caller reports it; here the utterance is released
            self._release(self._utterances.pop(frame.stream))
            raise
        if spoken.key != item.spoken.key:
            self._release(item)
            item.restart(spoken)
        return answers

    def _grammar(self, request: dict[str, Any]) -> tuple[SpokenGrammar, list[bytes]]:
        """Return a grammar, made if it is not known, and the frames that report it."""
        answers: list[bytes] = []
        spoken = self._grammars.get(request["key"])
        if spoken is None:
            spoken, about = self._make_grammar(request)
            answers.append(pack(Kind.GRAMMAR, payload=about))
        self._grammars[spoken.key] = spoken
        self._grammars.move_to_end(spoken.key)
        while len(self._grammars) > _MAX_GRAMMARS:
            self._grammars.popitem(last=False)
        return spoken, answers

    def _make_grammar(self, request: dict[str, Any]) -> tuple[SpokenGrammar, dict[str, Any]]:
        tools = [ToolSignature(*tool) for tool in request["tools"]]
        phrases = self._book.compile(tools)
        more = request["phrases"]
        grammar = phrases.grammar(more=more)
        self._lexicon.load(grammar.vocabulary)
        silent = sorted(
            word for word in grammar.vocabulary if not self._lexicon.pronunciations(word)
        )
        if silent:
            grammar = phrases.grammar(lambda word: bool(self._lexicon.pronunciations(word)), more)
        about = {
            "words": len(grammar.vocabulary),
            "states": len(grammar.arcs),
            "left_out": grammar.left_out,
            "unpronounceable": silent,
        }
        return SpokenGrammar.make(request["key"], grammar, phrases, self._lexicon), about

    def _result(self, stream: int, item: Utterance, heard: Heard) -> list[bytes]:
        self._release(self._utterances.pop(stream))
        final = item.spoken.is_final(heard.words)
        score = heard.score - self._settings.caution * final
        margin = score - self._settings.rejection
        certain = bool(heard.words) and margin >= 0 and item.spoke and not item.cut
        completeness = None
        if certain and item.spoken.is_whole(heard.words):
            completeness = Completeness.COMPLETE
        elif item.spoke and not item.cut and not certain and heard.begun >= _BEGUN:
            completeness = Completeness.INCOMPLETE
        result = {
            "words": list(heard.words) if certain else [],
            "rejected": item.spoke and not certain,
            "confidence": 1 / (1 + exp(-margin / _CONFIDENCE_WIDTH)) if certain else None,
            "score": score,
            "guess": list(heard.nearest),
            "completeness": completeness,
        }
        return [pack(Kind.RESULT, stream, result)]

    def _release(self, item: Utterance) -> None:
        if item.decoder is not None:
            self._used.append(item.decoder)
            item.decoder = None


def main() -> None:
    """Serve the frames on standard input until it ends."""
    # What a library prints must not mix with the frames, so they get a descriptor of their own.
    out = os.dup(1)
    os.dup2(2, 1)
    with suppress(ConnectionError):  # the server is gone
        try:
            worker = Worker(WorkerSettings(**json.loads(sys.argv[1])))
        except (OSError, RuntimeError, ImportError) as error:
            message = " ".join(str(error).split()) or type(error).__name__
            _write(out, pack(Kind.UNUSABLE, payload={"message": message}))
            return
        _write(out, pack(Kind.READY))
        _serve(worker, out)


def _serve(worker: Worker, out: int) -> None:
    unpacker = Unpacker(Kind, MAX_PAYLOAD)
    while True:
        # Input first, so that a cancelled utterance is not decoded.
        wait = 0.0 if worker.busy else None
        if select.select([0], [], [], wait)[0]:
            data = os.read(0, 1 << 16)
            if not data:
                return
            for frame in unpacker.feed(data):
                for answer in _take(worker, frame):
                    _write(out, answer)
        for answer in worker.work():
            _write(out, answer)


def _take(worker: Worker, frame: Frame[Kind]) -> list[bytes]:
    try:
        return worker.take(frame)
    except Exception as error:  # noqa: BLE001 - one utterance's bad input must not end the others
        message = f"{type(error).__name__}: {error}"
        return [pack(Kind.FAILED, frame.stream, {"message": message})]


def _write(out: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]


if __name__ == "__main__":
    main()
