"""Tickets for pictures of screens, and who gets which picture."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.cluster_members import two_workers
from vixio.core.local_cluster import LocalCluster
from vixio.web.api import screens
from vixio.web.api.screens import MAX_USED, PATH, Screens

SECRET = "a secret of enough bytes"
IMAGE = b"\xff\xd8" + b"\x00" * 100_000 + b"\xff\xd9"


def made() -> Screens:
    return Screens(LocalCluster().broadcast, SECRET)


async def test_a_picture_reaches_who_waits_for_it_once() -> None:
    here = made()
    with here.expected() as one, here.expected() as other:
        ticket = one.path.removeprefix(PATH)
        assert here.admit(ticket)
        assert not here.admit(ticket), "once"
        here.deliver(ticket, IMAGE)
        assert await one.image() == IMAGE
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await other.image()
    late = other.path.removeprefix(PATH)
    assert here.admit(late), "nobody waits any more, but it was asked for"
    here.deliver(late, IMAGE)


async def test_what_is_no_ticket() -> None:
    here = made()
    with here.expected() as picture, Screens(LocalCluster().broadcast, "x" * 32).expected() as of:
        good = picture.path.removeprefix(PATH)
        name, _, signed = good.partition(".")
        for wrong in ("", ".", "a.b", name, f"x{name}.{signed}", of.path.removeprefix(PATH)):
            assert not here.admit(wrong), wrong
        assert here.admit(good)


async def test_a_ticket_expires() -> None:
    at = 1_000_000.0
    here = Screens(LocalCluster().broadcast, SECRET, lambda: at)
    with here.expected() as picture:
        at += screens.LIFETIME_S + 1
        assert not here.admit(picture.path.removeprefix(PATH))


async def test_used_tickets_are_forgotten_at_some_time() -> None:
    here = made()
    for _ in range(MAX_USED + 10):
        with here.expected() as picture:
            assert here.admit(picture.path.removeprefix(PATH))
    assert len(here._used) == MAX_USED


async def test_it_may_come_to_another_process() -> None:
    async with two_workers() as (one, two):
        here, there = (Screens(member.broadcast, SECRET) for member in (one, two))
        with here.expected() as picture:
            ticket = picture.path.removeprefix(PATH)
            assert there.admit(ticket)
            there.deliver(ticket, IMAGE)
            async with asyncio.timeout(30):
                assert await picture.image() == IMAGE
        two.broadcast.send(screens.TOPIC, {"name": ticket.partition(".")[0], "image": "no base64"})
        two.broadcast.send(screens.TOPIC, {"name": 5})
        await one.presence.members()
