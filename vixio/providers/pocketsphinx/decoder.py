"""Decodes one utterance over a closed grammar and scores the result.

A closed grammar maps every utterance to one of its sentences. A command is told from other speech
by how well the sentence explains the sound, compared with the best score of any sound of the model
for each 10 ms frame. With ``compallsen`` PocketSphinx scores every sound and subtracts the best, so
the mean of a path's acoustic scores is that comparison. It separates better than a phone loop
(``allphone``) in a second decoder and costs nothing more (docs/speech.md). The weakest word counts
twice, because a foreign sentence often shares all words but one with a command.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vixio.language.phrasebook import CompiledPhrases, Grammar
from vixio.language.phrasebook.text import join
from vixio.providers.pocketsphinx.lexicon import Lexicon
from vixio.providers.pocketsphinx.messages import WORST_SCORE

_WEAKEST_WORD = 0.5
"""Factor of the weakest word's score, added to the mean; chosen on the tuning set."""

_WORST_FRAME = -300.0  # a worse score underflows in the library's numbers
_SCORE_SHIFT = 1024.0  # acoustic scores are shifted left by SENSCR_SHIFT = 10 bits in FSG segments
_GAUSSIANS = 8
"""Gaussians of each codebook that a frame is scored with. The library's default of 4 gives coarser
scores. This and the next two gain 2 percentage points of right answers on the tuning set."""
_GRAMMAR_WEIGHT = 4.0
_SILENCE_PROBABILITY = 0.05
"""Of a pause between words; commands have more of them than dictation."""
_UNSAID_FRAMES = 30
"""So many loud frames in the pauses (0.3 s) are speech that the sentence does not have: it counts
as a word of the worst score. The library lets a pause cover any sound, so "good morning, how far is
it to the sun" would be a certain "good morning"."""
_BEGUN_WORDS = 2
"""Of the beginning of a sentence: a single word is like too many others."""
_END_PROBABILITY = 0.5
"""Of the end where a sentence may end or go on. At 0.5 the shorter one wins unless more is said."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The best sentence of the grammar; empty when none fits. A ``score`` near 0 is certain.

    ``begun``: the score of the best beginning of a sentence. ``nearest``: what fits best, a whole
    sentence or a beginning.
    """

    words: tuple[str, ...]
    score: float
    begun: float = WORST_SCORE
    nearest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SpokenGrammar:
    """A grammar with the pronunciations of its words, and the phrases that it was made of."""

    key: str
    grammar: Grammar
    pronunciations: dict[str, tuple[str, ...]]
    phrases: CompiledPhrases

    @classmethod
    def make(
        cls, key: str, grammar: Grammar, phrases: CompiledPhrases, lexicon: Lexicon
    ) -> SpokenGrammar:
        """Look up every word; each must have a pronunciation."""
        words = grammar.vocabulary
        return cls(key, grammar, {word: lexicon.pronunciations(word) for word in words}, phrases)

    def is_final(self, words: Sequence[str]) -> bool:
        """Return whether this sentence ends or erases something."""
        meant = self.phrases.match(join(words))
        return meant is not None and meant.final

    def is_whole(self, words: Sequence[str]) -> bool:
        """Return whether no word that may follow these changes what they mean."""
        meant = self.phrases.match(join(words))
        for word in self.grammar.following(words):
            longer = (*words, word)
            if not self.grammar.accepts(longer):
                return False
            then = self.phrases.match(join(longer))
            if meant is None or then is None or not meant.same_as(then):
                return False
        return True


class Primer:
    """Measures the cepstral mean of a piece of audio."""

    def __init__(self, model: Path) -> None:
        self._model = model
        self._decoder: Any = None
        self.renew()

    def renew(self) -> None:
        """Prepare for another piece."""
        self._decoder = _make_decoder(self._model, all_senones=False)
        # The library needs a search; this is the smallest one.
        fsg = self._decoder.create_fsg("primer", 0, 1, [(0, 1, 1.0, "<sil>")])
        self._decoder.add_fsg("primer", fsg)
        self._decoder.activate_search("primer")

    def cepstral_mean(self, pcm: bytes) -> str:
        """Return the mean in the decoder's notation."""
        self._decoder.start_utt()
        self._decoder.process_raw(pcm, no_search=True, full_utt=True)
        self._decoder.end_utt()
        mean = str(self._decoder.get_cmn(False))
        self.renew()
        return mean


class GrammarDecoder:
    """Decodes one utterance; :meth:`renew` prepares it for another.

    The library keeps state of an utterance that cannot be reset and changes the result of the next
    one. A new decoder costs some 10 ms, so each utterance gets one, made in advance.
    """

    def __init__(self, model: Path) -> None:
        """Raises RuntimeError if the model cannot be loaded."""
        self._model = model
        self._decoder = _make_decoder(model, all_senones=True)
        self._spoken: SpokenGrammar | None = None

    def renew(self) -> None:
        """Prepare for another utterance, over the same grammar if there was one."""
        spoken, self._spoken = self._spoken, None
        self._decoder = _make_decoder(self._model, all_senones=True)
        if spoken is not None:
            self.load(spoken)

    def load(self, spoken: SpokenGrammar) -> None:
        """Load a grammar; returns quickly if it is loaded already."""
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
        """Begin an utterance."""
        self.load(spoken)
        self._decoder.set_cmn(cepstral_mean)
        self._decoder.start_utt()

    def process(self, pcm: bytes) -> None:
        """Take more audio."""
        self._decoder.process_raw(pcm)

    def finish(self, loud: Sequence[range] = ()) -> Heard:
        """End the utterance and return its words. ``loud``: the frames that are no silence."""
        # Before the end the library tells the best path, wherever in the grammar it is; then only
        # one that reaches the end of a sentence. Scores are shifted then.
        begun, begun_score = self._path(loud, 1.0)
        self._decoder.end_utt()
        words, score = self._path(loud, _SCORE_SHIFT)
        if self._spoken is None:
            return Heard((), WORST_SCORE)
        accepts = self._spoken.grammar.accepts
        if accepts(begun) or len(begun) < _BEGUN_WORDS:
            begun_score = WORST_SCORE
        if not accepts(words):  # a path that does not reach the end of a sentence is no result
            return Heard((), WORST_SCORE, begun_score, begun)
        return Heard(words, score, begun_score, words)

    def _path(self, loud: Sequence[range], shift: float) -> tuple[tuple[str, ...], float]:
        """Return the words of the best path and their score; ``shift`` of its acoustic scores."""
        if self._decoder.hyp() is None:
            return (), WORST_SCORE
        words: list[str] = []
        scores: list[tuple[float, int]] = []
        unsaid = 0
        logs = self._decoder.get_logmath()
        for segment in self._decoder.seg():
            if segment.word.startswith(("<", "[", "(", "+")):  # silence, noises, empty arcs
                pause = range(segment.start_frame, segment.end_frame + 1)
                unsaid += sum(frame in pause for part in loud for frame in part)
                continue
            words.append(segment.word.split("(", 1)[0])
            frames = segment.end_frame - segment.start_frame + 1
            total = logs.log(segment.ascore) / shift if segment.ascore > 0 else None
            each = _WORST_FRAME if total is None else max(total / frames, _WORST_FRAME)
            scores.append((each, frames))
        if not words:
            return (), WORST_SCORE
        if unsaid >= _UNSAID_FRAMES:
            scores.append((_WORST_FRAME, unsaid))
        mean = sum(score * frames for score, frames in scores) / sum(n for _, n in scores)
        weakest = min(score for score, _ in scores)
        return tuple(words), mean + _WEAKEST_WORD * weakest

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
