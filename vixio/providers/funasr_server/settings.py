"""Options of the FunASR server provider."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, field_validator

from vixio.core.text_forms import of_form

NAME = "funasr-server"

_url = of_form(
    r"wss?://[^\s/?#]+.*", "an address such as ws://192.168.1.5:10095, or wss:// where it uses TLS"
)
_language = of_form(r"[a-z]{2,4}", "a language such as zh, yue, en, ja, ko, or auto")

Mode = Literal["offline", "online", "2pass"]


class FunASRServerSettings(BaseModel):
    """Options of the section ``asr`` when its name is ``funasr-server``. Times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: Annotated[str, AfterValidator(_url)] = "wss://127.0.0.1:10095"
    mode: Mode = "2pass"
    """``offline``: one transcript, at the end. ``online``: a transcript while the user speaks,
    faster and less accurate. ``2pass``: both; the final transcript is the accurate one."""
    language: Annotated[str, AfterValidator(_language)] = "auto"
    """For SenseVoice (``svs_lang``): ``zh``, ``yue``, ``en``, ``ja``, ``ko``, or ``auto``."""
    itn: bool = True
    """Numbers in digits."""
    hotwords: dict[str, Annotated[int, Field(ge=1, le=100)]] = Field(default_factory=dict)
    """Word → weight, or a list of words with the weight 20 (FunASR's usual one)."""
    tool_word_weight: Annotated[int, Field(ge=0, le=100)] = 10
    """Weight of the words of the session's tools; 0: not sent."""
    hotword_format: Literal["json", "words"] = "json"
    """``json``, with weights, for the C++ runtime; ``words`` for the Python server."""
    chunk_size: Annotated[list[int], Field(min_length=3, max_length=3)] = [5, 10, 5]
    """Streaming model: look-back, chunk and look-ahead, each in units of 60 ms."""
    chunk_interval: Annotated[int, Field(ge=1, le=60)] = 10
    """Audio is sent in pieces of ``chunk_size[1] * 60 / chunk_interval`` ms."""
    verify_tls: bool = True
    """False accepts any certificate. FunASR's images have a self-signed one."""
    ca_file: Path | None = None
    """PEM file with a certificate or CA to trust in addition to the system's."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    """Sent with the handshake, for a proxy that requires a token."""
    connect_timeout: Annotated[float, Field(gt=0)] = 4.0
    timeout: Annotated[float, Field(gt=0)] = 10.0
    """From the end of speech to the transcript, and for sending a piece of audio."""
    idle_connections: Annotated[int, Field(ge=0, le=64)] = 4
    """Connections kept open for the next utterance."""
    keep: Annotated[float, Field(gt=0)] = 60.0
    """How long an unused connection stays open."""

    @field_validator("url")
    @classmethod
    def _has_a_port(cls, value: str) -> str:
        _ = urlsplit(value).port  # raises ValueError for one that is no port
        return value

    @field_validator("hotwords", mode="before")
    @classmethod
    def _weigh(cls, value: object) -> object:
        return dict.fromkeys(map(str, value), 20) if isinstance(value, list) else value

    @field_validator("chunk_size")
    @classmethod
    def _sensible(cls, value: list[int]) -> list[int]:
        if min(value) < 0 or not 1 <= value[1] <= 100:
            raise ValueError("three numbers are wanted, the middle one from 1 to 100: [5, 10, 5]")
        return value

    @property
    def piece_ms(self) -> int:
        """Length of one binary frame, in ms. The Python server's VAD depends on it."""
        return max(1, self.chunk_size[1] * 60 // self.chunk_interval)
