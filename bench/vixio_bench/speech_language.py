"""``vixio bench speech --language zh``: what is understood here in another language than English.

By the default set and by each recogniser for the language that is installed here, none of which
needs an account. It is spoken by a natural voice where one is installed, else by eSpeak NG.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from vixio.cli.setup.choices import EARS, VOICES, Choice
from vixio.cli.setup.trial import is_there
from vixio.composition.languages import known_languages, listed
from vixio.core.extras import how_to_install
from vixio.core.language_tags import covers
from vixio.settings import Settings
from vixio.settings.provider import ASRSection
from vixio_bench.speech_corpus import load_corpus
from vixio_bench.speech_sets import VOICES as SPOKEN
from vixio_bench.speech_sets import SetReport, bench_set, set_table

CORPORA: Final = {"zh": "chinese"}
"""What is said, by language."""

_NATURAL: Final = {"zh": ("kokoro", "xiaoxiao")}
"""By language: the voice of the set-up, and its name here."""

_SIZES: Final = {"sense-voice": "230 MB", "whisper": "450 MB", "kokoro": "120 MB"}


@dataclass(frozen=True, slots=True)
class LanguageReport:
    """``asr``: of the default set, first, and of what else is installed. ``deaf``: why the default
    understands nothing, empty if it hears the language. ``missing``: lines of what is not here."""

    language: str
    voice: str
    asr: tuple[SetReport, ...]
    deaf: str
    missing: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return everything that was measured."""
        return asdict(self)


async def bench_language(
    language: str, *, voice: str = "", limit: int | None = None, latency_samples: int = 6
) -> LanguageReport:
    """Measure. ``voice``: empty: the most natural one that is here. Raises ProviderError."""
    choices = [each for each in EARS if not each.account and each.suits(language)]
    here = [each for each in choices if _is_here(each)]
    default = Settings().asr
    tags = known_languages(default)
    deaf = ""
    if tags is not None and not covers(tags, language):
        deaf = f"{default.name}, of the default set, hears {listed(tags)}, not {language}"
    named, natural = _NATURAL[language]
    speaks = next(each for each in VOICES if each.name == named)
    voice = voice or (natural if _is_here(speaks) else "espeak")
    sections = [default, *(ASRSection.model_validate(each.section) for each in here)]
    missing = [_how(each) for each in choices if each not in here]
    if voice == "espeak" and not _is_here(speaks):
        missing.append(f"{_how(speaks)}: a voice that sounds like people")
    corpus = load_corpus(CORPORA[language])
    reports = [
        await bench_set(
            section,
            corpus,
            voice=voice,
            language=language,
            limit=limit,
            latency_samples=latency_samples,
        )
        for section in sections
    ]
    return LanguageReport(language, voice, tuple(reports), deaf, tuple(missing))


def language_table(report: LanguageReport, *, errors: bool = False) -> str:
    """Return the report as text for people."""
    lines = [f"language {report.language}; {_spoken(report.voice)}", ""]
    if report.deaf:
        lines += [f"{report.deaf}: what it understands below is chance", ""]
    for each in report.asr:
        lines += [set_table(each, errors=errors), ""]
    if report.missing:
        lines += ["not installed:", *(f"  {line}" for line in report.missing)]
    lines.append("a vendor's recogniser, by a settings file with its key: --config FILE")
    return "\n".join(lines)


def _spoken(voice: str) -> str:
    if voice != "espeak":
        return f"spoken by {voice}, a natural voice ({SPOKEN[voice]['name']})"
    return (
        "spoken by eSpeak NG, a robot that recognisers understand far worse than people: "
        "of these figures only the differences count"
    )


def _is_here(choice: Choice) -> bool:
    return choice.is_installed() and (not choice.model or is_there(choice.model))


def _how(choice: Choice) -> str:
    """Return what a choice is, how large, and how to get it."""
    ways = [how_to_install(choice.extra)] if choice.extra and not choice.is_installed() else []
    ways += [f"vixio models get {choice.model}"] if choice.model else []
    return f"{choice.name} ({_SIZES.get(choice.name, 'size unknown')}): {', then '.join(ways)}"
