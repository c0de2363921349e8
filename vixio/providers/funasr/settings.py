"""Options of the FunASR provider."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from vixio.core.cores import own_threads
from vixio.core.errors import ProviderUnavailable
from vixio.providers.funasr.messages import NAME, WorkerSettings
from vixio.providers.model_path import located

_MOST_THREADS = 4
"""More threads do not make an utterance of a few seconds faster."""

_DESCRIBES_MODEL = ("config.yaml", "configuration.json")
"""FunASR reads the classes of a folder's model from either file."""

_HEARS = {
    "sensevoice": ("zh", "yue", "en", "ja", "ko"),
    "sense-voice": ("zh", "yue", "en", "ja", "ko"),
    "paraformer": ("zh", "en"),
}
"""Languages by what stands in the name of a model, from FunASR's README."""


class FunASRSettings(BaseModel):
    """Options of the section ``asr`` when its name is ``funasr``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(min_length=1)] = "iic/SenseVoiceSmall"
    """Id of a model, FunASR's short name for it, a folder, or the name of an installed model."""
    hub: Literal["ms", "hf"] = "ms"
    """Hub of a model's id: ModelScope or Hugging Face. Not used for a folder."""
    device: str = "cpu"
    """Device of torch: cpu, cuda:0, mps …. FunASR uses the CPU where the device is missing."""
    threads: Annotated[int, Field(ge=1, le=64)] | None = None
    """CPU threads of one call. Default: all cores but one, at most four."""
    language: str = "auto"
    """Language of the speech, for models that take one: auto, zh, yue, en, ja, ko."""
    itn: bool = True
    """Numbers in digits, and punctuation, for models that support it."""
    hotwords: list[Annotated[str, Field(min_length=1, max_length=40)]] = Field(default_factory=list)
    """Names and words to expect, for models that take hotwords (``paraformer-zh``)."""
    chunk_size: Annotated[
        list[Annotated[int, Field(ge=0, le=40)]], Field(min_length=3, max_length=3)
    ] = [0, 10, 5]
    """Streaming models: look-back, chunk and look-ahead, in units of 60 ms."""
    max_batch: Annotated[int, Field(ge=1, le=64)] = 8
    """Maximum number of utterances in one call."""
    max_batch_seconds: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Maximum audio in a call of several utterances, padding included."""
    gather_ms: Annotated[float, Field(ge=0, le=200)] = 20.0
    """How long an utterance waits for open ones to end, so that they share a call."""
    max_waiting: Annotated[int, Field(ge=1, le=1000)] = 64
    """Maximum number of utterances that wait for the model. Further ones fail at once."""
    max_seconds: Annotated[float, Field(gt=0, le=600)] = 60.0
    """Longest utterance; audio beyond it is dropped."""
    timeout: Annotated[float, Field(gt=0)] = 12.0
    """Seconds from the end of speech to the transcript."""
    load_timeout: Annotated[float, Field(gt=0)] = 1800.0
    """Seconds for loading the model, the download included."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of FunASR's AutoModel, as ``punc_model: ct-punc`` or ``model_revision``."""

    @field_validator("chunk_size")
    @classmethod
    def _long_enough(cls, value: list[int]) -> list[int]:
        if value[1] < 4:
            raise ValueError("the second number is at least 4 (240 ms)")
        return value

    def languages(self) -> tuple[str, ...] | None:
        """Return what the model hears; None if that is unknown."""
        if self.language != "auto":
            return (self.language,)
        name = Path(self.model).name.lower()
        found = (tags for part, tags in _HEARS.items() if part in name)
        return next(found, None)

    def worker(self) -> WorkerSettings:
        """Return the settings of the worker process.

        Raises ProviderUnavailable if the model's folder is missing.
        """
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
    """Return an id unchanged, or the absolute path of a folder.

    FunASR would look up a relative path as an id.
    """
    path = located(Path(name).expanduser())
    if path.is_dir():
        if not any(path.joinpath(file).exists() for file in _DESCRIBES_MODEL):
            message = f"the folder {name} holds no model (there is no {_DESCRIBES_MODEL[0]})"
            raise ProviderUnavailable(NAME, message, reason="no_model")
        return str(path.resolve())
    if name.startswith(("/", "./", "../", "~")):
        raise ProviderUnavailable(NAME, f"there is no folder {name}", reason="no_model")
    return name
