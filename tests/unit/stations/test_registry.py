"""Stations of other packages: where they stand, and every mistake in one line."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field

from tests.support.entry_points import Installed, site_of
from vixio.composition.engine import make_stations
from vixio.core.chunk import Chunk
from vixio.core.errors import ConfigError
from vixio.core.station import ListeningStation, ReplyStation, Station
from vixio.server import Server
from vixio.settings import Settings, load_settings
from vixio.stations.agent import AgentStation
from vixio.stations.asr import ASRStation
from vixio.stations.registry import STANDARD, Place, StationFactory, arrange
from vixio.stations.sentence_aggregator import SentenceAggregatorStation
from vixio.stations.text_aggregator import TextAggregatorStation
from vixio.stations.tts import TTSStation
from vixio.stations.turn_detector import TurnDetectorStation
from vixio.stations.vad import VADStation


class EarSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    gain: float = Field(default=1.0, gt=0)


class Ear(ListeningStation):
    name = "ear"

    def __init__(self, settings: EarSettings) -> None:
        self.settings = settings

    async def feed(self, chunk: Chunk, now: float) -> Sequence[Chunk]:
        return (chunk,)


class Mouth(ReplyStation):
    name = "mouth"

    def run(self, upstream: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
        return upstream


class NoSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _broken(settings: NoSettings) -> Station:
    raise ValueError("its own words, which may be a user's")


def _careful(settings: NoSettings) -> Station:
    raise ConfigError("no file words.txt: put one beside the settings")


EAR = StationFactory(settings_model=EarSettings, station=Ear, create=Ear, before="vad")
MOUTH = StationFactory(
    settings_model=NoSettings, station=Mouth, create=lambda _: Mouth(), after="agent"
)
BROKEN = StationFactory(settings_model=NoSettings, station=Mouth, create=_broken, after="agent")
CAREFUL = StationFactory(settings_model=NoSettings, station=Mouth, create=_careful, after="agent")
OTHER = StationFactory(
    settings_model=NoSettings, station=Mouth, create=lambda _: Ear(EarSettings()), after="agent"
)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    monkeypatch.setitem(sys.modules, "acme_stations", sys.modules[__name__])
    with site_of(tmp_path, "vixio.stations", monkeypatch) as site:
        site.add(
            "acme",
            ear="acme_stations:EAR",
            mouth="acme_stations:MOUTH",
            broken="acme_stations:BROKEN",
            careful="acme_stations:CAREFUL",
            other="acme_stations:OTHER",
            odd="acme_stations:NoSettings",
        )
        yield site


def load(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "vixio.yaml"
    path.write_text(text, encoding="utf-8")
    return load_settings(path, {})


def order(settings: Settings) -> list[str]:
    return arrange([station.place() for station in settings.stations])


def test_the_names_are_those_of_the_stations() -> None:
    classes = (
        VADStation,
        TurnDetectorStation,
        ASRStation,
        TextAggregatorStation,
        AgentStation,
        SentenceAggregatorStation,
        TTSStation,
    )
    assert tuple(each.name for each in classes) == STANDARD
    assert arrange([]) == list(STANDARD)


def test_a_station_stands_where_its_package_says(installed: Installed, tmp_path: Path) -> None:
    settings = load(tmp_path, "stations: [{name: mouth}, {name: ear, gain: 2}]")
    assert order(settings) == ["ear", *STANDARD[:5], "mouth", *STANDARD[5:]]
    (_, mouth), (_, ear) = make_stations(settings.stations)
    assert isinstance(mouth, Mouth)
    assert isinstance(ear, Ear)
    assert ear.settings.gain == 2
    (_, again), _ = make_stations(settings.stations)
    assert again is not mouth, "each session has its own"


@pytest.mark.parametrize(
    ("place", "index"),
    [
        ("after: tts", 7),
        ("before: tts", 6),
        ("after: agent", 5),
        ("before: agent", 4),
        ("after: text_aggregator", 4),
    ],
)
def test_the_settings_say_where_else(
    installed: Installed, tmp_path: Path, place: str, index: int
) -> None:
    assert order(load(tmp_path, f"stations: [{{name: mouth, {place}}}]")).index("mouth") == index


def test_several_keep_their_order() -> None:
    def mouth(name: str, after: str = "", before: str = "") -> Place:
        return Place(name, Mouth, after, before)

    anchors = {"a": "agent", "b": "agent", "c": "a", "d": "agent"}
    after = arrange([mouth(name, anchor) for name, anchor in anchors.items()])
    assert after[4:] == ["agent", "a", "c", "b", "d", "sentences", "tts"]
    before = arrange([mouth("a", before="tts"), mouth("b", before="tts")])
    assert before[5:] == ["sentences", "a", "b", "tts"]
    listening = arrange([Place("x", Ear, before="agent"), Place("y", Ear, after="text_aggregator")])
    assert listening[3:7] == ["text_aggregator", "y", "x", "agent"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[{name: muoth}]",
            (
                ":1: stations[0].name: there is no station 'muoth', did you mean 'mouth'? "
                "(known: broken, careful, ear, mouth, odd, other; packages can add others)"
            ),
        ),
        ("[{gain: 2}]", ":1: stations[0].name: expected the name of a station"),
        ("[{name: odd}]", ":1: stations[0].name: station odd: acme_stations:NoSettings is not a"),
        (
            "[{name: ear, gian: 2}]",
            ":1: stations[0].gian: there is no such key, did you mean 'gain'?",
        ),
        ("[{name: ear, gain: 0}]", ":1: stations[0].gain: expected a number above 0"),
        (
            "[{name: mouth, after: agnt}]",
            (
                ":1: stations[0].after: there is no station 'agnt' here, did you mean 'agent'? "
                "(in order: vad, turn_detector, asr, text_aggregator, agent, sentences, tts)"
            ),
        ),
        (
            "[{name: mouth}, {name: ear, after: agent}]",
            (
                ":1: stations[1].after: ear hears the user, so it stands beside one of these: "
                "vad, turn_detector, asr, text_aggregator"
            ),
        ),
        (
            "[{name: mouth, before: text_aggregator}]",
            (
                ":1: stations[0].before: mouth works on the reply, so it stands beside one of "
                "these: agent, sentences, tts"
            ),
        ),
        (
            "[{name: ear, after: vad, before: asr}]",
            "stations[0]: give `after` or `before`, not both",
        ),
        ("[{name: ear}, {name: ear}]", ":1: stations[1].name: 'ear' is there already"),
        ("{name: ear}", ":1: stations: expected a list"),
    ],
)
def test_a_mistake_is_one_line(
    installed: Installed, tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load(tmp_path, f"stations: {text}")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken", "station broken cannot be made: ValueError at test_registry.py:"),
        ("careful", "station careful: no file words.txt: put one beside the settings"),
        ("other", "station other: its package made a Ear, not a Mouth"),
    ],
)
def test_a_station_that_cannot_be_made_ends_the_start(
    installed: Installed, tmp_path: Path, name: str, message: str
) -> None:
    settings = load(tmp_path, f"stations: [{{name: {name}}}]")
    with pytest.raises(ConfigError) as error:
        Server(settings)
    assert message in str(error.value)
    assert "own words" not in str(error.value)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({}, "needs `after` or `before`"),
        ({"after": "agent", "before": "tts"}, "needs `after` or `before`"),
        ({"after": "mouth"}, "with one of vad, "),
    ],
)
def test_a_factory_has_one_place(place: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        StationFactory(settings_model=NoSettings, station=Mouth, create=lambda _: Mouth(), **place)
    with pytest.raises(ConfigError, match="neither a ListeningStation nor a ReplyStation"):
        StationFactory(
            settings_model=NoSettings, station=Station, create=lambda _: Mouth(), after="agent"
        )
