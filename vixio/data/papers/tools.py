"""The tool of the agent: what the user's documents say about something, with their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from vixio.core.errors import ToolError
from vixio.core.messages import message
from vixio.core.tools.context import ToolContext
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.source import ToolSource
from vixio.core.tools.types import JsonObject, ToolDefinition, ToolOptions
from vixio.data.papers.records import EVERYBODY, Found, PaperError, owner_of
from vixio.data.papers.service import Papers
from vixio.data.papers.words import terms_of, words_of

SOURCE: Final = "documents"

_SPOKEN: Final = 260
"""Characters of a passage that are read aloud by themselves."""

_SENTENCE: Final = re.compile(r"(?<=[。！？!?])|(?<=[.!?])\s+")


class PaperTools(ToolSource):
    """One tool, while there are documents. ``profile_of``: the profile of a device by its id."""

    def __init__(self, papers: Papers, profile_of: Callable[[str], str]) -> None:
        super().__init__(SOURCE)
        self._papers = papers
        self._profile_of = profile_of
        options = ToolOptions(timeout=10.0, idempotent=True, read_only=True)
        self._tools = (func_to_tool_definition(self.search_papers, SOURCE, options),)
        papers.on_change = self.changed

    def tools(self) -> Sequence[ToolDefinition]:
        """Return the tool, if there is anything to search."""
        return self._tools if self._papers.any else ()

    async def search_papers(self, context: ToolContext, question: str) -> JsonObject:
        """Search the user's own documents: manuals, contracts, notes, letters, recipes.

        Use it before you say that you do not know something about their home, work, family or
        things. Say in your answer which document it is from, and its page. If nothing is found, say
        that their documents do not have it.

        Args:
            question: What to look up, in full words: nothing else is known of the talk.
        """
        owners = self._owners(context)
        try:
            found = await self._papers.search(question, owners)
        except PaperError as error:
            raise ToolError("failed", str(error)) from None
        language = context.language
        if not found:
            spoken = message("papers_nothing", language)
            return {"passages": [], "found": "nothing in the documents", "spoken": spoken}
        best = found[0]
        context.show(_place(best))
        key = "papers_page" if best.page else "papers_found"
        text = excerpt(best.text, terms_of(question))
        document = _spoken_name(best.document)
        spoken = message(key, language, document=document, page=best.page, text=text)
        return {"passages": [_data(each) for each in found], "spoken": spoken}

    def _owners(self, context: ToolContext) -> Sequence[str]:
        """Return whose documents a device may search."""
        owners = [EVERYBODY]
        if profile := self._profile_of(context.device_id):
            owners.append(owner_of(profile=profile))
        if context.person:
            owners.append(owner_of(person=context.person))
        return owners


def excerpt(text: str, terms: Sequence[str], most: int = _SPOKEN) -> str:
    """Return the sentence of a passage that says most of ``terms``, with what follows it."""
    sentences = [each.strip() for each in _SENTENCE.split(text) if each.strip()]
    said = [len(set(words_of(each)).intersection(terms)) for each in sentences]
    start = said.index(max(said)) if said else 0
    piece = ""
    for sentence in sentences[start:]:
        if piece and len(piece) + len(sentence) > most:
            break
        piece = f"{piece} {sentence}".strip()
    return piece if len(piece) <= most else piece[: most - 1] + "…"


def _place(found: Found) -> str:
    return f"{found.document}, {found.page}" if found.page else found.document


def _spoken_name(document: str) -> str:
    """Return a document's name as it is said: without its ending and its joints."""
    stem = document.rpartition(".")[0] or document
    return " ".join(re.sub(r"[-_]+", " ", stem).split())


def _data(found: Found) -> JsonObject:
    data: JsonObject = {"document": found.document}
    if found.page:
        data["page"] = found.page
    if found.heading:
        data["heading"] = found.heading
    return {**data, "text": found.text}
