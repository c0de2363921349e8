"""The closed vocabulary that the offline assistant understands without a model.

Sentence templates in YAML, one file per language (``data/en.yaml``, ``data/de.yaml``), in the
syntax of hassil; ``make phrasebook`` compiles them into the files that are loaded. Each intent has
a plain reply, or a tool call with its arguments and a reply that is filled from the tool's result.
Tools without a template get automatic phrases. The same compiled phrases answer text
(:meth:`CompiledPhrases.match`) and make the grammar of the speech recogniser
(:meth:`CompiledPhrases.grammar`), so every recognised sentence is understood.

Use in an agent::

    book = PhraseBook.load("en")                       # "en", "en-US", "de-AT"; cached
    phrases = book.compile(                            # cached by content, cheap to call each turn
        [ToolSignature(alias=t.name, description=t.description, parameters=t.params_json_schema)
         for t in tools]
    )
    match = phrases.match("set the volume to thirty percent")      # Match | None
    if match is None:
        say(message("not_understood", "en"))       # vixio.core.messages
    else:
        results = []                               # the tools' answers so far, as text
        step = match.proceed(results)              # Call("self_audio_speaker_set_volume", …) | str
        while isinstance(step, Call):              # a few intents need two calls ("louder")
            results.append(await call(step.tool, step.arguments))
            step = match.proceed(results)
        say(step)

``match.proceed`` is a pure function of the results so far, so a stateless model can match the last
user message again and pass the tool outputs that follow it.
"""

from vixio.language.phrasebook.book import LANGUAGES, PhraseBook, first_apology
from vixio.language.phrasebook.compiled import CompiledPhrases
from vixio.language.phrasebook.grammar import Grammar
from vixio.language.phrasebook.match import Call, Match
from vixio.language.phrasebook.matcher import Filled
from vixio.language.phrasebook.reply import Result
from vixio.language.phrasebook.signature import ToolSignature, fingerprint, signatures

__all__ = [
    "LANGUAGES",
    "Call",
    "CompiledPhrases",
    "Filled",
    "Grammar",
    "Match",
    "PhraseBook",
    "Result",
    "ToolSignature",
    "fingerprint",
    "first_apology",
    "signatures",
]
