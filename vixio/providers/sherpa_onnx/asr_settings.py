"""Options of the ASR provider."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vixio.providers.model_path import InstalledFolder
from vixio.providers.sherpa_onnx.asr_kinds import KINDS, KindName
from vixio.providers.sherpa_onnx.hotwords import SPEAKABLE


class SherpaASRSettings(BaseModel):
    """Options of the section ``asr`` when its name is ``sherpa-onnx``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: InstalledFolder
    """Folder with the model's unpacked files, or the name of an installed model."""
    kind: KindName = "auto"
    """Kind of the model; ``auto``: detected from its files."""
    int8: bool = True
    """Use the int8 file where the folder has both precisions."""
    threads: int = Field(default=2, ge=1, le=64)
    """CPU threads of one call."""
    language: str = ""
    """Of the speech, for SenseVoice and Whisper (``zh``, ``en``, …); empty: detected."""
    itn: bool = True
    """Numbers in digits, and punctuation, for SenseVoice."""
    hotwords: list[str] = Field(default_factory=list)
    """Words to expect, for transducers."""
    hotwords_score: float = Field(default=1.5, gt=0.0, le=20.0)
    """Bonus of hotwords in the beam search."""
    tool_words: bool = False
    """Expect the words of the device's tools as well, for transducers."""
    modeling_unit: Literal["", "cjkchar", "bpe", "cjkchar+bpe"] = ""
    """Unit of a transducer's symbols; required for hotwords. ``bpe`` needs ``bpe.vocab``."""
    try_first: bool = True
    """Load the model in a process of its own first, because a bad model aborts its process."""
    max_batch: int = Field(default=8, ge=1, le=64)
    """Maximum number of utterances in one call."""
    max_seconds: float = Field(default=35.0, ge=1.0, le=60.0)
    """Longest utterance; a longer one is rejected."""
    max_waiting: int = Field(default=64, ge=1, le=1024)
    """Maximum number of utterances that wait; further ones are refused."""

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
        """Whether there may be hotwords."""
        return bool(self.hotwords) or self.tool_words
