"""The options of the recogniser."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vixio.providers.sherpa_onnx.asr_kinds import KINDS, KindName
from vixio.providers.sherpa_onnx.hotwords import SPEAKABLE


class SherpaASRSettings(BaseModel):
    """Options of the section ``asr`` when its name is ``sherpa-onnx``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: Path
    """Where the model is unpacked."""
    kind: KindName = "auto"
    """What it is; ``auto``: by its files."""
    int8: bool = True
    """Of two precisions of a file take the smaller one."""
    threads: int = Field(default=2, ge=1, le=64)
    """CPU threads of one decoding."""
    language: str = ""
    """Of what is said, for SenseVoice and Whisper (``zh``, ``en``, …); empty: the model decides."""
    itn: bool = True
    """Numbers and punctuation as they are written, for SenseVoice."""
    hotwords: list[str] = Field(default_factory=list)
    """Words to be expected, for transducers."""
    hotwords_score: float = Field(default=1.5, gt=0.0, le=20.0)
    """How much more they weigh."""
    tool_words: bool = False
    """Expect the words of the device's tools as well, for transducers."""
    modeling_unit: Literal["", "cjkchar", "bpe", "cjkchar+bpe"] = ""
    """What a transducer's symbols are; needed for hotwords. ``bpe`` needs ``bpe.vocab``."""
    try_first: bool = True
    """Load the model in a process of its own before: a bad one ends that, and not the server."""
    max_batch: int = Field(default=8, ge=1, le=64)
    """Utterances in one decoding, at most."""
    max_seconds: float = Field(default=35.0, ge=1.0, le=60.0)
    """Longest utterance; a longer one is rejected."""
    max_waiting: int = Field(default=64, ge=1, le=1024)
    """Utterances that may wait for their decoding; more are refused."""

    @model_validator(mode="after")
    def _hotwords_fit(self) -> Self:
        for word in self.hotwords:
            if not SPEAKABLE.fullmatch(word):
                raise ValueError(f"hotwords: {word!r} is not made of words")
        if self.biased and not self.modeling_unit:
            raise ValueError("hotwords need modeling_unit: what the model's symbols are")
        kind = KINDS.get(self.kind)
        if self.biased and kind is not None and kind.loader != "from_transducer":
            raise ValueError(f"hotwords: a model of kind {self.kind} takes none, a transducer does")
        return self

    @property
    def biased(self) -> bool:
        """Are there words to be expected?"""
        return bool(self.hotwords) or self.tool_words
