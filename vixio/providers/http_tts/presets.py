"""What servers of voices want to be asked; how it is known, the page of the stand-in says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from vixio.providers.audio_stream import AudioFormatName


@dataclass(frozen=True, slots=True)
class Preset:
    """``body``: a template. ``form``: it is sent as a form instead of JSON. ``sample_rate``: Hz of
    raw PCM."""

    url: str
    body: Mapping[str, Any]
    form: bool = False
    response_format: AudioFormatName = "wav"
    sample_rate: int = 24_000
    languages: tuple[str, ...] = ()
    """Those that it can be told; of others it is told ``auto``. Empty: any."""
    needs: Mapping[str, str] = field(default_factory=dict)
    """Fields without which the server speaks with no voice, and what they are."""


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        # api_v2.py: the header says the rate, which depends on the model.
        "gpt-sovits": Preset(
            "http://127.0.0.1:9880/tts",
            {
                "text": "{text}",
                "text_lang": "{language}",
                "prompt_lang": "zh",
                "streaming_mode": True,
                "media_type": "wav",
            },
            languages=("zh", "en", "ja", "ko", "yue"),
            needs={"ref_audio_path": "a recording of the voice, on the server"},
        ),
        # index-tts-vllm
        "index-tts": Preset(
            "http://127.0.0.1:11996/tts",
            {"text": "{text}", "character": "{voice}"},
            response_format="pcm",
            needs={"character": "a voice of the server: tts.voice"},
        ),
        # runtime/python/fastapi/server.py
        "cosyvoice": Preset(
            "http://127.0.0.1:50000/inference_sft",
            {"tts_text": "{text}", "spk_id": "{voice}"},
            form=True,
            response_format="pcm",
            sample_rate=22_050,
            needs={"spk_id": "a voice of the model, as 中文女: tts.voice"},
        ),
        # tools/api_server.py
        "fish-speech": Preset(
            "http://127.0.0.1:8080/v1/tts",
            {
                "text": "{text}",
                "reference_id": "{voice}",
                "format": "wav",
                "streaming": True,
            },
        ),
    }
)
