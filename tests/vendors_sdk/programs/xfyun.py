"""Xunfei's own clients: its recognisers, the older one and that of the big model, and its voice."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO
from typing import Any

from xfyunsdkspark.oral_client import OralClient
from xfyunsdkspark.spark_iat_client import SparkIatClient, SparkIatModel
from xfyunsdkspeech.iat_client import IatClient

from tests.vendors_sdk.programs.serving import serve, sound, told

MOST_SILENCE_S = 8


class Microphone:
    """Speech, and the silence behind it until there are words."""

    def __init__(self, pcm: bytes) -> None:
        self._pcm = BytesIO(pcm + bytes(32_000 * MOST_SILENCE_S))
        self._speech = len(pcm)
        self.heard = False

    def read(self, size: int) -> bytes:
        if self.heard and self._pcm.tell() >= self._speech:
            return b""
        return self._pcm.read(size)


def recognise(
    url: str, app_id: str, key: str, secret: str, pcm: str, domain: str = "slm"
) -> dict[str, Any]:
    """Recognise speech with a big model, or with the older service (domain ``iat``)."""
    given = {"app_id": app_id, "api_key": key, "api_secret": secret, "host_url": url}
    client = (
        IatClient(**given, domain=domain, dwa="wpgs")
        if domain == "iat"
        else SparkIatClient(
            **given, iat_model_enum=SparkIatModel.ZH_CN_MANDARIN, domain=domain, dwa="wpgs"
        )
    )
    microphone = Microphone(sound(pcm))
    results = []
    for data in client.stream(microphone):
        microphone.heard = True
        results.append(data["result"])
    return {"results": results}


def speak(url: str, app_id: str, key: str, secret: str, speaker: str, text: str) -> dict[str, Any]:
    client = OralClient(app_id, key, secret, vcn=speaker, encoding="raw", host_url=url)
    parts = [b64decode(data["audio"]["audio"]) for data in client.stream(text)]
    return told(parts)


if __name__ == "__main__":
    serve(recognise, speak)
