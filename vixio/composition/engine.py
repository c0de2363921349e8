"""Makes the engine of a session: the cascade of stations with its profile's providers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache, partial
from weakref import WeakKeyDictionary
from zoneinfo import ZoneInfo

from vixio.audio.loudness import VoiceLevels
from vixio.composition.choices import Choices
from vixio.composition.profiles import LiveProfiles
from vixio.composition.providers import ProviderSet
from vixio.composition.server_providers import ServerProviders
from vixio.core.device import Device, DeviceProfile
from vixio.core.instructions import Instructions, Surroundings
from vixio.core.pipeline import Pipeline
from vixio.core.session.engine import Engine
from vixio.core.station import Station
from vixio.core.tools.toolset import ToolSet
from vixio.core.turns.endpointing import AdaptiveSilences, EndpointingFactory
from vixio.providers.agent import AgentRequest, SystemPrompt
from vixio.providers.pool.loader import ProviderLoader
from vixio.providers.tts import TTSProvider
from vixio.settings import Settings
from vixio.settings.station import StationSection
from vixio.stations.agent import AgentStation
from vixio.stations.asr import ASRStation, KeepSound
from vixio.stations.phrase_audio import PhraseAudio
from vixio.stations.registry import Place, arrange
from vixio.stations.sentence_aggregator import SentenceAggregatorStation
from vixio.stations.text_aggregator import TextAggregatorStation
from vixio.stations.tts import TTSStation, VoiceSpeed
from vixio.stations.turn_detector import TurnDetectorStation
from vixio.stations.vad import VADStation
from vixio.tools.moment import Moments, Patience


class LeasedPipeline(Pipeline):
    """A pipeline that gives its providers back when it is closed."""

    def __init__(self, stations: Sequence[Station], providers: ProviderSet) -> None:
        super().__init__(stations)
        self._providers = providers

    async def close(self) -> None:
        """Close the stations, then release the providers."""
        try:
            await super().close()
        finally:
            self._providers.release()


class EngineBuilder:
    """The engine factory of a server. ``settings`` may be replaced; later engines follow them.

    ``endpointing`` makes the policy of each engine; None: that of the settings. ``keep_sound``
    takes what is said to devices whose profile keeps it. ``moments`` says what profiles
    want to know of the moment; None: nothing is asked.
    """

    def __init__(
        self,
        settings: Settings,
        providers: ServerProviders,
        profiles: LiveProfiles,
        endpointing: EndpointingFactory | None = None,
        keep_sound: KeepSound | None = None,
        moments: Moments | None = None,
    ) -> None:
        """Raises ConfigError when a station of the settings cannot be made."""
        make_stations(settings.stations)  # what cannot be made ends the start, not each session
        self.settings = settings
        self._endpointing = endpointing
        self._keep_sound = keep_sound
        self._moments = moments
        listening = settings.listening
        self._silences = AdaptiveSilences(listening.end_silence_ms / 1000)
        self._by_words = listening.end_of_turn == "words"
        self._pool = providers.pool
        opinion = providers.second_opinion
        self._opinion = opinion.unfinished if opinion is not None else None
        self._profiles = profiles
        self._levels: WeakKeyDictionary[ProviderLoader[TTSProvider], VoiceLevels] = (
            WeakKeyDictionary()
        )
        self._phrases: WeakKeyDictionary[ProviderLoader[TTSProvider], PhraseAudio] = (
            WeakKeyDictionary()
        )
        self._speeds: WeakKeyDictionary[ProviderLoader[TTSProvider], VoiceSpeed] = (
            WeakKeyDictionary()
        )

    async def __call__(self, device: Device, profile: DeviceProfile, tools: ToolSet) -> Engine:
        """Make the engine; a provider that is still loading is replaced by a stand-in."""
        others = make_stations(self.settings.stations)
        providers = ProviderSet(self._pool, self.choices(profile))
        try:
            await providers.warm_up()
            agent = providers.new_agent()
            await agent.initialize(system_prompt=self.system_prompt(profile))
        except BaseException:
            providers.release()
            raise
        settings, timeouts = self.settings, self.settings.time_limits()
        levels = self._levels.setdefault(providers.tts.loader, VoiceLevels())
        standard: list[Station] = [
            VADStation(providers.detector(), settings.vad_settings()),
            TurnDetectorStation(settings.turn_settings(), self._policy_of(device), self._opinion),
            ASRStation(
                providers.recogniser(),
                timeouts,
                watched=providers.asr.loader.watched,
                early=settings.listening.think_ms > 0,
                corrections=profile.corrections or settings.assistant.corrections,
                keep=self._keep_sound if profile.keep_sound_days else None,
            ),
            TextAggregatorStation(),
            AgentStation(
                agent,
                timeouts,
                follow_tools=True,
                first_apology=_first_apology(agent.name),
            ),
            SentenceAggregatorStation(),
            TTSStation(
                providers.voice(),
                timeouts,
                loudness=settings.output.loudness,
                levels=levels,
                watched=providers.tts.loader.watched,
                phrases=self._phrases.setdefault(providers.tts.loader, PhraseAudio()),
                normalise=settings.output.normalise,
                speed=self._speeds.setdefault(providers.tts.loader, VoiceSpeed()),
                pronunciations=profile.pronunciations or settings.assistant.pronunciations,
            ),
        ]
        return LeasedPipeline(_in_order(standard, others), providers)

    def _policy_of(self, device: Device) -> EndpointingFactory | None:
        if self._endpointing is None and self._by_words:
            return partial(self._silences.policy, device.id)
        return self._endpointing

    def choices(self, profile: DeviceProfile) -> Choices:
        """Return what the providers of a profile are made from.

        Raises ConfigError when the profile is not valid: its providers or its instructions.
        """
        return self._profiles.defaults.over(profile)

    def system_prompt(self, profile: DeviceProfile) -> SystemPrompt:
        """Return the instructions of a profile's agent."""
        surroundings = Surroundings(profile.name, profile.place, profile.user)

        def prompt(request: AgentRequest) -> str:
            assistant = self.settings.assistant
            text = profile.instructions or assistant.instructions
            instructions = _instructions(text, surroundings, assistant.time_zone)
            return instructions.for_turn(request.language, request.emotion)

        context = self.settings.assistant.context if profile.context is None else profile.context
        moments, patience = self._moments, Patience()
        if moments is None or not context.sources:
            return prompt

        async def prompt_of_the_moment(request: AgentRequest) -> str:
            words = await moments.words(context.sources, patience, self._time_of_day)
            return f"{prompt(request)}\n{words}" if words else prompt(request)

        return prompt_of_the_moment

    def _time_of_day(self, at: float) -> str:
        """Return a time in the assistant's zone, of seconds since 1970."""
        zone = self.settings.assistant.time_zone
        return f"{datetime.fromtimestamp(at, ZoneInfo(zone) if zone else None):%H:%M}"


def _first_apology(agent: str) -> Callable[[str], str] | None:
    """Return what the first apology is looked up by: only the phrase book has one of its own."""
    if agent != "phrasebook":
        return None
    from vixio.language.phrasebook import first_apology  # not while the server starts

    return first_apology


Others = Sequence[tuple[Place, Station]]
"""Stations of other packages, in the order of the settings."""


def make_stations(sections: Sequence[StationSection]) -> Others:
    """Return the stations of the settings for one session. Raises ConfigError."""
    return [(section.place(), section.create()) for section in sections]


def _in_order(standard: Sequence[Station], others: Others) -> list[Station]:
    if not others:
        return list(standard)
    made = {station.name: station for station in standard}
    made |= {place.name: station for place, station in others}
    return [made[name] for name in arrange([place for place, _ in others])]


@lru_cache(256)
def _instructions(text: str, surroundings: Surroundings, zone: str) -> Instructions:
    """Return the instructions of a profile; sessions with equal ones share them."""
    return Instructions(text, surroundings, zone=ZoneInfo(zone) if zone else None)
