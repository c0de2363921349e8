"""Which profile a device has, and when a change of the profiles reaches a connected one."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import cast

import pytest

from vixio.composition.choices import ProfileDefaults, Providers
from vixio.composition.profiles import LiveProfiles, ProfileUpdates
from vixio.core.device import Device, DeviceProfile, ProfileResolver
from vixio.core.errors import ConfigError
from vixio.core.session.directory import SessionDirectory
from vixio.core.session.events import SessionOpened
from vixio.core.session.session import Session
from vixio.settings import Settings


class Connected:
    """A session that notes the profiles it is given."""

    def __init__(self, device: Device, profile: DeviceProfile) -> None:
        self.device = device
        self.device_id = self.session_id = device.id
        self.profile = profile
        self.given: list[str] = []

    def reconfigure(self, profile: DeviceProfile) -> None:
        self.profile = profile
        self.given.append(profile.language)


class Server:
    """Profiles, and devices that connect. Their providers load while ``loads`` is set."""

    def __init__(self, settings: Settings | None = None) -> None:
        settings = settings or Settings()
        self.profiles = LiveProfiles(settings, ProfileDefaults(settings, Providers()))
        self.sessions = SessionDirectory()
        self.updates = ProfileUpdates(self.profiles, self.sessions, self._prepare)
        self.loads = asyncio.Event()
        self.loads.set()

    async def _prepare(self, profile: DeviceProfile) -> None:
        await self.loads.wait()

    def resolve_by(self, resolver: ProfileResolver) -> None:
        self.updates.change(lambda live: live.use_resolver(resolver))

    def connect(self, device_id: str) -> Connected:
        device = Device(device_id)
        session = Connected(device, self.profiles(device))
        self.open(session)
        return session

    def open(self, session: Connected) -> None:
        self.sessions.add(cast("Session", session))
        self.updates(SessionOpened(session.device_id, session.session_id, 0.0))

    async def settled(self) -> None:
        """Let all changes take place."""
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)


class Store:
    """A resolver over data that change, as a program has them."""

    def __init__(self, **languages: str) -> None:
        self.languages = languages

    def __call__(self, device: Device) -> DeviceProfile:
        return DeviceProfile(language=self.languages[device.id])


def errors(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [
        (vars(each)["device"], vars(each)["reason"])
        for each in caplog.records
        if each.levelno == logging.ERROR
    ]


async def test_the_same_resolver_with_other_data_reaches_the_device_concerned() -> None:
    server, store = Server(), Store(a="en", b="en")
    server.resolve_by(store)
    a, b = server.connect("a"), server.connect("b")
    store.languages["a"] = "de"
    server.resolve_by(store)
    await server.settled()
    server.resolve_by(store)
    await server.settled()
    assert (a.given, b.given) == (["de"], [])


async def test_data_that_change_while_a_device_connects() -> None:
    server, store = Server(), Store(a="en")
    server.resolve_by(store)
    device = Device("a")
    a = Connected(device, server.profiles(device))
    store.languages["a"] = "de"
    server.open(a)
    await server.settled()
    assert a.given == ["de"]


async def test_a_profile_that_a_command_has_changed_stays_until_the_devices_own_changes() -> None:
    server, store = Server(), Store(a="en")
    server.resolve_by(store)
    a = server.connect("a")
    a.profile = replace(a.profile, language="fr")
    server.resolve_by(store)
    await server.settled()
    assert a.given == []
    store.languages["a"] = "de"
    server.resolve_by(store)
    await server.settled()
    assert a.given == ["de"]


async def test_a_change_that_is_outdated_when_its_providers_have_loaded_is_left_out() -> None:
    server, store = Server(), Store(a="en")
    server.resolve_by(store)
    a = server.connect("a")
    server.loads.clear()
    for language in ("de", "fr"):
        store.languages["a"] = language
        server.resolve_by(store)
    server.loads.set()
    await server.settled()
    assert a.given == ["fr"]


async def test_a_resolver_that_fails_is_one_line_and_can_be_replaced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server(Settings.model_validate({"assistant": {"place": "Berlin"}}))
    server.resolve_by(Store(a="en"))
    a = server.connect("a")
    server.resolve_by(Store())
    server.resolve_by(Store())
    ((_, reason), _) = errors(caplog)
    assert reason.startswith("the profile resolver failed: KeyError")
    assert "\n" not in reason
    caplog.clear()
    b = server.connect("b")
    assert b.profile.place == "Berlin", "it is served as the settings say"
    assert len(errors(caplog)) == 1
    server.resolve_by(Store(a="it", b="it"))
    await server.settled()
    assert (a.given, b.given) == (["it"], ["it"])


async def test_a_resolver_without_a_profile_for_a_device(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server()
    known = {"a": DeviceProfile(language="de")}
    server.resolve_by(lambda device: known.get(device.id))  # type: ignore[arg-type]  # that is what is tested
    assert server.profiles(Device("b")).language == "en"
    assert errors(caplog) == [
        ("b", "the profile resolver returned NoneType instead of DeviceProfile")
    ]


async def test_an_outline_is_the_profile_and_says_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server()
    known = {"a": DeviceProfile(language="de", place="hall")}
    server.resolve_by(lambda device: known[device.id])
    assert server.profiles.outline(Device("a")) == known["a"]
    assert server.profiles.outline(Device("b")).language == "en"
    assert errors(caplog) == []


async def test_an_invalid_profile_leaves_a_connected_device_as_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server()
    server.resolve_by(lambda device: DeviceProfile(language="de"))
    a = server.connect("a")
    server.resolve_by(lambda device: DeviceProfile(language="fr", instructions="Be {modo}."))
    await server.settled()
    assert a.given == []
    ((device, reason),) = errors(caplog)
    assert device == "a"
    assert "there is no {modo}" in reason
    b = server.connect("b")
    assert (b.profile.language, b.profile.instructions) == ("fr", "")
    await server.settled()
    assert b.given == []
    assert len(errors(caplog)) == 2


async def test_other_settings_leave_the_programs_resolver_in_effect() -> None:
    server = Server()
    server.resolve_by(Store(a="de"))
    a = server.connect("a")
    settings = Settings.model_validate({"assistant": {"language": "fr"}})
    defaults = ProfileDefaults(settings, Providers())
    server.updates.change(lambda live: live.use_settings(settings, defaults))
    await server.settled()
    assert a.given == []
    assert server.profiles(Device("a")).language == "de"


async def test_a_content_that_is_tried_stays_until_the_trial_ends() -> None:
    server = Server()
    a, other = server.connect("a"), server.connect("b")
    session = cast("Session", a)
    server.updates.try_out(session, {"language": "fr"})
    await server.settled()
    assert (a.given, other.given) == (["fr"], [])
    assert server.updates.trial(session) == {"language": "fr"}
    changed = Settings.model_validate({"assistant": {"language": "de"}})
    defaults = ProfileDefaults(changed, Providers())
    server.updates.change(lambda live: live.use_settings(changed, defaults))
    await server.settled()
    assert (a.given, other.given) == (["fr"], ["de"])
    server.updates.end_trial(session)
    server.updates.end_trial(session)
    await server.settled()
    assert a.given == ["fr", "de"]
    assert server.updates.trial(session) is None
    with pytest.raises(ConfigError, match="langage"):
        server.updates.try_out(session, {"langage": "fr"})
    assert server.updates.trial(session) is None


async def test_a_trial_that_ends_while_its_providers_load_is_left_out() -> None:
    server = Server()
    a = server.connect("a")
    server.loads.clear()
    server.updates.try_out(cast("Session", a), {"language": "fr"})
    server.updates.try_out(cast("Session", a), {"language": "it"})
    server.loads.set()
    await server.settled()
    assert a.given == ["it"]
    server.loads.clear()
    server.updates.try_out(cast("Session", a), {"language": "es"})
    server.updates.end_trial(cast("Session", a))
    server.loads.set()
    await server.settled()
    assert a.given == ["it", "en"]


async def test_a_programs_resolver_leaves_nothing_to_try() -> None:
    server = Server()
    server.resolve_by(Store(a="en"))
    a = server.connect("a")
    with pytest.raises(ConfigError, match="the program decides"):
        server.updates.try_out(cast("Session", a), {"language": "fr"})
