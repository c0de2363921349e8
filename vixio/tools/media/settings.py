"""Options of the source type ``media``."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from vixio.core.text_forms import of_form
from vixio.tools.source_settings import Name, Seconds, SourceSettings

_address = of_form(r"https?://[^\s/]+\S*", "an address that begins with http:// or https://")
Address = Annotated[str, Field(max_length=2_000), AfterValidator(_address)]


class MediaSettings(SourceSettings):
    """What can be played. Folders are read with all that is in them."""

    folders: tuple[Name, ...] = ()
    """Music: MP3, FLAC, Ogg Vorbis and WAV, and playlists (M3U, PLS)."""
    stories: tuple[Name, ...] = ()
    """The same with stories; the name of a folder in it may be whom they are for."""
    stations: dict[Name, Address] = Field(default_factory=dict)
    """Radio, by the name that users say: a stream of MP3 or Opus, or a playlist with one."""
    podcasts: dict[Name, Address] = Field(default_factory=dict)
    """RSS feeds, by the name that users say; the newest episode is played first."""
    links: bool = True
    """Play audio that other tools return, also from addresses of the public internet."""
    allow_private: bool = False
    """Addresses that tools return, and redirects, may lead into the private network."""
    rescan: Seconds = 300.0
    """How often folders are looked through for changes."""
    stall: Seconds = 8.0
    """For which a stream may send nothing, before it is opened anew."""
    enabled: bool = True
