"""Decoding one utterance over a closed grammar, and how far to believe what came out.

A closed grammar puts every utterance onto one of its sentences. What tells a command from anything
else is how well the sentence explains the sound compared with the best that the model could say of
each 10 ms frame: with ``compallsen`` PocketSphinx computes the score of every sound of the model
and subtracts the best, so the mean of a path's acoustic scores *is* that comparison. Measured
against a phone loop (``allphone``) in a second decoder it separates better and costs nothing more
(docs/speech.md). The weakest word counts once more, since a foreign sentence often shares all
words but one with a command.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vixio.phrasebook import Grammar
from vixio.providers.pocketsphinx.lexicon import Lexicon
from vixio.providers.pocketsphinx.wire import WORST_SCORE

_WEAKEST_WORD = 0.5
"""What the weakest word's score adds to the mean of all; chosen on the tuning set."""

_WORST_FRAME = -300.0  # what is worse underflows in the library's numbers
_SCORE_SHIFT = 1024.0  # acoustic scores are shifted left by SENSCR_SHIFT = 10 bits in FSG segments
_GAUSSIANS = 8
"""Gaussians of each codebook that a frame is scored with. The library's default of 4 makes the
scores coarser; this and the next two together: 2 points more right on the tuning set."""
_GRAMMAR_WEIGHT = 4.0
_SILENCE_PROBABILITY = 0.05
"""Of a pause between words; commands are spoken with more of them than dictation."""
_END_PROBABILITY = 0.5
"""Where a sentence may end or go on. Half: the shorter one wins unless something was said."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The best sentence of the grammar; ``score`` is mean and weakest word, the nearer 0 the surer.

    ``words`` is empty when no sentence fits at all.
    """

    words: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class SpokenGrammar:
    """A grammar with the pronunciations of its words."""

    key: str
    grammar: Grammar
    pronunciations: dict[str, tuple[str, ...]]

    @classmethod
    def make(cls, key: str, grammar: Grammar, lexicon: Lexicon) -> SpokenGrammar:
        """Look up every word; each must have a pronunciation."""
        words = grammar.vocabulary
        return cls(key, grammar, {word: lexicon.pronunciations(word) for word in words})


class Primer:
    """Measures the cepstral mean of a piece of audio; :meth:`renew` it after each use, too."""

    def __init__(self, model: Path) -> None:
        self._model = model
        self._decoder: Any = None
        self.renew()

    def renew(self) -> None:
        """Make it ready for another piece."""
        self._decoder = _make_decoder(self._model, all_senones=False)
        # A search has to be there, and runs at the end of the utterance: the smallest there is.
        fsg = self._decoder.create_fsg("primer", 0, 1, [(0, 1, 1.0, "<sil>")])
        self._decoder.add_fsg("primer", fsg)
        self._decoder.activate_search("primer")

    def cepstral_mean(self, pcm: bytes) -> str:
        """Return the mean as the decoder wants to be told it."""
        self._decoder.start_utt()
        self._decoder.process_raw(pcm, no_search=True, full_utt=True)
        self._decoder.end_utt()
        mean = str(self._decoder.get_cmn(False))
        self.renew()
        return mean


class GrammarDecoder:
    """Decodes one utterance; then :meth:`renew` it.

    The library keeps more of an utterance than it lets anybody reset, and the next one comes out
    differently for it. A new decoder costs some 10 ms, so every utterance gets one, made ahead.
    """

    def __init__(self, model: Path) -> None:
        """Raises RuntimeError if the model cannot be loaded."""
        self._model = model
        self._decoder = _make_decoder(model, all_senones=True)
        self._spoken: SpokenGrammar | None = None

    def renew(self) -> None:
        """Make it ready for another utterance, over the same grammar as far as that is known."""
        spoken, self._spoken = self._spoken, None
        self._decoder = _make_decoder(self._model, all_senones=True)
        if spoken is not None:
            self.load(spoken)

    def load(self, spoken: SpokenGrammar) -> None:
        """Make a grammar ready; quick if it is already."""
        if self._spoken is not None:
            if self._spoken.key == spoken.key:
                return
            self._spoken = None
            self.renew()
        for word in sorted(spoken.pronunciations):
            for number, phones in enumerate(spoken.pronunciations[word], start=1):
                name = word if number == 1 else f"{word}({number})"
                self._decoder.add_word(name, phones, False)
        self._decoder.add_fsg(spoken.key, self._fsg(spoken))
        self._decoder.activate_search(spoken.key)
        self._spoken = spoken

    def start(self, spoken: SpokenGrammar, cepstral_mean: str) -> None:
        """Begin the utterance."""
        self.load(spoken)
        self._decoder.set_cmn(cepstral_mean)
        self._decoder.start_utt()

    def process(self, pcm: bytes) -> None:
        """Take more audio."""
        self._decoder.process_raw(pcm)

    def finish(self) -> Heard:
        """End the utterance."""
        self._decoder.end_utt()
        if self._decoder.hyp() is None:
            return Heard((), WORST_SCORE)
        words: list[str] = []
        scores: list[tuple[float, int]] = []
        logs = self._decoder.get_logmath()
        for segment in self._decoder.seg():
            if segment.word.startswith(("<", "[", "(", "+")):  # silence, noises, empty arcs
                continue
            words.append(segment.word.split("(", 1)[0])
            frames = segment.end_frame - segment.start_frame + 1
            total = logs.log(segment.ascore) / _SCORE_SHIFT if segment.ascore > 0 else None
            each = _WORST_FRAME if total is None else max(total / frames, _WORST_FRAME)
            scores.append((each, frames))
        # A path that was cut off before the end of a sentence means nothing.
        if not words or self._spoken is None or not self._spoken.grammar.accepts(words):
            return Heard((), WORST_SCORE)
        mean = sum(score * frames for score, frames in scores) / sum(n for _, n in scores)
        weakest = min(score for score, _ in scores)
        return Heard(tuple(words), mean + _WEAKEST_WORD * weakest)

    def _fsg(self, spoken: SpokenGrammar) -> Any:  # noqa: ANN401 - the library is untyped
        grammar = spoken.grammar
        end = len(grammar.arcs)
        transitions: list[tuple[Any, ...]] = []
        for state, arcs in enumerate(grammar.arcs):
            going_on = 1.0
            if state in grammar.finals:
                going_on = 1.0 - _END_PROBABILITY if arcs else 0.0
                transitions.append((state, end, 1.0 - going_on))
            transitions += [(state, to, going_on / len(arcs), word) for word, to in arcs]
        return self._decoder.create_fsg(spoken.key, 0, end, transitions)


def _make_decoder(model: Path, *, all_senones: bool) -> Any:  # noqa: ANN401 - the library is untyped
    import pocketsphinx

    return pocketsphinx.Decoder(
        pocketsphinx.Config(
            hmm=str(model),
            dict=os.devnull,  # words come with the grammars
            lm=None,
            loglevel="FATAL",
            compallsen=all_senones,
            topn=_GAUSSIANS,
            lw=_GRAMMAR_WEIGHT,
            silprob=_SILENCE_PROBABILITY,
        )
    )
