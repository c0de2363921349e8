"""The voices of the configured TTS, for ``vixio voices``: a list, and one of them to be heard."""

from __future__ import annotations

import difflib
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vixio.core.errors import ConfigError
from vixio.providers import registry
from vixio.providers.registry import ProviderKind
from vixio.providers.tts import VoiceChoice
from vixio.settings import Settings
from vixio.settings.provider import TTSSection

GREETINGS = {
    "de": "Hallo! Ich bin Ihr Sprachassistent. Es ist halb zehn, und die Lampe ist an.",
    "en": "Hello! I am your voice assistant. It is half past nine, and the lamp is on.",
    "es": "¡Hola! Soy su asistente de voz. Son las nueve y media, y la luz está encendida.",
    "fr": "Bonjour ! Je suis votre assistant vocal. Il est neuf heures et demie.",
    "hi": "नमस्ते! मैं आपका सहायक हूँ। अब साढ़े नौ बजे हैं।",
    "it": "Ciao! Sono il tuo assistente vocale. Sono le nove e mezza, e la luce è accesa.",
    "ja": "こんにちは。音声アシスタントです。今は九時半です。",
    "pt": "Olá! Sou o seu assistente de voz. São nove e meia, e a luz está acesa.",
    "zh": "你好！我是你的语音助手。现在是九点半，客厅的灯已经打开了。",
}
"""What a voice says, by language, if no text is given."""

_CHINESE = frozenset({"zh", "cmn", "yue", "hak", "nan", "wuu"})
_PLAYERS = (
    ("pw-play",),
    ("paplay",),
    ("aplay", "-q"),
    ("afplay",),
    ("ffplay", "-nodisp", "-autoexit", "-loglevel", "error"),
)


@dataclass(frozen=True, slots=True)
class OfferedVoice:
    """A voice, and the section that it belongs to."""

    section: TTSSection
    choice: VoiceChoice

    def settings(self, settings: Settings) -> Settings:
        """Return the settings with this voice alone. Raises ConfigError."""
        options = {**_alone(self.section), **self.choice.options}
        return settings.model_copy(update={"tts": TTSSection.model_validate(options)})


def sections(settings: Settings, provider: str = "") -> list[TTSSection]:
    """Return the configured voices, or those of ``provider``, by its defaults if unused.

    Raises ConfigError for a provider that there is not, or that has no default.
    """
    configured = [section for _, section in settings.tts.parts()]
    if not provider:
        return configured
    provider = registry.current_name(ProviderKind.TTS, provider)
    if found := [section for section in configured if section.name == provider]:
        return found
    model = registry.resolve(ProviderKind.TTS, provider).settings_model
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    if required:
        raise ConfigError(
            f"{provider} needs settings ({', '.join(required)}): name a file that has them with "
            "--config"
        )
    return [TTSSection.model_validate({"name": provider})]


async def offered(section: TTSSection, language: str = "") -> list[OfferedVoice]:
    """Return the voices of a provider, those for ``language`` alone if it is given.

    Raises ProviderError; ConfigError for a provider without a list.
    """
    factory = registry.resolve(ProviderKind.TTS, section.name)
    if factory.voices is None:
        raise ConfigError(f"tts.{section.name} has no list of voices: see its documentation")
    choices = await factory.voices(section.options)
    return [
        OfferedVoice(section, choice) for choice in choices if speaks(choice.language, language)
    ]


def speaks(voice: str, wanted: str) -> bool:
    """Return whether a voice of one language tag reads texts in another one's language."""
    has, needs = (tag.lower().replace("_", "-") for tag in (voice, wanted))
    if not needs or has == needs or has.startswith(f"{needs}-"):
        return True
    if "-" in needs:
        return False
    return needs == "zh" and has.partition("-")[0] in _CHINESE


def chosen(voices: Sequence[OfferedVoice], name: str) -> OfferedVoice:
    """Return the voice called ``name``. Raises ConfigError with those that are like it."""
    by_name = {each.choice.name.lower(): each for each in reversed(voices)}
    if found := by_name.get(name.lower()):
        return found
    alike = difflib.get_close_matches(name.lower(), by_name, n=3)
    meant = f" Did you mean {' or '.join(by_name[each].choice.name for each in alike)}?"
    raise ConfigError(
        f"there is no voice {name!r}: `vixio voices` lists them.{meant if alike else ''}"
    )


def greeting(language: str) -> str:
    """Return a text in ``language``, in English for one without a text here."""
    main = language.lower().replace("_", "-").partition("-")[0]
    return GREETINGS.get("zh" if main in _CHINESE else main, GREETINGS["en"])


def table(voices: Sequence[OfferedVoice]) -> Iterator[str]:
    """Yield a line for each voice: name, language, what is known."""
    names = max((len(each.choice.name) for each in voices), default=0)
    tags = max((len(each.choice.language) for each in voices), default=0)
    for each in voices:
        choice = each.choice
        yield f"{choice.name:{names}}  {choice.language:{tags}}  {choice.about}".rstrip()


def player() -> list[str] | None:
    """Return the command that plays a WAV file whose path follows it; None: there is none."""
    for command in _PLAYERS:
        if path := shutil.which(command[0]):
            return [path, *command[1:]]
    return None


def played(path: Path) -> bool:
    """Play a WAV to its end; return whether a program did. Blocking.

    ffplay ends with 0 where there is no sound card, and says so on standard error.
    """
    command = player()
    if command is None:
        return False
    done = subprocess.run(  # noqa: S603 - a player and a file of ours
        [*command, str(path)], check=False, capture_output=True
    )
    mute = Path(command[0]).name == "ffplay" and bool(done.stderr.strip())
    return done.returncode == 0 and not mute


def _alone(section: TTSSection) -> dict[str, object]:
    given = section.given()
    assert isinstance(given, dict)  # noqa: S101 - a part is no list
    return given
