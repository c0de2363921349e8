"""The options of ``asr`` when its name is ``funasr``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from vixio.core.cores import own_threads
from vixio.core.errors import ProviderUnavailable
from vixio.providers.funasr.messages import NAME, WorkerSettings

_MOST_THREADS = 4
"""More do not make an utterance of a few seconds faster."""

_DESCRIBES_MODEL = ("config.yaml", "configuration.json")
"""Either tells FunASR which classes a folder's model is made of."""


class FunASRSettings(BaseModel):
    """Options of ``asr.funasr``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(min_length=1)] = "iic/SenseVoiceSmall"
    """A model's id or FunASR's short name for it, or a folder with its files."""
    hub: Literal["ms", "hf"] = "ms"
    """Where an id is looked up: ModelScope or Hugging Face. A folder needs neither."""
    device: str = "cpu"
    """Where torch runs it: cpu, cuda:0, mps …; the CPU where there is no such device."""
    threads: Annotated[int, Field(ge=1, le=64)] | None = None
    """Threads of one call; all cores but one, four at most, if not given."""
    language: str = "auto"
    """What is spoken, for models that ask: auto, zh, yue, en, ja, ko."""
    itn: bool = True
    """Numbers in digits and punctuation, for models that can."""
    hotwords: list[Annotated[str, Field(min_length=1, max_length=40)]] = Field(default_factory=list)
    """Names and words to listen for, for models that can (``paraformer-zh``)."""
    chunk_size: Annotated[
        list[Annotated[int, Field(ge=0, le=40)]], Field(min_length=3, max_length=3)
    ] = [0, 10, 5]
    """Of a streaming model: what it looks back on, hears at a time and looks ahead to, in 60 ms."""
    max_batch: Annotated[int, Field(ge=1, le=64)] = 8
    """Utterances in one call, at most."""
    max_batch_seconds: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Audio in one call, at most, where more than one utterance is in it."""
    gather_ms: Annotated[float, Field(ge=0, le=200)] = 20.0
    """How long an utterance waits for others that are still being spoken."""
    max_waiting: Annotated[int, Field(ge=1, le=1000)] = 64
    """Utterances that wait for the model; one more fails at once, as its words would come late."""
    max_seconds: Annotated[float, Field(gt=0, le=600)] = 60.0
    """Longest utterance; what is said after that is not heard."""
    timeout: Annotated[float, Field(gt=0)] = 12.0
    """Seconds for the words after the end of speech."""
    load_timeout: Annotated[float, Field(gt=0)] = 1800.0
    """Seconds for loading the model, the download included."""
    options: dict[str, Any] = Field(default_factory=dict)
    """More arguments of FunASR's AutoModel, as ``punc_model: ct-punc`` or ``model_revision``."""

    @field_validator("chunk_size")
    @classmethod
    def _long_enough(cls, value: list[int]) -> list[int]:
        if value[1] < 4:
            raise ValueError("the second number is at least 4 (240 ms)")
        return value

    def worker(self) -> WorkerSettings:
        """Return what the process is told. Raises ProviderUnavailable if a folder is missing."""
        return WorkerSettings(
            model=_model(self.model),
            hub=self.hub,
            device=self.device,
            threads=self.threads or min(_MOST_THREADS, max(1, own_threads() - 1)),
            itn=self.itn,
            chunk_size=tuple(self.chunk_size),
            max_batch=self.max_batch,
            max_batch_seconds=self.max_batch_seconds,
            gather_seconds=self.gather_ms / 1000,
            options=self.options,
        )


def _model(name: str) -> str:
    """An id as it is, a folder absolute: FunASR looks for no model of a folder's name then."""
    path = Path(name).expanduser()
    if path.is_dir():
        if not any(path.joinpath(file).exists() for file in _DESCRIBES_MODEL):
            message = f"the folder {name} holds no model (there is no {_DESCRIBES_MODEL[0]})"
            raise ProviderUnavailable(NAME, message, reason="no_model")
        return str(path.resolve())
    if name.startswith(("/", "./", "../", "~")):
        raise ProviderUnavailable(NAME, f"there is no folder {name}", reason="no_model")
    return name
