"""Install packages with pip and say how far it is: pip_install.py COUNT ARGUMENT…

``COUNT``: how many packages there are. ``ARGUMENT…``: those of `pip install`. One line a step goes
to standard error; pip's own lines are shown only when it fails, the last of them. Exit status:
pip's.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

PIP = (sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check")
EVERY = 20
"""Packages from one line to the next."""
SHOWN = 30
"""Lines of pip that are shown when it fails."""

FOUND = re.compile(r"^(Collecting|Processing)\b")
FILE = re.compile(r"^Processing (.+\.whl)$")
SIZE = re.compile(r"^ *(?:Downloading|Using cached) .*\(([0-9.]+) (kB|MB|GB)\)")
BUILDING = re.compile(r"^ *Building wheel for (\S+) .*: started$")
UNITS_MB = {"kB": 0.001, "MB": 1.0, "GB": 1000.0}


def steps(lines: Iterable[str], count: int) -> Iterator[str]:
    """Yield what there is to say, as pip's ``lines`` arrive."""
    found, size_mb = 0, 0.0
    for line in lines:
        if FOUND.match(line):
            found += 1
            if (matched := FILE.match(line)) and (file := Path(matched[1])).is_file():
                size_mb += file.stat().st_size / 1e6
            if found % EVERY == 0 and found < count:
                yield f"{found} of {count} packages, {size_mb:.0f} MB"
        elif matched := SIZE.match(line):
            size_mb += float(matched[1]) * UNITS_MB[matched[2]]
        elif matched := BUILDING.match(line):
            yield f"building {matched[1]} from source"
        elif line.startswith("Installing collected packages"):
            yield f"unpacking {size_mb:.0f} MB" if size_mb >= 1 else "unpacking"


def main(count: int, arguments: list[str]) -> int:
    """Run pip; return its exit status."""
    last: deque[str] = deque(maxlen=SHOWN)

    def lines(process: subprocess.Popen[str]) -> Iterator[str]:
        for line in process.stdout or ():
            last.append(line)
            yield line

    command = [*PIP, "--progress-bar", "off", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for step in steps(lines(process), count):
            print(f"setup:   {step}", file=sys.stderr, flush=True)
    if process.returncode:
        sys.stderr.writelines(last)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
