"""wetext behind the rules: as many sentences are read as a person would, and no text raises."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_test_client import SimulatedDevice
from tests.e2e.harness import serving
from tests.e2e.harness import settings as server_settings
from tests.models.needs import needs
from tests.support.read_aloud import misread
from vixio.language.normalisation.normaliser import Normaliser
from vixio.testing import ScriptedTTS

pytestmark = [*needs("wetext", "wetext"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def normaliser() -> Normaliser:
    made = Normaliser()
    made.load()
    return made


@pytest.mark.parametrize(("name", "most"), [("sentences.tsv", 1), ("more_sentences.tsv", 10)])
def test_sentences_are_read_as_a_person_would(name: str, most: int, normaliser: Normaliser) -> None:
    wrong = misread(name, normaliser)
    assert len(wrong) <= most, "\n".join(wrong)
    if name == "more_sentences.tsv":
        assert len(wrong) < len(misread(name, Normaliser())), (
            "the extra reads no more than the rules"
        )


@settings(max_examples=200)
@given(text=st.text(st.sampled_from("0123456789 .,:-/'\"$€#%()xXabkm°+=\\{}<>"), max_size=60))
def test_no_text_raises_or_comes_to_nothing(text: str, normaliser: Normaliser) -> None:
    made = normaliser.read(text, "en")
    assert any(map(str.isalnum, made)) or not any(map(str.isalnum, text))


def test_what_it_reads_wrongly_never_reaches_it(normaliser: Normaliser) -> None:
    assert normaliser.read('"5" is #1', "en") == '"five" is number one'
    assert normaliser.read("That makes $1,299.99.", "en").startswith("That makes 1,299 dollars")


async def test_a_server_loads_it_behind_its_ports() -> None:
    voice = ScriptedTTS()
    async with (
        serving(server_settings(), tts=voice) as running,
        SimulatedDevice(running.device(mode="manual")) as device,
    ):
        session = running.session(device.config.device_id)
        assert session is not None
        session.say("Tea at 8:05.")
        reply = await device.wait_for_reply()
    assert voice.spoken == ["Tea at eight oh five."]
    assert reply.text == "Tea at 8:05."
