"""The frames of FunASR's WebSocket protocol (``runtime/docs/websocket_protocol.md``), no I/O.

Client: a JSON text frame that opens the utterance, PCM in binary frames, a JSON text frame that
ends it. Server: JSON text frames with ``mode``, ``text``, ``wav_name`` and ``is_final``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from vixio.core.audio import LISTEN_RATE
from vixio.core.errors import ProviderError
from vixio.providers.funasr_server.settings import NAME, FunASRServerSettings

END = json.dumps({"is_speaking": False, "is_end": True})
"""``is_end`` requests an acknowledgement from the Python server (``finish_input`` there); the other
servers read only ``is_speaking``."""


@dataclass(frozen=True, slots=True)
class Result:
    """A frame from the server.

    ``wav_name``: the utterance, empty if the server does not name it. ``mode``: ``online``,
    ``2pass-online``, ``offline``, ``2pass-offline``; empty in the C++ server's last frame of an
    utterance without words. ``ended``: whether the frame acknowledges :data:`END`. ``error``: the
    server's error message.
    """

    text: str = ""
    mode: str = ""
    wav_name: str = ""
    is_final: bool = False
    ended: bool = False
    error: str = ""

    @property
    def second_pass(self) -> bool:
        """Whether the text is a whole segment's, which replaces the text of the first pass."""
        return self.mode.endswith("offline")


def start(settings: FunASRServerSettings, wav_name: str, hotwords: str) -> str:
    """Return the frame that opens an utterance. ``hotwords``: of :func:`hotword_text`."""
    return json.dumps(
        {
            "mode": settings.mode,
            "wav_name": wav_name,
            "wav_format": "pcm",
            "audio_fs": LISTEN_RATE,
            "is_speaking": True,
            "chunk_size": settings.chunk_size,
            "chunk_interval": settings.chunk_interval,
            "hotwords": hotwords,
            "itn": settings.itn,
            "svs_lang": settings.language,
            "svs_itn": settings.itn,
        },
        ensure_ascii=False,
    )


def hotword_text(words: Mapping[str, int], form: str) -> str:
    """Return the field ``hotwords``: a JSON object as a string, or words separated by spaces."""
    if not words:
        return ""
    return json.dumps(dict(words), ensure_ascii=False) if form == "json" else " ".join(words)


def read(frame: str | bytes) -> Result:
    """Return the decoded frame. Raises ProviderError if it is not a frame of FunASR's protocol."""
    try:
        found = json.loads(frame)
    except ValueError:  # includes UnicodeDecodeError
        raise _strange("a frame that is not JSON") from None
    except RecursionError:
        raise _strange("JSON nested without end") from None
    if not isinstance(found, dict):
        raise _strange("JSON that is no object")
    text = _string(found, "text")
    error = _string(found, "error")
    if text.startswith("ERROR."):  # the C++ server reports errors in the text
        text, error = "", text
    return Result(
        text,
        _string(found, "mode"),
        _string(found, "wav_name"),
        is_final=found.get("is_final") is True,
        ended=found.get("is_end") is True,
        error=" ".join(error.split())[:200],
    )


def _string(found: Mapping[str, object], key: str) -> str:
    value = found.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _strange(f"a {key} that is no text")
    return value


def _strange(what: str) -> ProviderError:
    return ProviderError(
        NAME, f"the server sends {what}: is url a FunASR server?", reason="service"
    )
