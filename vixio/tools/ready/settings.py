"""The section ``tools.ready``: a list of names, or of one-key maps with the tool's options."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SecretStr, model_validator

from vixio.core.text_forms import of_form
from vixio.tools.source_settings import Name, Seconds, SourceSettings

_ADDRESS = r"https?://[^\s/?#@]+(/[^\s?#]*)?"
_url = of_form(_ADDRESS, "an address such as https://example.org")
_feed = of_form(r"https?://[^\s/@]+\S*", "the address of a feed, https://…")

Url = Annotated[str, AfterValidator(_url)]
Feed = Annotated[str, AfterValidator(_feed)]


def _calendar(value: SecretStr) -> SecretStr:
    if not re.fullmatch(r"(https?|webcal)://[^\s/]+\S*", value.get_secret_value()):
        raise ValueError("expected the address of a calendar in the iCal format, https://…")
    return value


class WeatherSettings(SourceSettings):
    """Options of ``weather``: Open-Meteo."""

    place: str = ""
    """Where no place is asked for and the device has none."""
    units: Literal["metric", "imperial"] = "metric"
    forecast_url: Url = "https://api.open-meteo.com"
    geocoding_url: Url = "https://geocoding-api.open-meteo.com"
    api_key: SecretStr | None = Field(default=None, description="Of a paid account: `apikey`")
    timeout: Seconds = 5.0
    keep: Seconds = 900.0
    """For which a forecast is used again."""


class NewsSettings(SourceSettings):
    """Options of ``news``."""

    feeds: dict[Name, tuple[Feed, ...]] = Field(default_factory=dict)
    """RSS or Atom, by language; ``*``: any. Without: the ones that come with Vixio."""
    count: int = Field(default=5, ge=1, le=20)
    """Headlines that are told."""
    timeout: Seconds = 8.0
    keep: Seconds = 900.0


class PlainSettings(SourceSettings):
    """Options of ``calculator`` and ``dates``: none."""


class CalendarSettings(SourceSettings):
    """Options of ``calendar``."""

    addresses: tuple[Annotated[SecretStr, AfterValidator(_calendar)], ...] = Field(
        min_length=1, max_length=20
    )
    """Of calendars in the iCal format. Whoever has such an address reads the calendar."""
    timeout: Seconds = 10.0
    keep: Seconds = 600.0

    def addresses_given(self) -> list[str]:
        """Return the addresses themselves."""
        return [address.get_secret_value() for address in self.addresses]


class SearchSettings(SourceSettings):
    """Options of ``search``."""

    service: Literal["searxng", "tavily"] = "tavily"
    base_url: Annotated[str, AfterValidator(lambda url: _url(url) if url else url)] = ""
    """Of SearXNG, whose settings must allow the format json; Tavily has one."""
    api_key: SecretStr | None = Field(default=None, description="Default: TAVILY_API_KEY")
    results: int = Field(default=5, ge=1, le=10)
    timeout: Seconds = 10.0
    keep: Seconds = 600.0

    @model_validator(mode="after")
    def _has_address(self) -> SearchSettings:
        if self.service == "searxng" and not self.base_url:
            raise ValueError("base_url: SearXNG is a service of your own: give its address")
        return self


class ReadySettings(SourceSettings):
    """Options of the type ``ready``. None: the tool is off."""

    weather: WeatherSettings | None = None
    news: NewsSettings | None = None
    calculator: PlainSettings | None = None
    dates: PlainSettings | None = None
    calendar: CalendarSettings | None = None
    search: SearchSettings | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_list(cls, data: Any) -> Any:  # noqa: ANN401 - what stands in the file
        if isinstance(data, dict | ReadySettings):
            return data
        found: dict[str, Any] = {}
        for entry in data if isinstance(data, list | tuple) else [None]:
            given = {entry: {}} if isinstance(entry, str) else entry
            if not isinstance(given, dict) or len(given) != 1:
                raise ValueError(
                    "expected names, and for one with options its name and these: "
                    "[news, {weather: {place: Berlin}}]"
                )
            (name, options) = next(iter(given.items()))
            if name in found:
                raise ValueError(f"{name} stands there twice: leave one out")
            found[name] = {} if options is None else options
        return found

    def __bool__(self) -> bool:
        """Whether any is on."""
        return any(value is not None for _, value in self)
