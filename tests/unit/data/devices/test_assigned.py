"""Profiles of the registry: written, given to devices, and laid over the settings."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.support.registry_databases import Make
from vixio.core.device import Device
from vixio.data.devices.profiles import SettingsProfiles
from vixio.data.devices.records import RegistryError, Standing
from vixio.data.devices.registry_cache import RegistrySnapshot, read_changes
from vixio.data.devices.repository import DeviceRepository
from vixio.settings import Settings

KITCHEN = "02:00:00:00:00:01"


def profiles_of(known: RegistrySnapshot, **settings: object) -> SettingsProfiles:
    return SettingsProfiles(Settings.model_validate(settings), known)


def test_the_registry_stands_between_patterns_and_the_devices_own_section() -> None:
    known = RegistrySnapshot(
        standings={KITCHEN: Standing(name="Kitchen", profile="child")},
        profiles={"child": {"language": "de", "place": "home", "user": "Mia"}},
    )
    profile = profiles_of(
        known,
        assistant={"language": "en", "place": "town"},
        devices={"02:*": {"language": "fr", "user": "all"}, KITCHEN: {"user": "Ada"}},
    )(Device(KITCHEN))
    assert (profile.language, profile.place) == ("de", "home")
    assert profile.user == "Ada", "the settings' own section is the last word"
    assert profile.name == "Kitchen"
    known.standings[KITCHEN] = Standing(place="Hall", profile="child")
    assert profiles_of(known)(Device(KITCHEN)).place == "Hall"


def test_a_change_is_seen_at_the_next_look_and_equal_ones_are_one_object() -> None:
    known = RegistrySnapshot(standings={KITCHEN: Standing(profile="a"), "b": Standing(profile="a")})
    profiles = profiles_of(known)
    plain = profiles(Device(KITCHEN))
    known.profiles["a"] = {"language": "de"}
    assert profiles(Device(KITCHEN)).language == "de"
    assert profiles(Device(KITCHEN)) is profiles(Device("b"))
    del known.profiles["a"]
    assert profiles(Device(KITCHEN)) == plain


def test_a_device_knows_the_name_of_its_profile() -> None:
    known = RegistrySnapshot(
        standings={KITCHEN: Standing(profile="a"), "b": Standing(profile="b"), "c": Standing()},
        profiles={"a": {"language": "de"}, "b": {"language": "de"}},
    )
    profiles = profiles_of(known)
    assert [profiles(Device(each)).assigned for each in (KITCHEN, "b", "c")] == ["a", "b", ""]
    assert profiles.drafted(Device(KITCHEN), {"language": "fr"}).assigned == "a"
    del known.profiles["a"]
    assert profiles(Device(KITCHEN)).assigned == ""


def test_a_profile_names_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHILD", "Mia")
    known = RegistrySnapshot(
        standings={KITCHEN: Standing(profile="a")},
        profiles={"a": {"user": "${CHILD}", "tools": {"deny": ["${NOBODY:app/*}"]}}},
    )
    profile = profiles_of(known)(Device(KITCHEN))
    assert (profile.user, profile.tools.deny) == ("Mia", ("app/*",))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"langage": "de"}, "langage: there is no such key"),
        ({"user": "${UNSET_VARIABLE}"}, "the environment variable UNSET_VARIABLE is not set"),
        ({"tts": {"name": "nonsense"}}, "there is no tts provider 'nonsense'"),
    ],
)
def test_a_profile_that_does_not_fit_is_left_out(
    content: dict[str, object], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    known = RegistrySnapshot(
        standings={KITCHEN: Standing(profile="a", name="Bath")}, profiles={"a": content}
    )
    profiles = profiles_of(known)
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            assert profiles(Device(KITCHEN)).name == "Bath"
    (record,) = caplog.records
    assert words in str(record.__dict__["reason"])


async def test_profiles_are_written_assigned_and_removed(make: Make) -> None:
    database = make()
    await database.open()
    repository, known = DeviceRepository(database), RegistrySnapshot()

    async def look() -> None:
        news = await read_changes(database, known.last, 0, sure=True)
        assert news is not None
        news.apply(known)

    await repository.add(KITCHEN, "me")
    await repository.profiles.put("child", {"language": "de"}, "me")
    assert (await repository.assign(KITCHEN, "child", "me")).profile == "child"
    await look()
    assert known.profiles == {"child": {"language": "de"}}
    assert known.standings[KITCHEN].profile == "child"
    await repository.profiles.put("child", {"language": "fr"}, "me")
    await look()
    assert known.profiles["child"] == {"language": "fr"}
    with pytest.raises(RegistryError, match="no profile 'adult'"):
        await repository.assign(KITCHEN, "adult", "me")
    await repository.profiles.remove("child", "me")
    await look()
    assert known.profiles == {}
    assert (await repository.device(KITCHEN)).profile is None
    with pytest.raises(RegistryError, match="no profile 'child'"):
        await repository.profiles.remove("child", "me")
    for wrong in ("", "a/b", "x" * 65):
        with pytest.raises(RegistryError, match="is no name for a profile"):
            await repository.profiles.put(wrong, {}, "me")
    with pytest.raises(RegistryError, match="at most 64 KB"):
        await repository.profiles.put("large", {"instructions": "x" * 70_000}, "me")
    written = [change for change in await repository.audit(9) if change.action == "profile written"]
    assert [change.detail for change in written] == ['{"keys": "language"}'] * 2
    await database.close()


def test_the_commands(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from vixio.cli.commands import main

    config, file = tmp_path / "vixio.yaml", tmp_path / "guests.yaml"
    config.write_text(f"data: {{folder: {tmp_path}}}\n")
    file.write_text("language: fr\ntools: {allow: [self.*]}\n")

    def vixio(*arguments: str) -> tuple[int, str]:
        command, *rest = arguments
        done = CliRunner().invoke(main, [command, "--config", str(config), *rest])
        return done.exit_code, done.output

    assert vixio("profiles") == (
        0,
        "there are no profiles: `vixio profiles set NAME language=de` writes one\n",
    )
    assert vixio("profiles", "set", "child", "language=de", "agent.name=phrasebook", "user=A: b")[
        1
    ] == ("wrote child: language, agent, user\n")
    assert vixio("profiles", "set", "child", "agent.name=", "agent=")[0] == 0
    assert vixio("profiles", "show", "child") == (0, "language: de\nuser: 'A: b'\n")
    assert vixio("profiles", "load", "guests", str(file))[0] == 0
    assert vixio("devices", "add", KITCHEN, "--name", "Kitchen")[0] == 0
    assert vixio("devices", "assign", "Kitchen", "guests")[1] == "Kitchen has the profile guests\n"
    listed = vixio("profiles")[1].splitlines()
    assert [line.split()[:3] for line in listed[1:]] == [
        ["child", "0", "language,"],
        ["guests", "1", "language,"],
    ]
    status, said = vixio("profiles", "set", "child", "language")
    assert status == 2
    assert "expected KEY=VALUE, found 'language'" in said
    assert vixio("devices", "assign", "Kitchen")[1] == "Kitchen has no profile\n"
    said = vixio("devices", "switch", "Kitchen", "mqtt")[1]
    assert said == "Kitchen comes by mqtt from its next start\n"
    assert " mqtt " in vixio("devices")[1].splitlines()[1]
    assert vixio("devices", "switch", "Kitchen", "pigeon")[0] == 2
    said = vixio("devices", "switch", "Kitchen")[1]
    assert said == "Kitchen comes as the settings say from its next start\n"
    assert vixio("profiles", "remove", "guests")[1] == "removed guests\n"
    assert vixio("profiles", "set", "child", "agent={name: openai, api_key: planted}")[0] == 0
    shared = tmp_path / "child.json"
    assert vixio("profiles", "save", "child", str(shared))[0] == 0
    assert "planted" not in shared.read_text()
    assert (
        vixio("profiles", "load", "copy", str(shared))[1] == "wrote copy: language, user, agent\n"
    )
    assert vixio("profiles", "create", "tales", "--template", "storyteller")[0] == 0
    assert "You are a storyteller" in vixio("profiles", "show", "tales")[1]
    config.write_text(f"data: {{folder: {tmp_path}}}\nassistant: {{language: zh-CN}}\n")
    assert vixio("profiles", "create", "kind", "--template", "child")[0] == 0
    assert "daily_turns: 80" in (written := vixio("profiles", "show", "kind")[1])
    assert "你是" in written
    assert (
        "there is a profile 'kind' already"
        in (vixio("profiles", "create", "kind", "--template", "child")[1])
    )
    assert (
        "no template 'nanny': storyteller,"
        in (vixio("profiles", "create", "more", "--template", "nanny")[1])
    )


ROLES = {"storyteller": "the storyteller"}


def test_a_role_is_over_the_devices_profile_and_leads_no_further() -> None:
    known = RegistrySnapshot(
        standings={KITCHEN: Standing(name="Kitchen", profile="child", role="storyteller")},
        profiles={
            "child": {"language": "de", "user": "Mia", "roles": ROLES, "tools": {"deny": ["web"]}},
            "storyteller": {
                "instructions": "Tell stories.",
                "place": "castle",
                "user": "King",
                "roles": ["adult"],
                "tools": {"deny": ["lamp"]},
            },
            "adult": {"instructions": "Anything."},
        },
    )
    profiles = profiles_of(known, devices={KITCHEN: {"daily_turns": 5, "instructions": "Be kind."}})
    served = profiles(Device(KITCHEN))
    assert (served.role, served.instructions) == ("storyteller", "Tell stories.")
    assert (served.language, served.daily_turns) == ("de", 5), "what it does not say stays"
    assert (served.name, served.user, served.place) == ("Kitchen", "Mia", "")
    assert served.tools.deny == ("web", "lamp"), "what is denied stays denied"
    assert served.roles is not None
    assert "adult" not in served.roles, "what the role names is not for this device"
    for standing in (
        Standing(profile="child", role="adult"),
        Standing(profile="child", role="gone"),
        Standing(role="storyteller"),
    ):
        known.standings[KITCHEN] = standing
        assert profiles(Device(KITCHEN)).role == "", standing
        assert profiles(Device(KITCHEN)).instructions == "Be kind."


async def test_a_role_is_kept_until_it_is_left_or_the_profile_changes(make: Make) -> None:
    database = make()
    await database.open()
    repository, known = DeviceRepository(database), RegistrySnapshot()

    async def look() -> str:
        news = await read_changes(database, known.last, 0, sure=True)
        assert news is not None
        news.apply(known)
        assert news.everything or not set(news.standings) - {KITCHEN}
        return known.standings[KITCHEN].role

    await repository.add(KITCHEN, "me")
    for name in ("child", "storyteller"):
        await repository.profiles.put(name, {"language": "de"}, "me")
    await repository.assign(KITCHEN, "child", "me")
    assert await look() == ""
    assert (await repository.take_role(KITCHEN, "storyteller", "device")).role == "storyteller"
    assert await look() == "storyteller"
    assert known.standings[KITCHEN].profile == "child"
    anew = RegistrySnapshot()
    everything = await read_changes(database, -1, 0)
    assert everything is not None
    everything.apply(anew)
    assert anew.standings[KITCHEN].role == "storyteller", "a server that starts knows it"
    with pytest.raises(RegistryError, match="no profile 'adult'"):
        await repository.take_role(KITCHEN, "adult", "device")
    await repository.take_role(KITCHEN, "", "device")
    assert await look() == ""
    await repository.take_role(KITCHEN, "storyteller", "device")
    await repository.assign(KITCHEN, "child", "me")
    assert await look() == "", "the operator's choice ends it"
    await repository.take_role(KITCHEN, "storyteller", "device")
    await repository.profiles.remove("storyteller", "me")
    assert (await repository.device(KITCHEN)).role is None
    roles = [change for change in await repository.audit(20) if change.action == "role"]
    assert [change.detail for change in roles][:2] == ['{"role": "storyteller"}', '{"role": ""}']
    await database.close()
