"""Words that the recogniser or the voice does not know, over a real socket, by device."""

from __future__ import annotations

from firmware_test_client import SimulatedDevice, Tool
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import serving, settings
from tests.support.waiting import until
from vixio.core.device import DeviceProfile
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.replacements import Replacements
from vixio.testing import ScriptedAgentBackend, ScriptedTTS

OWN = "02:00:00:00:00:99"
SAID, HEARD, MEANT = "good morning", "Good morning, weak see oh.", "Good morning, Vixio."


async def test_the_voice_and_the_recogniser_get_their_words() -> None:
    pronounced, corrected = {"vixio": "Vicksio $5"}, {"weak see oh": "Vixio"}
    config = settings(assistant={"pronunciations": pronounced, "corrections": corrected})
    voice = ScriptedTTS(seconds_per_char=0.02)
    agent = ScriptedAgentBackend(lambda text: (f"You said {text}",))
    asr = WaveformASR(await recordings([SAID]), {SAID: (HEARD,)})
    async with (
        serving(config, asr=asr, agent=agent, tts=voice) as server,
        SimulatedDevice(server.device()) as device,
    ):
        reply = await device.ask(SAID)
        assert (reply.stt, reply.text) == (MEANT, f"You said {MEANT}")
        assert " ".join(voice.spoken) == "You said Good morning, Vicksio 5 dollars."
        # The words of the pause and those of the end are the same, so its answer is not dropped.
        assert server.count("turn.ahead_dropped") == 0
        assert [each.text for one in agent.agents for each in one.requests] == [MEANT]
        assert_played_well(reply)
        session = server.session(device.config.device_id)
        assert session is not None
        assert session.context.history.items() == [UserMessage(MEANT), AssistantMessage(reply.text)]

        profile = DeviceProfile(pronunciations=Replacements.of({"said": "sed"}), name="New")
        server.app.update_profiles(lambda device: profile)
        await until(lambda: session.profile.name == "New", what="the change")
        voice.spoken.clear()
        reply = await device.type_text("weak see oh")
        assert reply.text == "You said weak see oh", "typed words are not misheard"
        assert voice.spoken == ["You sed weak see oh"]
        assert_nothing_wrong(device)


async def test_a_device_may_have_others() -> None:
    config = settings(
        assistant={"pronunciations": {"Vixio": "Vicksio"}, "corrections": {"weak see oh": "Vixio"}},
        devices={OWN: {"pronunciations": {"morning": "mourning"}, "corrections": {}}},
    )
    voice = ScriptedTTS(seconds_per_char=0.02)
    agent = ScriptedAgentBackend(lambda text: ("Good morning from Vixio.",))
    asr = WaveformASR(await recordings([SAID]), {SAID: (HEARD,)})
    async with (
        serving(config, asr=asr, agent=agent, tts=voice) as server,
        SimulatedDevice(server.device(device_id=OWN)) as device,
    ):
        reply = await device.ask(SAID)
        assert (reply.stt, reply.text) == (HEARD, "Good morning from Vixio.")
        assert voice.spoken == ["Good mourning from Vixio."]
        assert_nothing_wrong(device)


async def test_a_recogniser_of_known_phrases_learns_another_way_to_say_a_command() -> None:
    """By ear: what it did not know, and so declined, it hears once it is corrected."""
    taught = {"bed time for the bulb": "turn off the lamp"}
    other = settings(assistant={"corrections": taught})
    switched: list[bool] = []

    def turn_off() -> bool:
        switched.append(False)
        return True

    async with serving(settings()) as server, SimulatedDevice(server.device()) as device:
        device.add_tool(Tool("self.lamp.turn_off", "Turn off the lamp", (), turn_off))
        session = server.session(device.config.device_id)
        assert session is not None
        tools = session.context.tools
        await until(
            lambda: "self.lamp.turn_off" in {each.name for each in tools.definitions()},
            what="the lamp",
        )
        reply = await device.ask("bed time for the bulb")
        assert (reply.stt, switched) == (None, [])

        server.app.reload(other)
        await until(lambda: session.context.phrases == tuple(taught), what="the change")
        reply = await device.ask("bed time for the bulb")
        assert (reply.stt, switched) == ("turn off the lamp", [False])
        assert_nothing_wrong(device)
