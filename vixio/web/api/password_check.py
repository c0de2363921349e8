"""Compares a password with the one in force: a bounded number of times, one at a time."""

from __future__ import annotations

from starlette.requests import Request

from vixio.transports.admission.addresses import address_key
from vixio.web.api.front import client
from vixio.web.api.keys import Keys
from vixio.web.api.passwords import is_password
from vixio.web.api.problems import too_many
from vixio.web.api.service import ApiService


async def is_right(service: ApiService, request: Request, password: str) -> bool:
    """Whether it is the password. Raises Problem: too many attempts."""
    address = client(request, service.ports)
    wait = service.take_login(address_key(address) if address else "unknown")
    if wait:
        raise too_many("too many logins, try again later", wait)
    if service.hashing.locked():
        raise too_many("another login is under way, try again", 1)
    async with service.hashing:
        stored = await service.use(lambda database: Keys(database).password())
        right = await is_password(password, stored)
    if not right:
        service.ports.counters.add("api.wrong_password")
    return right
