"""What the routes of the memory share: the store, whose memory it is, the audit trail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeVar

from vixio.core.commands import Custom
from vixio.core.device import normalise_device_id
from vixio.core.facts import person_owner
from vixio.core.wall_clock import now_ms
from vixio.data.database.audit import AuditTable
from vixio.data.database.database import Database
from vixio.data.database.link import Rejected, Unavailable
from vixio.data.devices.records import NotKnown
from vixio.data.memory.fact_edits import EditFacts, FactRefused, FactUnknown
from vixio.data.memory.memory import Memory
from vixio.data.memory.records import device_key
from vixio.data.memory.repository import MemoryRepository, on_memory
from vixio.web.api.device_commands import RELOAD
from vixio.web.api.problems import Problem, unavailable
from vixio.web.api.service import ApiService

T = TypeVar("T")

RELOAD_S: Final = 2.0
"""For a connected device to follow; one that does not follows at its next connection, and what was
erased at the end of its turn."""


class Owner(NamedTuple):
    """Whose memory it is: a device's or, where ``person`` is set, a person's.

    ``id``: of the device or the person. ``belongs_to``: the person of a device; empty: nobody.
    """

    id: str
    name: str
    person: bool = False
    belongs_to: str = ""

    @property
    def owner(self) -> str:
        """The owner of facts, as :mod:`vixio.core.facts` has it."""
        return person_owner(self.id) if self.person else self.id

    @property
    def key(self) -> str:
        """The key in a store."""
        return device_key(self.owner)


def memory_of(service: ApiService) -> Memory:
    """Return the memory. Raises Problem."""
    memory = service.ports.memory
    if memory is None:
        raise Problem(409, "memory.store is none: what is remembered ends with the server")
    return memory


async def use(service: ApiService, work: Callable[[MemoryRepository], Awaitable[T]]) -> T:
    """Do ``work`` on the memory. Raises Problem."""
    try:
        return await memory_of(service).link.call(on_memory(work))
    except Unavailable:
        raise _unavailable() from None
    except Rejected:
        raise _rejected() from None


async def edit_facts(service: ApiService, whose: Owner, edit: EditFacts) -> list[str]:
    """Apply an edit to the facts; return those after it. Raises Problem."""
    try:
        return await memory_of(service).facts.edit(whose.owner, edit)
    except FactUnknown as error:
        raise Problem(404, str(error)) from None
    except FactRefused as error:
        raise Problem(409, str(error)) from None
    except Unavailable:
        raise _unavailable() from None
    except Rejected:
        raise _rejected() from None


async def device_owner(service: ApiService, device: str) -> Owner:
    """Return the memory of a device that the registry knows, or of one that was only remembered.

    Raises Problem, RegistryError.
    """
    try:
        found = await service.device(device)
    except NotKnown:
        unlisted = Owner(normalise_device_id(device), "")
        if service.ports.memory is None or not await use(service, lambda s: _any(s, unlisted.key)):
            raise
        return unlisted
    return Owner(found.id, found.name, belongs_to=found.person or "")


async def person_owner_of(service: ApiService, person: str) -> Owner:
    """Return the memory of a person. Raises RegistryError."""
    found = await service.read(lambda repository: repository.people.find(person))
    return Owner(found.id, found.name, person=True)


async def note(service: ApiService, actor: str, action: str, whose: Owner) -> None:
    """Add to the audit trail, without the words."""
    about = {"person": whose.id} if whose.person else {"device": whose.id}

    async def add(database: Database) -> None:
        async with database.transaction() as transaction:
            await AuditTable(transaction).add(
                now_ms(), actor, action, f"memory:{whose.owner}", **about
            )

    await service.use(add)
    await service.ports.registry.catch_up()


async def follow(service: ApiService, whose: Owner) -> None:
    """Have a device follow a change of its conversation at its next turn, where it is connected."""
    await service.ports.command(whose.id, Custom(RELOAD), timeout=RELOAD_S)


async def _any(store: MemoryRepository, key: str) -> bool:
    remembered = await store.load(key)
    return bool(remembered.turns or remembered.summary or await store.load_facts(key))


def _rejected() -> Problem:
    return Problem(409, "the memory does not take this")


def _unavailable() -> Problem:
    return unavailable("the memory cannot be reached at the moment: try again")
