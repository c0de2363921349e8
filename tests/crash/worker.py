"""Changes a registry without a pause, and says each change once it is acknowledged.

A line is a JSON list: what was done, and of which device or token. The process is meant to be
killed.
"""

from __future__ import annotations

import asyncio
import sys

from tests.crash.steps import opened, say
from vixio.data.devices.contacts import DeviceContacts
from vixio.data.devices.records import AccessMode
from vixio.data.devices.repository import DeviceRepository
from vixio.data.devices.tokens import DeviceTokens
from vixio.transports.admission.access import OtaRequest

ACTIVATION = AccessMode.ACTIVATION


async def work(folder: str, url: str, prefix: str) -> None:
    """Lead devices through their lives, one after another, without an end."""
    database = await opened(folder, url)
    visits, repository = DeviceContacts(database), DeviceRepository(database)
    tokens = DeviceTokens("a secret of enough bytes", 86_400)
    number = 0
    while True:
        number += 1
        device_id = f"{prefix}-{number}"
        visit = OtaRequest(device_id=device_id, client_id="c", firmware="1.0")
        code = (await visits.decide(visit, ACTIVATION, None))[0].code
        assert code is not None
        say("waits", device_id, code)
        await repository.claim(code, "me", f"Device {number}")
        say("claimed", device_id)
        used = []
        for _ in range(2):
            _, token = await visits.decide(visit, ACTIVATION, tokens)
            assert token is not None
            say("issued", device_id, token.id)
            await visits.tokens_used([token.id])
            say("used", device_id, token.id)
            used.append(token.id)
        await repository.revoke_token(used[-1], "me")
        say("revoked", device_id, used[-1])
        if number % 3 == 0:
            await repository.block(device_id, "lost", "me")
            say("blocked", device_id)
        if number % 5 == 0:
            await repository.forget(device_id, "me")
            say("forgotten", device_id)


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
