"""What the section ``args`` of speech.yaml may hold."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["sense-voice", "zipformer-ctc", "nemo-ctc", "paraformer", "transducer"]
"""Of a recogniser: what its publisher calls the network."""


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RecogniserOptions(_Options):
    """A recogniser of sherpa-onnx."""

    folder: Path
    """Has tokens.txt and model….onnx, or encoder…, decoder… and joiner….onnx."""
    kind: Kind = "sense-voice"
    name: str = "recogniser"
    """What requests call it in the field ``model``."""
    language: str = "auto"
    """Of SenseVoice, where a request names none."""
    threads: int = Field(default=1, ge=1)
    """Threads of one decoding. Give the deployment as many ``num_cpus``."""
    device: Literal["cpu", "cuda"] = "cpu"
    max_seconds: float = Field(default=60.0, gt=0)
    """Longest utterance; a longer one is refused."""


class VoiceOptions(_Options):
    """A voice of Piper."""

    model: Path
    """NAME.onnx, with NAME.onnx.json beside it."""
    name: str = "voice"
    """What requests call it in the field ``model``."""
    threads: int = Field(default=1, ge=1)
    device: Literal["cpu", "cuda"] = "cpu"
    max_chars: int = Field(default=4_096, ge=1)
    """Longest text; a longer one is refused. 4096 is OpenAI's limit."""


class Options(_Options):
    """Both."""

    recogniser: RecogniserOptions
    voice: VoiceOptions
