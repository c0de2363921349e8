"""Whole turns: what the device is sent, in which order and when."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import AudioIn, ListenMode, ListenStop, TextInput
from vixio.core.clock import now
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.pacer import PacerSettings
from vixio.core.session.events import FinalTranscript
from vixio.core.session.settings import SessionSettings
from vixio.providers.asr import Recognition
from vixio.stations.turn_detector import TurnSettings
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, silence, speech


@on_virtual_time
async def test_a_spoken_turn_is_answered_in_the_firmwares_order() -> None:
    talk = Conversation(asr=ScriptedASR(["turn it up"]))
    async with talk.running():
        talk.listen()
        await talk.say()
        await talk.device.wait_for("stop")
        kinds = [sent.kind for sent in talk.device.sent]
        assert kinds[:3] == ["transcript", "start", "sentence"]
        assert kinds[3:-1] == ["audio"] * (len(kinds) - 4)
        assert kinds[-1] == "stop"
        assert talk.device.texts(["transcript"]) == ["turn it up"]
        assert talk.device.texts() == ["You said turn it up."]
        assert talk.history.items() == [
            UserMessage("turn it up"),
            AssistantMessage("You said turn it up."),
        ]


@on_virtual_time
async def test_audio_may_wait_while_nobody_speaks() -> None:
    talk = Conversation(asr=ScriptedASR(["turn it up"]))
    allowed: list[bool] = []
    async with talk.running():
        talk.listen()
        await talk.device.play(silence(0.3))
        allowed.append(talk.device.may_gather)
        await talk.device.play(speech(0.6))
        allowed.append(talk.device.may_gather)
        await talk.device.play(silence(1.0))
        await talk.device.wait_for("audio")
        allowed.append(talk.device.may_gather)
        await talk.device.wait_for("stop")
        talk.listen()
        await talk.device.play(silence(0.3))
        allowed.append(talk.device.may_gather)
    # Before the user speaks, meanwhile, while the assistant does, and afterwards.
    assert allowed == [True, False, False, True]


@on_virtual_time
async def test_no_audio_waits_while_a_button_is_held() -> None:
    talk = Conversation()
    async with talk.running():
        talk.listen(ListenMode.MANUAL)
        await talk.device.play(silence(0.3))
        assert not talk.device.may_gather


@on_virtual_time
async def test_the_agent_knows_how_the_user_sounds_and_in_which_language() -> None:
    agent = ScriptedAgent()
    asr = ScriptedASR([Recognition("na toll", emotion="angry", language="de"), "all right"])
    talk = Conversation(asr=asr, agent=agent)
    async with talk.running():
        for turn in (1, 2):
            talk.listen()
            await talk.say()
            await talk.device.wait_for("stop", turn)
        assert [(each.emotion, each.language) for each in agent.requests] == [
            ("angry", "de"),
            ("", "en"),
        ]


@on_virtual_time
async def test_packets_keep_ahead_of_the_loudspeaker_and_never_flood_it() -> None:
    talk = Conversation(tts=ScriptedTTS(seconds_per_char=0.25))
    async with talk.running():
        talk.listen()
        await talk.say()
        stop = await talk.device.wait_for("stop")
        audio = talk.device.all("audio")
        first = audio[0].at
        for index, packet in enumerate(audio):
            played_at = first + index * 0.06
            assert packet.at <= played_at + 1e-6, "a packet came after its turn to be played"
            ahead = sum(1 for other in audio if other.at <= packet.at) - (packet.at - first) / 0.06
            assert ahead < 40
        playout_end = first + len(audio) * 0.06
        assert 0 <= stop.at - playout_end <= 0.06


@on_virtual_time
async def test_silence_ends_a_turn_after_the_configured_time() -> None:
    talk = Conversation(turn=TurnSettings(end_silence_ms=500))
    async with talk.running():
        talk.listen()
        began = now()
        await talk.say(1.0, pause=2.0)
        transcript = await talk.device.wait_for("transcript")
        end_of_speech = began + 0.3 + 1.0
        assert 0.5 <= transcript.at - end_of_speech <= 0.62


@on_virtual_time
async def test_nothing_of_the_utterance_is_clipped() -> None:
    talk = Conversation()
    async with talk.running():
        talk.listen()
        await talk.say(1.5, pause=1.0)
        await talk.device.wait_for("stop")
        heard = talk.asr.utterances[0]
        assert speech(1.5) in heard
        before = heard.index(speech(1.5)) / 32_000
        assert 0.18 <= before <= 0.5, "the pre-roll is there, and not much more"


@on_virtual_time
async def test_a_pause_shorter_than_the_end_silence_does_not_end_the_turn() -> None:
    talk = Conversation()
    async with talk.running():
        talk.listen()
        await talk.device.play(speech(0.6) + silence(0.3) + speech(0.6) + silence(0.9))
        await talk.device.wait_for("stop")
        assert len(talk.device.all("transcript")) == 1
        assert talk.asr.utterances[-1].count(speech(0.6)) == 2


@on_virtual_time
async def test_packets_that_cease_end_the_turn_all_the_same() -> None:
    talk = Conversation()
    async with talk.running():
        talk.listen()
        await talk.device.play(speech(1.0) + silence(0.24))  # then DTX: nothing comes any more
        silent_since = now() - 0.24
        transcript = await talk.device.wait_for("transcript")
        assert 0.5 <= transcript.at - silent_since <= 0.8


@on_virtual_time
async def test_a_stall_in_mid_speech_is_no_silence() -> None:
    talk = Conversation()
    async with talk.running():
        talk.listen()
        await talk.device.play(speech(0.6))
        await asyncio.sleep(1.2)  # the network stalls
        rest = speech(0.6)
        for start in range(0, len(rest), 1920):
            talk.device.put(AudioIn(rest[start : start + 1920], now()))
        await talk.device.play(silence(1.0))
        await talk.device.wait_for("stop")
        assert len(talk.asr.utterances) == 1
        assert len(talk.asr.utterances[0]) >= len(speech(1.2))


@on_virtual_time
async def test_a_burst_of_speech_after_a_stall_is_counted_in_audio_time() -> None:
    talk = Conversation()
    async with talk.running():
        talk.listen()
        burst = speech(0.5) + silence(0.3) + speech(0.5)
        for start in range(0, len(burst), 1920):
            talk.device.put(AudioIn(burst[start : start + 1920], now()))
        await talk.device.play(silence(1.0))
        await talk.device.wait_for("stop")
        assert len(talk.asr.utterances) == 1


@on_virtual_time
async def test_push_to_talk_hears_exactly_what_lies_between() -> None:
    talk = Conversation()
    async with talk.running():
        await talk.device.play(speech(0.3))  # not pressed yet: ignored
        talk.listen(ListenMode.MANUAL)
        pressed = speech(0.6) + silence(1.2) + speech(0.6)
        await talk.device.play(pressed)
        talk.device.put(ListenStop())
        await talk.device.play(speech(0.3))  # let go: ignored
        await talk.device.wait_for("stop")
        assert talk.asr.utterances == [pressed]
        assert talk.counters.get("session.audio_ignored") == 10


@on_virtual_time
async def test_a_pressed_and_released_button_without_audio_is_no_turn() -> None:
    talk = Conversation()
    async with talk.running():
        talk.listen(ListenMode.MANUAL)
        talk.device.put(ListenStop())
        talk.listen(ListenMode.MANUAL)
        await talk.device.play(speech(0.5))
        talk.device.put(ListenStop())
        await talk.device.wait_for("stop")
        assert len(talk.asr.utterances) == 1


@on_virtual_time
async def test_an_endless_utterance_is_cut_at_the_limit() -> None:
    talk = Conversation(turn=TurnSettings(max_utterance_ms=3_000))
    async with talk.running():
        talk.listen()
        await talk.device.play(speech(4.0))
        await talk.device.wait_for("stop")
        assert len(talk.asr.utterances[0]) <= 2 * 16_000 * 3.1


@on_virtual_time
async def test_typed_text_is_a_turn() -> None:
    talk = Conversation()
    async with talk.running():
        talk.device.put(TextInput("  what   time is it "))
        await talk.device.wait_for("stop")
        assert talk.device.texts(["transcript", "sentence"]) == [
            "what time is it",
            "You said what time is it.",
        ]


@on_virtual_time
async def test_a_wake_word_alone_is_no_turn_and_may_be_greeted() -> None:
    talk = Conversation(settings=SessionSettings(wake_reply="Yes?"))
    async with talk.running():
        talk.device.put(TextInput("hey vixio", wake_word=True))
        talk.listen()  # the firmware sends it right behind; it is no wish to interrupt
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["Yes?"]
        assert talk.agent.requests == []
        await talk.say()
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == "You said hello."


@on_virtual_time
async def test_speech_that_was_not_understood_is_asked_back() -> None:
    declined = Recognition("", rejected=True, guess=" hollow ")
    talk = Conversation(asr=ScriptedASR([declined, "hello"]))
    async with talk.running():
        talk.listen()
        await talk.say()
        await talk.device.wait_for("stop")
        assert talk.agent.requests == []
        assert "did not understand" in talk.device.texts()[0]
        (heard,) = (event for event in talk.happened if isinstance(event, FinalTranscript))
        assert (heard.understood, heard.text, heard.guess) == (False, "", "hollow")
        assert talk.device.all("transcript") == [], "perhaps nobody said it"
        assert [each.outcome for each in talk.ended] == ["not_understood"]
        await talk.say()
        await talk.device.wait_for("stop", 2)
        assert [request.text for request in talk.agent.requests] == ["hello"]


@on_virtual_time
async def test_noise_without_words_gets_no_answer() -> None:
    talk = Conversation(asr=ScriptedASR(["", "hello"]))
    async with talk.running():
        talk.listen()
        await talk.say(0.2)
        await asyncio.sleep(5)
        assert talk.device.sent == []
        await talk.say()
        await talk.device.wait_for("stop")


@pytest.mark.parametrize("mode", [ListenMode.AUTO, ListenMode.MANUAL])
@on_virtual_time
async def test_speech_without_words_is_asked_back(mode: ListenMode) -> None:
    talk = Conversation(asr=ScriptedASR(["", "hello"]))
    async with talk.running():
        for _ in range(2):
            talk.listen(mode)
            await talk.say()
            talk.device.put(ListenStop())
            await talk.device.wait_for("stop")
            await asyncio.sleep(5)
        first, second = talk.device.texts()[0], talk.device.texts()[-1]
        assert "did not understand" in first
        heard = [event for event in talk.happened if isinstance(event, FinalTranscript)]
        assert [(each.text, each.understood) for each in heard] == [("", False), ("hello", True)]
        assert second == "You said hello."


@on_virtual_time
async def test_the_words_of_a_slow_recogniser_keep_their_order() -> None:
    asr = ScriptedASR(["turn on", "the kitchen light"])
    asr.delays = [2.5, 0.1]
    talk = Conversation(asr=asr, agent=ScriptedAgent(lambda text: (2.0, f"You said {text}.")))
    async with talk.running() as running:
        talk.listen()
        await talk.say(0.6, pause=0.7)
        await talk.say(0.6, pause=0.9)
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["You said turn on the kitchen light."]
        await asyncio.sleep(0)
        given_up, whole = running.ended
        assert (given_up.outcome, whole.outcome) == ("interrupted:continued", "answered")
        assert {"turn_end", "transcript", "first_token", "playout_end"} <= set(whole.marks)
        assert "playout_end" not in given_up.marks


@on_virtual_time
async def test_who_pauses_and_goes_on_is_answered_once() -> None:
    agent = ScriptedAgent(lambda text: (1.5, f"You said {text}."))
    talk = Conversation(asr=ScriptedASR(["turn on", "the kitchen light"]), agent=agent)
    async with talk.running():
        talk.listen()
        await talk.say(0.6, pause=0.7)
        await talk.say(0.6, pause=0.9)
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["You said turn on the kitchen light."]
        assert [item for item in talk.history.items() if isinstance(item, UserMessage)] == [
            UserMessage("turn on the kitchen light")
        ]


@on_virtual_time
async def test_the_timeline_of_a_turn_is_whole_and_in_order() -> None:
    at_the_end = TurnSettings(think_ms=0)
    talk = Conversation(asr=ScriptedASR(delay=0.2), tts=ScriptedTTS(delay=0.1), turn=at_the_end)
    async with talk.running() as running:
        talk.listen()
        await talk.say()
        await talk.device.wait_for("stop")
        await asyncio.sleep(0)
        (timeline,) = running.ended
        marks = timeline.since_turn_end()
        assert list(marks) == [
            "voice_end",
            "turn_end",
            "transcript",
            "first_token",
            "first_sentence",
            "first_audio",
            "speech_start",
            "first_frame",
            "playout_end",
        ]
        assert list(marks.values()) == sorted(marks.values())
        assert marks["transcript"] == 200
        assert marks["first_audio"] == 300
        assert marks["first_frame"] == 300 + PacerSettings().start_lead_ms
        assert timeline.held == pytest.approx(PacerSettings().start_lead_ms / 1000)
        assert timeline.outcome == "answered"
