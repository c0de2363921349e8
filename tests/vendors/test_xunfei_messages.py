"""The messages on the stand-ins' page, by the client; and the signature, by another program."""

from __future__ import annotations

import base64
import json
import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from importlib.resources import files
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.vendors.xunfei import KEYS, ears
from vixio.core.errors import ProviderError
from vixio.providers.asr import SpeechHints
from vixio.providers.xunfei.asr import XunfeiStream
from vixio.providers.xunfei.settings import Keys
from vixio.providers.xunfei.signing import of_code, signed
from vixio.providers.xunfei.tts import _Speech
from vixio_bench.vendors.xunfei.service import XunfeiService

PAGE = files("vixio_bench.vendors.xunfei").joinpath("page.md").read_text()
RECORDED = dict(re.findall(r"^\| ([^|]+) \| `(\{.*\})` \|$", PAGE, re.MULTILINE))
TOLD = dict(re.findall(r"^\| ([^|]+) \| `([^{`]+)` \|$", PAGE, re.MULTILINE))
SAMPLES = bytes.fromhex("01000200")


def stream(product: str = "slm") -> XunfeiStream:
    return ears(XunfeiService(), product=product, **KEYS).open(SpeechHints())


def test_the_page_has_them() -> None:
    assert len(RECORDED) == 6
    assert all(json.loads(text) for text in RECORDED.values())


def test_the_address_is_signed() -> None:
    """The signature of the page was made by ``openssl dgst -sha256 -hmac``."""
    at = parsedate_to_datetime(TOLD["time"])
    assert isinstance(at, datetime)
    url = signed(TOLD["address"], Keys("a1b2c3d4", "key-of-the-page", "secret-of-the-page"), at)
    query = parse_qs(urlsplit(url).query)
    assert query["host"] == ["iat.xf-yun.com"]
    assert query["date"] == [TOLD["time"]]
    authorization = base64.b64decode(query["authorization"][0]).decode()
    assert authorization == (
        'api_key="key-of-the-page", algorithm="hmac-sha256", headers="host date request-line", '
        f'signature="{TOLD["signature"]}"'
    )
    assert "secret-of-the-page" not in url


def test_audio_is_written() -> None:
    made = stream()
    assert json.loads(str(made.audio(SAMPLES, 0))) == json.loads(RECORDED["the first frame"])
    (last,) = made.last(1)
    assert json.loads(str(last)) == json.loads(RECORDED["the last frame"])


def test_results_are_read() -> None:
    new, old = stream(), stream("iat")
    new.take(RECORDED["a result of a big model"])
    assert (new.result().text, new.complete) == ("今天天气", False)
    old.take('{"code":0,"data":{"result":{"sn":1,"ws":[{"cw":[{"w":"近天"}]}]},"status":1}}')
    assert old.result().text == "近天"
    old.take(RECORDED["a result of the older service"])
    assert old.result().text == "今天"
    with pytest.raises(ProviderError, match=r"no licence.*licc failed \(11200\).*asr\.product"):
        new.take(RECORDED["a refusal"])


@pytest.mark.parametrize("name", [name for name in RECORDED if "result" in name])
def test_whatever_is_cut_short_is_refused(name: str) -> None:
    text, made = RECORDED[name], stream("iat" if "older" in name else "slm")
    for end in range(len(text)):
        with pytest.raises(ProviderError, match="sends no answer"):
            made.take(text[:end])


@pytest.mark.parametrize(
    "text",
    [
        *("[]", "17", "null", '{"header":{}}', '{"header":{"code":"x"}}'),
        '{"header":{"code":0},"payload":{"result":{"text":"?!"}}}',
        '{"header":{"code":0},"payload":{"result":{"text":"bnVsbA=="}}}x',
        '{"header":{"code":0},"payload":[1]}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_answer_is_refused(text: str | bytes) -> None:
    with pytest.raises(ProviderError, match="sends no answer"):
        stream().take(text)


async def test_sound_is_read() -> None:
    speech = _Speech()
    speech.take(RECORDED["sound"].replace('"status":1,"seq":3', '"status":0,"seq":3'))
    assert await speech.next() == SAMPLES
    for text in ("[]", "{", '{"header":{"code":0},"payload":{"audio":{"seq":"x"}}}'):
        with pytest.raises(ProviderError, match="sends no answer"):
            speech.take(text)


@pytest.mark.parametrize(
    ("code", "reason"),
    [(10_313, "no_key"), (11_201, "quota"), (11_203, "busy"), (10_163, "request"), (1, "service")],
)
def test_codes_say_what_to_do(code: int, reason: str) -> None:
    error = of_code("tts", code, "words\nof the vendor")
    assert error.reason == reason
    assert f"words of the vendor ({code})" in str(error)
