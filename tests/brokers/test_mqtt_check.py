"""`vixio check` against a real Mosquitto: the documented rules pass, and each mistake is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.mosquitto import Mosquitto, documented
from vixio.cli.diagnostics.check_broker import try_broker
from vixio.core.errors import ConfigError
from vixio.settings.mqtt import BrokerSection

RULES = documented("vixio.acl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a broker."""
    return tmp_path


async def tried(folder: Path, rules: str | None, **more: str) -> str:
    broker = Mosquitto(folder, rules)
    broker.start()
    try:
        return await try_broker(BrokerSection.model_validate(broker.section(**more)))
    finally:
        broker.kill()


async def test_the_documented_rules_are_right(folder: Path) -> None:
    assert "keep devices apart" in await tried(folder, None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("topic read vixio/up/+", "", "keeps vixio from writing vixio/up/"),
        ("topic write vixio/down/+", "", "keeps vixio-server from writing"),
        ("pattern write %u/up/%c", "", "keeps vixio from writing vixio/up/"),
        ("pattern read %u/down/%c", "", "keeps vixio-server from writing"),
        ("pattern read %u/down/%c", "pattern read %u/down/+", "lets vixio read vixio/down/"),
        ("pattern read %u/down/%c", "pattern read %u/#", "lets vixio read vixio/"),
        ("pattern write %u/up/%c", "pattern write %u/up/+", "lets vixio write vixio/up/"),
        ("pattern write %u/up/%c", "pattern write %u/#", "lets vixio write vixio/"),
        (
            "pattern read %u/down/%c",
            "pattern read %u/down/%c\npattern read %u/up/+",
            "read vixio/up",
        ),
    ],
)
async def test_a_mistake_in_the_rules_is_found(
    folder: Path, old: str, new: str, message: str
) -> None:
    assert old in RULES
    with pytest.raises(ConfigError, match=message):
        await tried(folder, RULES.replace(old, new))


@pytest.mark.parametrize(
    ("setting", "who"), [("password", "as the server"), ("device_password", "as a device")]
)
async def test_a_wrong_password_is_said(folder: Path, setting: str, who: str) -> None:
    with pytest.raises(ConfigError, match=f"{who}.*the user or the password is wrong"):
        await tried(folder, None, **{setting: "another"})


async def test_a_broker_that_is_not_there_is_said(folder: Path) -> None:
    broker = Mosquitto(folder)
    with pytest.raises(ConfigError, match=r"cannot connect to the broker mqtt://127\.0\.0\.1"):
        await try_broker(BrokerSection.model_validate(broker.section()))
