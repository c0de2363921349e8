"""Voices: which there are, and how they sound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

from fastapi import Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from vixio.core.errors import ConfigError, ProviderError, ProviderTimeout
from vixio.core.messages import LOADING
from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.fields import Body
from vixio.web.api.problems import Problem, too_many
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope

WAV: Final = "audio/wav"
WAV_ANSWER: Final[dict[str, Any]] = {
    "response_class": Response,
    "documented": {200: {"description": "The sound", "content": {WAV: {}}}},
}

TAG: Final = r"^([A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,8})?$"
"""A language (BCP 47), or none."""

BUSY_S: Final = 2.0
"""After which a refused sample can be asked for again."""

Provider = Annotated[str, Query(alias="type", max_length=64, pattern=r"^[A-Za-z0-9_.-]*$")]
SpokenLanguage = Annotated[str, Query(max_length=64, pattern=TAG)]


class SampleBody(Body):
    """A voice, and what it says."""

    tts: dict[str, Any] | list[dict[str, Any]] = Field(
        description="As in a profile.", examples=[{"name": "espeak", "voice": "de"}]
    )
    language: Annotated[str, Field(max_length=64, pattern=TAG)] = Field(
        default="", description="BCP 47; empty: that of the settings."
    )
    text: Annotated[str, Field(max_length=200)] = Field(
        default="", description="Empty: a greeting in the language."
    )


class Voice(BaseModel):
    """A voice that a provider can speak with."""

    type: str = Field(description="The provider.")
    name: str
    language: str = Field(description="BCP 47; empty: not known.")
    about: str
    options: dict[str, Any] = Field(description="Those of the section tts that choose it.")


class VoiceList(BaseModel):
    """Voices, 2000 at most."""

    voices: list[Voice]


@contextmanager
def provider_problems() -> Iterator[None]:
    """Turn what providers and settings raise in the body into problems."""
    try:
        yield
    except ConfigError as error:
        raise Problem(422, str(error)) from None
    except ProviderTimeout as error:
        raise Problem(504, f"{error}: try again, or take another provider") from None
    except ProviderError as error:
        late = error.reason == LOADING
        raise Problem(504 if late else 409, f"{error}{': try again' if late else ''}") from None


async def list_voices(
    service: Service, provider: Provider = "", language: SpokenLanguage = ""
) -> VoiceList:
    """List the voices of a provider, or of those that are configured.

    None for a provider without a list of voices.
    """
    with provider_problems():
        found = await service.ports.drafts.voices(provider, language)
    return VoiceList(voices=[Voice.model_validate(each) for each in found])


async def sample_voice(service: Service, who: Who, body: SampleBody) -> Response:
    """Return what a voice sounds like, as a WAV file: 16 bits, mono."""
    if who.token_id in service.sampling:
        raise too_many("this token hears another sample, wait until it has come", BUSY_S)
    service.sampling.add(who.token_id)
    try:
        with provider_problems():
            wav = await service.ports.drafts.sample(body.tts, body.language, body.text)
    finally:
        service.sampling.discard(who.token_id)
    return Response(wav, media_type=WAV)


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("voices")
    scope = SCOPED[Scope.PROFILES]
    routes.add("GET", "/voices", list_voices, scope, errors=(409, 504))
    routes.add("POST", "/voices/sample", sample_voice, scope, errors=(409, 504), **WAV_ANSWER)
    return routes
