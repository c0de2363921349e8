"""The HTTP API, and how the parts fit together: ``speech_service.app:build``.

Each part is a deployment of its own, so each scales by itself; speech.yaml has the numbers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field
from ray import serve
from ray.exceptions import RayError
from ray.serve.exceptions import BackPressureError, RayServeException
from starlette.datastructures import UploadFile

from speech_service.body_limit import BodyLimit
from speech_service.errors import Refusal, add_handlers
from speech_service.options import Options
from speech_service.recogniser import Recogniser
from speech_service.sound import read_wav, wav_head
from speech_service.voice import Voice

T = TypeVar("T")


class SpeechRequest(BaseModel):
    """The body of ``POST /v1/audio/speech``. Fields that are not listed are ignored."""

    input: str
    model: str
    voice: str = ""
    response_format: str = "wav"
    speed: Annotated[float, Field(ge=0.25, le=4)] = 1.0


class Api:
    """The endpoints. Bodies are checked here, so that no replica of a model sees a bad one."""

    def __init__(self, options: Options, recogniser: Any, voice: Any) -> None:  # noqa: ANN401 - handles
        self._options = options
        self._recogniser = recogniser
        self._voice = voice
        self._streaming = voice.options(stream=True)
        self._described: tuple[int, list[str]] | None = None

    def __serve_build_asgi_app__(self) -> FastAPI:
        """Return what Serve runs in the replica."""
        app = FastAPI(title="Speech", docs_url=None, redoc_url=None)
        app.add_middleware(BodyLimit)
        add_handlers(app)
        app.get("/v1/models")(self.models)
        app.post("/v1/audio/transcriptions", response_model=None)(self.transcriptions)
        app.post("/v1/audio/speech", response_model=None)(self.speech)
        return app

    async def models(self) -> dict[str, Any]:
        """List both models, as OpenAI's API does. Answers once all parts have started."""
        rate, speakers = await self._voices()
        return {
            "object": "list",
            "data": [
                _model(self._options.recogniser.name),
                {**_model(self._options.voice.name), "sample_rate": rate, "voices": speakers},
            ],
        }

    async def transcriptions(self, request: Request) -> JSONResponse:
        """Recognise an uploaded WAV file. Fields other than ``file`` and ``model`` are ignored."""
        options = self._options.recogniser
        if not request.headers.get("content-type", "").startswith("multipart/form-data"):
            raise Refusal(400, "send the audio as multipart/form-data, in the field file")
        async with request.form(max_files=1, max_fields=30) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise Refusal(400, "there is no file in the request", param="file")
            _known(form.get("model"), options.name)
            data = await file.read()
        rate, samples = await asyncio.to_thread(read_wav, data, options.max_seconds)
        text, together = await _result(self._recogniser.transcribe.remote(rate, samples))
        # The header shows whether batching works.
        return JSONResponse({"text": text}, headers={"X-Batch-Size": str(together)})

    async def speech(self, body: SpeechRequest) -> StreamingResponse:
        """Speak a text; the audio is sent as it is made."""
        options = self._options.voice
        _known(body.model, options.name)
        if not any(map(str.isalnum, body.input)):
            raise Refusal(400, "input has no letter and no digit to speak", param="input")
        if len(body.input) > options.max_chars:
            text = f"input has more than {options.max_chars} characters"
            raise Refusal(400, text, param="input")
        media = _media(body.response_format)
        rate, _ = await self._voices()
        made = self._streaming.speak.remote(body.input, body.speed, body.voice)
        # Before the status is sent: a failure of the voice is one of the request.
        first = await _result(anext(made, b""))
        if not first:
            raise Refusal(400, "the voice has no sound for this text", param="input")
        if media == "audio/wav":
            first = wav_head(rate) + first
        return StreamingResponse(_joined(first, made), media_type=f"{media}; rate={rate}")

    async def _voices(self) -> tuple[int, list[str]]:
        """Return the voice's rate and speakers: the same of all replicas, so asked for once."""
        if self._described is None:
            rate, speakers = await _result(self._voice.describe.remote())
            self._described = rate, speakers
        return self._described


def build(args: dict[str, Any]) -> Any:  # noqa: ANN401 - Ray has no types here
    """Return the application that the section ``args`` of speech.yaml describes.

    Raises ValidationError, which names the option that is wrong.
    """
    options = Options.model_validate(args)
    return serve.deployment(serve.ingress()(Api)).bind(
        options,
        serve.deployment(Recogniser).bind(options.recogniser),
        serve.deployment(Voice).bind(options.voice),
    )


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "speech-service"}


def _known(model: object, name: str) -> None:
    if model != name:
        text = f"there is no model {str(model)[:80]!r} for this; there is {name!r}"
        raise Refusal(404, text, param="model", code="model_not_found")


def _media(asked: str) -> Literal["audio/pcm", "audio/wav"]:
    match asked:
        case "pcm":
            return "audio/pcm"
        case "wav":
            return "audio/wav"
    raise Refusal(400, "response_format is pcm or wav", param="response_format")


async def _joined(first: bytes, made: Any) -> AsyncIterator[bytes]:  # noqa: ANN401 - of a handle
    try:
        yield first
        async for piece in made:
            yield piece
    finally:  # also when the client is gone: the rest need not be made
        made.cancel()


async def _result(awaited: Awaitable[T]) -> T:
    """Return what a replica answers. Raises Refusal with status 503: a client may ask again."""
    try:
        return await awaited
    except BackPressureError:
        raise Refusal(503, "too many requests are waiting", code="overloaded") from None
    except (RayError, RayServeException) as error:
        reason = str(error).strip().rpartition("\n")[2]
        raise Refusal(503, f"the model failed: {reason[:200]}", code="failed") from None
