"""Documents that the assistant searches: added, listed, searched, erased."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Final

from fastapi import Path, Query
from pydantic import BaseModel, Field
from starlette.requests import Request

from vixio.core.wall_clock import now_ms
from vixio.data.database.audit import AuditTable
from vixio.data.database.database import Database
from vixio.data.papers.records import EVERYBODY, PROFILE, Paper, PaperError, owner_of
from vixio.data.papers.service import PapersUnavailable
from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.fields import PRINTABLE, Body, Filter, Limit
from vixio.web.api.problems import Problem, too_many, unavailable
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope
from vixio.web.api.service import ApiService

OCTETS: Final = "application/octet-stream"

PaperPath = Annotated[str, Path(description="A document's id.", pattern="^[0-9a-f]{16}$")]
Named = Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f/\\]+$")]
Question = Annotated[str, Query(min_length=1, max_length=500, pattern=PRINTABLE)]


class PaperView(BaseModel):
    """A document."""

    id: str
    name: str
    profile: str = Field(description="Whose devices may search it; empty: not a profile's.")
    person: str = Field(description="The id of whose it is; empty: not a person's.")
    origin: str = Field(
        description="Its path in a folder that is followed, or its address; empty: it was given."
    )
    size: int = Field(description="Bytes.")
    pages: int = Field(description="0: it has none.")
    passages: int
    state: str = Field(description="ready, or failed.")
    problem: str = Field(description="Why it cannot be searched; empty: it can.")
    added_at: int = Field(description="Milliseconds since 1970.")


class WebPage(Body):
    """Where a web page is."""

    address: str = Field(max_length=2_000, pattern=r"^https?://[^\s\x00-\x1f\x7f]+$")


class PaperList(BaseModel):
    """Documents, by owner and name."""

    papers: list[PaperView]


class Erased(BaseModel):
    """How many documents were erased."""

    erased: int


class PassageView(BaseModel):
    """A passage that was found. The best has the highest score."""

    paper_id: str
    document: str
    page: int = Field(description="0: the document has no pages.")
    heading: str
    text: str
    score: float


class Passages(BaseModel):
    """What was found, the best first."""

    passages: list[PassageView]


async def list_papers(service: Service, profile: Filter = "", person: Filter = "") -> PaperList:
    """List documents: all, or those of a profile or of a person."""
    owner = await _owner(service, profile, person) if profile or person else None
    try:
        found = await service.ports.papers.use(lambda papers: papers.all(owner))
    except PaperError as error:
        raise _problem(error) from None
    return PaperList(papers=[_view(each) for each in found])


async def add_paper(
    service: Service,
    who: Who,
    request: Request,
    name: Named,
    profile: Filter = "",
    person: Filter = "",
) -> PaperView:
    """Add a document, its bytes: PDF, Word (.docx), Markdown, text or HTML, by the ending of
    ``name``. One of the same name and owner is replaced.

    Its devices alone search the document of a ``profile``, or of a ``person`` (name or id); else
    all do.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != OCTETS:
        raise Problem(415, f"send the document itself, with `Content-Type: {OCTETS}`")
    owner = await _owner(service, profile, person)
    if service.uploading.locked():
        raise too_many("another upload is under way, try again", 5)
    async with service.uploading:
        content = await _received(request, service.ports.papers.max_bytes)
        try:
            paper = await service.ports.papers.add(owner, name, content)
        except PaperError as error:
            raise _problem(error, 422) from None
    await _note(service, who.actor, "document added", paper.id)
    return _view(paper)


async def add_page(
    service: Service, who: Who, body: WebPage, profile: Filter = "", person: Filter = ""
) -> PaperView:
    """Add a web page, or a document of the web, by its address. It is fetched once, from the public
    internet alone."""
    owner = await _owner(service, profile, person)
    if service.uploading.locked():
        raise too_many("another upload is under way, try again", 5)
    async with service.uploading:
        try:
            paper = await service.ports.papers.add_page(owner, body.address, private=False)
        except PaperError as error:
            raise _problem(error, 422) from None
    await _note(service, who.actor, "document added", paper.id)
    return _view(paper)


async def search_papers(
    service: Service,
    question: Question,
    profile: Filter = "",
    person: Filter = "",
    limit: Limit = 4,
) -> Passages:
    """Search as the assistant does: in everybody's documents, and a profile's or a person's."""
    owners = dict.fromkeys([EVERYBODY, await _owner(service, profile, person)])
    try:
        found = await service.ports.papers.search(question, list(owners), limit)
    except PaperError as error:
        raise _problem(error) from None
    return Passages(passages=[PassageView(**asdict(each)) for each in found])


async def remove_paper(service: Service, who: Who, paper: PaperPath) -> None:
    """Erase a document. One of a folder comes again while its file is there."""
    try:
        await service.ports.papers.remove(paper)
    except PaperError as error:
        raise _problem(error, 404) from None
    await _note(service, who.actor, "document erased", paper)


async def erase_papers(
    service: Service, who: Who, profile: Filter = "", person: Filter = ""
) -> Erased:
    """Erase all documents of a profile or of a person; without either, those of everybody."""
    owner = await _owner(service, profile, person)
    try:
        erased = await service.ports.papers.erase(owner)
    except PaperError as error:
        raise _problem(error) from None
    await _note(service, who.actor, "documents erased", owner or "everybody")
    return Erased(erased=erased)


async def _owner(service: ApiService, profile: str, person: str) -> str:
    if profile and person:
        raise Problem(422, "a document belongs to a profile or to a person, not to both")
    if person:
        found = await service.read(lambda repository: repository.people.find(person))
        return owner_of(person=found.id)
    return owner_of(profile=profile)


async def _received(request: Request, most: int) -> bytes:
    pieces, size = list[bytes](), 0
    async for piece in request.stream():
        pieces.append(piece)
        size += len(piece)
        if size > most:
            words = f"a document has at most {most // 2**20} MB (papers.max_file_mb)"
            raise Problem(413, words, headers={"Connection": "close"})
    return b"".join(pieces)


async def _note(service: ApiService, actor: str, action: str, about: str) -> None:
    async def add(database: Database) -> None:
        async with database.transaction() as transaction:
            await AuditTable(transaction).add(now_ms(), actor, action, f"paper:{about}")

    await service.use(add)
    await service.ports.registry.catch_up()


def _problem(error: PaperError, status: int = 409) -> Problem:
    if isinstance(error, PapersUnavailable):
        return unavailable(str(error))
    return Problem(status, str(error))


def _view(paper: Paper) -> PaperView:
    values = asdict(paper)
    owner = values.pop("owner")
    profile = owner.removeprefix(PROFILE) if owner.startswith(PROFILE) else ""
    person = "" if profile else owner.partition("/")[2]
    del values["digest"]
    return PaperView(**values, profile=profile, person=person)


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("papers")
    read, write = SCOPED[Scope.CONVERSATIONS_READ], SCOPED[Scope.CONVERSATIONS_WRITE]
    routes.add("GET", "/papers", list_papers, read, errors=(404, 409))
    routes.add(
        "POST",
        "/papers",
        add_paper,
        write,
        status=201,
        errors=(404, 409),
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    routes.add("POST", "/papers/pages", add_page, write, status=201, errors=(404, 409))
    routes.add("DELETE", "/papers", erase_papers, write, errors=(404, 409))
    routes.add("GET", "/papers/search", search_papers, read, errors=(404, 409))
    routes.add("DELETE", "/papers/{paper}", remove_paper, write, status=204, errors=(404,))
    return routes
