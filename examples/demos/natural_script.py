"""What is said in the natural conversation, and what the stand-in for a model makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from examples.demos.natural_words import Language
from vixio.tools.builtin import VOLUME_TOOL

if TYPE_CHECKING:
    from firmware_test_client import SimulatedDevice

LAMP: Final = "self.lamp.turn_on"
"""A tool that only this device has."""
QUIET: Final = 20
"""The volume that the conversation asks for; the device starts at another one."""


def _anything(device: SimulatedDevice) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Exchange:
    """One turn: what is said, and what the model does and answers."""

    say: str
    answer: str
    """``{fact}``: what was heard behind the key; ``{facts}``: what the tool has recalled;
    ``{told}``: the last sentence of the answer before, as the model's history has it."""
    expected: str
    key: str = ""
    """Words that must be heard exactly, since what the model does depends on them."""
    tool: str = ""
    """That the model calls, with ``arguments``, in which ``{fact}`` stands for the same."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    done: Callable[[SimulatedDevice], bool] = _anything
    """Whether the device is as it has to be afterwards."""
    answered: str = ""
    """The words that the spoken answer must have."""
    interrupted: bool = False
    """Whether the user says the wake word into the answer."""
    connect: Literal["", "anew"] = ""
    """Whether the device connects anew before."""


@dataclass(frozen=True, slots=True)
class Script:
    """A conversation. ``config``: a file of ``config/``. ``lost``: the model's answer to all else.

    ``voice``: that of the user, a section ``tts``; eSpeak NG is understood too badly. ``pitch``:
    factor of its pitch and speed. ``seconds``: of speech for a word or a syllable, at least and at
    most.
    """

    language: Language
    config: str
    exchanges: tuple[Exchange, ...]
    lost: str
    failed: str
    seconds: tuple[float, float]
    voice: Mapping[str, Any]
    pitch: float = 1.0


ENGLISH: Final = Script(
    language="en",
    config="natural.yaml",
    lost="I did not get that.",
    failed="That did not work.",
    seconds=(0.12, 0.7),
    # Without noise it says the same words alike each time, and they are heard alike.
    voice={"name": "piper", "length_scale": 1.15, "noise_scale": 0.0, "noise_w_scale": 0.0},
    pitch=1.15,  # another person than the one who answers
    exchanges=(
        Exchange(
            "Good evening, please tell me something about the moon.",
            answer="The moon goes around the earth in twenty-seven days. It has no air.",
            answered="around the earth",
            expected="free speech reaches the model, which answers in two sentences",
        ),
        Exchange(
            "Set the volume to twenty percent.",
            key="twenty",
            tool=VOLUME_TOOL,
            arguments={"volume": QUIET},
            answer="All right, I will speak more quietly from now on.",
            answered="quietly",
            done=lambda device: device.volume == QUIET,
            expected=f"the model calls a tool, and the device's volume becomes {QUIET}",
        ),
        Exchange(
            "It is getting dark outside, so please turn on the lamp.",
            tool=LAMP,
            answer="The lamp is on now.",
            answered="is on now",
            done=lambda device: [call.name for call in device.mcp.calls][-1:] == [LAMP],
            expected="a wish in free words: the lamp, which only this device has, is switched on",
        ),
        Exchange(
            "I would like to hear a story about the sea.",
            answer=(
                "Once upon a time there was a lighthouse on a small island. "
                "Every evening an old man climbed up its hundred steps and lit the lamp. "
                "One night a great storm came over the sea. "
                "The waves were as high as houses, and the wind broke the windows. "
                "But the old man held the door shut until the morning. "
                "When the sun came up, seven ships lay safely in the bay. "
                "Since then the sailors have brought him a loaf of bread every week."
            ),
            expected="a long answer; the user says the wake word into it, and it ends",
            interrupted=True,
        ),
        Exchange(
            "How far did you get with the story?",
            answer="The last thing that you heard was this. {told}",
            answered="heard was this",
            expected="the model's history ends where the user stopped it",
        ),
        Exchange(
            "Please remember that my sister likes chocolate.",
            key="remember that",
            tool="remember_fact",
            arguments={"fact": "{fact}"},
            answer="I will not forget it.",
            answered="not forget",
            expected="the fact is stored, in the words that were heard",
        ),
        Exchange(
            "What does my sister like to eat?",
            tool="recall_facts",
            answer="You told me that {facts}.",
            answered="chocolate",
            connect="anew",
            expected="the device has connected anew, and the fact is still known",
        ),
    ),
)

CHINESE: Final = Script(
    language="zh",
    config="natural-zh.yaml",
    lost="我没有听懂。",
    failed="没有成功。",
    seconds=(0.1, 0.5),
    voice={"name": "kokoro", "voice": "zm_yunxi"},
    exchanges=(
        Exchange(
            "晚上好，请给我讲讲月亮的知识。",
            answer="月亮二十七天绕地球一圈。月亮上没有空气，也不下雨。",
            answered="地球",
            expected="free speech reaches the model, which answers in two sentences",
        ),
        Exchange(
            "声音太大了，请把音量调到百分之二十。",
            key="二十",
            tool=VOLUME_TOOL,
            arguments={"volume": QUIET},
            answer="好的，我的声音现在小一点了。",
            answered="声音",
            done=lambda device: device.volume == QUIET,
            expected=f"the model calls a tool, and the device's volume becomes {QUIET}",
        ),
        Exchange(
            "外面天黑了，请帮我打开台灯。",
            tool=LAMP,
            answer="台灯已经打开了。",
            answered="打开",
            done=lambda device: [call.name for call in device.mcp.calls][-1:] == [LAMP],
            expected="the lamp, which only this device has, is switched on",
        ),
        Exchange(
            "我想听一个关于灯塔的故事。",
            answer=(
                "从前，在一个小岛上有一座灯塔。"
                "每天晚上，一位老人爬上一百级台阶，把灯点亮。"
                "有一天夜里，海上来了一场大风暴。"
                "海浪像房子一样高，大风吹坏了窗户。"
                "可是老人一直守在门口，守到天亮。"
                "太阳出来的时候，七条船平安地停在海湾里。"
                "从那以后，水手们每个星期都给他送来面包。"
            ),
            expected="a long answer; the user says the wake word into it, and it ends",
            interrupted=True,
        ),
        Exchange(
            "故事讲到哪里了？",
            answer="你最后听到的是这一句。{told}",
            answered="最后",
            expected="the model's history ends where the user stopped it",
        ),
        Exchange(
            "请记住，我的妹妹喜欢吃苹果。",
            key="记住",
            tool="remember_fact",
            arguments={"fact": "{fact}"},
            answer="好的，我记住了。",
            answered="记住",
            expected="the fact is stored, in the words that were heard",
        ),
        Exchange(
            "我的妹妹喜欢吃什么？",
            tool="recall_facts",
            answer="你告诉过我，{facts}。",
            # Whisper base mistakes the apples now and then, not the sister: the fact as it was
            # stored is compared by natural_checks.recalled.
            answered="我的妹妹",
            connect="anew",
            expected="the device has connected anew, and the fact is still known",
        ),
    ),
)

SCRIPTS: Final[dict[str, Script]] = {"en": ENGLISH, "zh": CHINESE}
