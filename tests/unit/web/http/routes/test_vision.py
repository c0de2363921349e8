"""The endpoint for photos, when what is behind it fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import httpx2
import pytest
from starlette.applications import Starlette

from firmware_test_client.mcp.photo import PHOTO
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.core.messages import LOADING
from vixio.core.metrics import Counters
from vixio.transports.admission.auth import TokenAuthenticator
from vixio.web.http.routes.vision import MAX_ANSWER_CHARS, VisionEndpoint, VisionSettings
from vixio.web.http.vision_offer import VISION_PATH, VisionOffer

DEVICE = "02:00:00:00:00:01"
FAILED = "The photo was taken, but could not be looked at: the vision service failed."

Explain = Callable[[bytes, str, str], Awaitable[str]]


async def posted(explain: Explain, counters: Counters) -> tuple[int, str]:
    """Post a photo as a device whose session runs; return status and body."""
    tokens = TokenAuthenticator("secret " * 8)
    offer = VisionOffer(tokens=tokens)
    endpoint = VisionEndpoint(
        VisionSettings(offer=offer, explain=explain, is_live=lambda *_: True, counters=counters)
    )
    offered = offer.for_session("session", DEVICE, "http://127.0.0.1:80")
    transport = httpx2.ASGITransport(Starlette(routes=endpoint.routes()))
    async with httpx2.AsyncClient(transport=transport, base_url="http://server") as client:
        answer = await client.post(
            VISION_PATH,
            headers={"Device-Id": DEVICE, "Authorization": f"Bearer {offered['token']}"},
            files={"file": ("camera.jpg", PHOTO, "image/jpeg")},
        )
    return answer.status_code, answer.text


@pytest.mark.parametrize(
    ("error", "defects"), [(ProviderError("vision", "shut"), 0), (ZeroDivisionError("inside"), 1)]
)
async def test_what_a_provider_raises_is_an_answer_in_words(error: Exception, defects: int) -> None:
    async def fails(image: bytes, media_type: str, question: str) -> str:
        raise error

    counters = Counters()
    assert await posted(fails, counters) == (200, FAILED)
    assert counters.get("vision.failed") == 1
    assert counters.get("vision.defect") == defects


async def test_an_answer_fits_the_device_and_the_wire() -> None:
    async def talks(image: bytes, media_type: str, question: str) -> str:
        return "\ud800" + "much " * 1_000_000

    status, text = await posted(talks, Counters())
    assert status == 200
    assert len(text) == MAX_ANSWER_CHARS
    assert text.startswith("\ufffdmuch ")


async def test_a_provider_that_still_loads_is_no_failure() -> None:
    async def loads(image: bytes, media_type: str, question: str) -> str:
        raise ProviderError("vision", "it is still loading", reason=LOADING)

    counters = Counters()
    status, text = await posted(loads, counters)
    assert status == 200
    assert "still starting" in text
    assert "again" in text
    assert (counters.get("vision.loading"), counters.get("vision.failed")) == (1, 0)


async def test_a_provider_that_is_not_set_up_says_so() -> None:
    async def missing(image: bytes, media_type: str, question: str) -> str:
        raise ProviderUnavailable("vision", "set OPENAI_API_KEY")

    status, text = await posted(missing, Counters())
    assert (status, text.endswith("the vision service is not set up.")) == (200, True)
    assert "OPENAI" not in text
