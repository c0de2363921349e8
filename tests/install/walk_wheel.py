"""The wheel as users install it, by uv, on each Python here: no compiler, libopus or checkout."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.first_hour.house import READY, House

ROOT = Path(__file__).parents[2]

WITHOUT_LIBOPUS = """\
# In a namespace of its own, whose end ends it: the system's libopus is an empty file that the
# linker's cache does not list.
for library in $(ldconfig -p | sed -n 's/.*libopus[.]so.* => //p'); do
    mount --bind /dev/null "$library"
done
ldconfig -X -C "$HOME/ld.so.cache" 2>/dev/null # it says that the file is empty
mount --bind "$HOME/ld.so.cache" /etc/ld.so.cache
exec "$@"
"""
NAMESPACE = "unshare --mount" if os.getuid() == 0 else "unshare --map-root-user --mount"
LOOK = "import ctypes.util; print('found', ctypes.util.find_library('opus'))"


def pythons() -> Iterator[str]:
    """Yield one interpreter of each version that Vixio is meant for, where this machine has it."""
    for minor in range(11, 15):
        name = f"python3.{minor}"
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
        there = [*map(str, sorted(pyenv.glob(f"3.{minor}.*/bin/{name}"))), shutil.which(name)]
        if sys.version_info[:2] == (3, minor):
            there.append(sys.executable)
        yield from [each for each in there if each][:1]


def loaded(pid: int) -> str:
    """Return the files that a process has mapped."""
    return Path(f"/proc/{pid}/maps").read_text("utf-8")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A user's empty home and folder."""
    house = House(tmp_path / "here", tmp_path / "home")
    house.root.mkdir()
    house.home.mkdir()
    yield house
    shutil.rmtree(tmp_path)  # an environment has 350 MB


@pytest.mark.parametrize("python", [*pythons()])
async def test_the_wheel_hears_and_speaks(house: House, python: str) -> None:
    """A conversation with what `uv tool install` has installed, from wheels and opuslib alone."""
    (wheel,) = ROOT.glob("dist/vixio-*.whl")
    tools = {name: value for name, value in os.environ.items() if name.startswith("UV_")}
    # Every build of a C extension fails.
    tools |= {"CC": "/bin/false", "CXX": "/bin/false"}
    await house.run(f"{os.environ['UV']} tool install --python {python} {wheel}", more=tools)
    environment = house.home / ".local/share/uv/tools/vixio/bin"
    hidden = house.home / "without_libopus.sh"
    hidden.write_text(WITHOUT_LIBOPUS, encoding="utf-8")
    start = f"{NAMESPACE} sh {hidden}"
    assert (await house.run(f'{start} {environment}/python -c "{LOOK}"')).text == "found None\n"

    address = house.write("vixio.yaml", {})
    serve = f"{start} {house.home}/.local/bin/vixio serve --config vixio.yaml"
    async with house.at_terminal(serve) as person:
        await person.expect(READY)
        async with address.device() as device:
            reply = await device.ask("what time is it")
            assert "time is it" in (reply.stt or "").lower(), reply
            assert reply.sentences
            assert reply.played_ms > 500
        assert "opuslib_next/_native/libopus.so" in loaded(person.process.pid)
        await person.interrupt()
        assert await person.left() == 0, person.seen
    assert "Traceback" not in person.seen
    assert "WARNING" not in person.seen
