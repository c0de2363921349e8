"""Weather from Open-Meteo: https://open-meteo.com/en/docs and …/docs/geocoding-api."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from vixio.core.errors import UNAVAILABLE, ToolError
from vixio.core.language_tags import primary
from vixio.core.messages import message
from vixio.core.tools.context import ToolContext
from vixio.core.tools.types import JsonObject
from vixio.tools.ready.service import Kept, Service, as_json, number_in
from vixio.tools.ready.settings import WeatherSettings

DAYS: Final = 7
"""Of a forecast, today among them."""

PLACES_S: Final = 7 * 86_400.0
"""Seconds for which it is known where a place is."""

# https://open-meteo.com/en/docs, "WMO Weather interpretation codes".
_SKIES: Final = (
    ("clear", {0, 1}),
    ("cloudy", {2}),
    ("overcast", {3}),
    ("fog", {45, 48}),
    ("drizzle", {51, 53, 55}),
    ("ice", {56, 57, 66, 67}),
    ("rain", {61, 63, 65}),
    ("snow", {71, 73, 75, 77, 85, 86}),
    ("showers", {80, 81, 82}),
    ("thunder", {95, 96, 99}),
)

_CURRENT: Final = "temperature_2m,apparent_temperature,weather_code,wind_speed_10m"
_DAILY: Final = (
    "weather_code,temperature_2m_max,temperature_2m_min,precipitation_probability_max,"
    "sunrise,sunset"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where it is, in degrees; ``name`` in the language that it was asked for in."""

    name: str
    region: str
    country: str
    latitude: float
    longitude: float


class Weather:
    """The tool ``get_weather``."""

    def __init__(self, settings: WeatherSettings) -> None:
        self._settings = settings
        self.service = Service("weather", settings.timeout)
        self._places: Kept[Place] = Kept(PLACES_S)
        self._forecasts: Kept[Mapping[str, Any]] = Kept(settings.keep)

    async def get_weather(
        self, context: ToolContext, place: str = "", in_days: int = 0
    ) -> JsonObject:
        """Get the weather now and the forecast of a day.

        Args:
            place: A town, such as Paris or "Paris, Texas"; empty: where the user is.
            in_days: 0 for now and today, 1 for tomorrow, up to 6.
        """
        language = context.language
        # The place of a device may be a room; then it is where the settings say.
        given = [place] if place.strip() else [context.place, self._settings.place]
        wanted = [each.strip() for each in given if each.strip()]
        try:
            where = None
            for each in wanted:
                where = where or await self._place(each, primary(language) or "en")
            if where is None:
                key = "weather_unknown" if place.strip() else "weather_where"
                values = {"place": place.strip()[:60]} if place.strip() else {}
                raise ToolError(UNAVAILABLE, message(key, language, **values))
            forecast = await self._forecasts.get(
                (where.latitude, where.longitude), lambda: self._forecast(where)
            )
            told = _told(forecast, min(max(in_days, 0), DAYS - 1))
        except ToolError as error:
            if error.type == UNAVAILABLE:
                raise
            raise self.service.unreachable(error, language) from None
        told = {"place": where.name, "region": where.region, "country": where.country, **told}
        told["units"] = self._settings.units
        told["spoken"] = _spoken(told, in_days, language)
        degrees = told.get("now", told)
        shown = degrees.get("temperature", told["high"])
        sky = message(_sky(degrees["sky"]), language)
        context.show(f"{where.name} {shown}°, {sky}")
        return told

    async def look(self) -> bool:
        """Ask for the weather of one place. Raises ToolError, also for one that is not known."""
        where: Place | None = Place("", "", "", 0.0, 0.0)
        if name := self._settings.place:
            where = await self._place(name, "en") or await self._place(name, "zh")
        if where is None:
            raise ToolError("unknown_place", f"no place is called {name!r}")
        await self._forecasts.get((where.latitude, where.longitude), lambda: self._forecast(where))
        return True

    async def close(self) -> None:
        """Close everything."""
        await self._places.close()
        await self._forecasts.close()
        await self.service.close()

    async def _place(self, text: str, language: str) -> Place | None:
        key = " ".join(text.casefold().split())[:100], language
        try:
            return await self._places.get(key, lambda: self._located(text[:100], language))
        except _Unknown:
            return None

    async def _located(self, text: str, language: str) -> Place:
        # The service knows names of towns alone; what follows a comma tells several of them apart.
        name, *more = (part.strip() for part in text.replace("，", ",").split(","))
        answer = await self.service.get(
            f"{self._settings.geocoding_url.rstrip('/')}/v1/search",
            name=name,
            count=10,
            language=language,
            format="json",
            **self._key(),
        )
        value = await as_json(answer)
        results = value.get("results", []) if isinstance(value, dict) else None
        if not isinstance(results, list):
            raise ToolError("failed", "the service's answer is not as expected")
        found = [each for each in results if isinstance(each, dict)]
        if not found:
            raise _Unknown
        best = next((each for each in found if more and _is_in(each, more)), found[0])
        return Place(
            str(best.get("name") or name)[:80],
            str(best.get("admin1") or "")[:80],
            str(best.get("country") or "")[:80],
            number_in(best, "latitude"),
            number_in(best, "longitude"),
        )

    async def _forecast(self, where: Place) -> Mapping[str, Any]:
        imperial = self._settings.units == "imperial"
        answer = await self.service.get(
            f"{self._settings.forecast_url.rstrip('/')}/v1/forecast",
            latitude=where.latitude,
            longitude=where.longitude,
            current=_CURRENT,
            daily=_DAILY,
            timezone="auto",
            forecast_days=DAYS,
            temperature_unit="fahrenheit" if imperial else "celsius",
            wind_speed_unit="mph" if imperial else "kmh",
            **self._key(),
        )
        value = await as_json(answer)
        if not isinstance(value, dict):
            raise ToolError("failed", "the service's answer is not as expected")
        _told(value, 0)  # what cannot be read is not kept
        return value

    def _key(self) -> dict[str, str]:
        key = self._settings.api_key
        return {} if key is None else {"apikey": key.get_secret_value()}


class _Unknown(Exception):
    """There is no place of that name."""


def _is_in(result: Mapping[str, Any], parts: Sequence[str]) -> bool:
    known = {
        str(result.get(key, "")).casefold()
        for key in ("country", "country_code", "admin1", "admin2", "admin3")
    }
    return any(part.casefold() in known for part in parts)


def _told(forecast: Mapping[str, Any], in_days: int) -> JsonObject:
    """Return the day, and for today what it is now. Raises ToolError."""
    current, daily = forecast.get("current"), forecast.get("daily")
    if not isinstance(current, dict) or not isinstance(daily, dict):
        raise ToolError("failed", "the service's answer is not as expected")
    offset = timedelta(seconds=number_in(forecast, "utc_offset_seconds"))
    wanted = (datetime.now(UTC) + offset).date() + timedelta(days=in_days)
    days = daily.get("time")
    try:
        index = list(days or ()).index(wanted.isoformat())
    except ValueError:  # a forecast of another day: a clock is wrong, or it is just midnight
        index = in_days
    day = {key: _item(values, index) for key, values in daily.items()}
    rain = day.get("precipitation_probability_max")
    told: JsonObject = {
        "date": _iso(day.get("time"), wanted),
        "sky": _sky_of(number_in(day, "weather_code")),
        "low": round(number_in(day, "temperature_2m_min")),
        "high": round(number_in(day, "temperature_2m_max")),
    }
    if isinstance(rain, int | float):
        told["rain_percent"] = round(rain)
    for key in ("sunrise", "sunset"):
        if isinstance(day.get(key), str):
            told[key] = day[key][-5:]
    if in_days == 0:
        told["now"] = {
            "temperature": round(number_in(current, "temperature_2m")),
            "feels_like": round(number_in(current, "apparent_temperature")),
            "sky": _sky_of(number_in(current, "weather_code")),
            "wind": round(number_in(current, "wind_speed_10m")),
        }
    return told


def _item(values: Any, index: int) -> Any:  # noqa: ANN401 - JSON
    return values[index] if isinstance(values, list) and index < len(values) else None


def _iso(value: Any, wanted: date) -> str:  # noqa: ANN401 - JSON
    return value if isinstance(value, str) else wanted.isoformat()


def _sky_of(code: float) -> str:
    return next((name for name, codes in _SKIES if int(code) in codes), "overcast")


def _sky(name: str) -> str:
    return f"sky_{name}"


def _spoken(told: JsonObject, in_days: int, language: str) -> str:
    values = {"place": told["place"], "low": told["low"], "high": told["high"]}
    sky = message(_sky(told["sky"]), language)
    if "now" in told:
        now = told["now"]
        sky = message(_sky(now["sky"]), language)
        words = message("weather_now", language, sky=sky, degrees=now["temperature"], **values)
    else:
        day = message("tomorrow", language) if in_days == 1 else told["date"]
        words = message("weather_day", language, sky=sky, day=day, **values)
    rain = told.get("rain_percent", 0)
    if rain >= 20:  # %, below which nobody takes an umbrella
        words += f" {message('weather_rain', language, percent=rain)}"
    return words
