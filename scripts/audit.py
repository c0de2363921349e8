"""Look the locked packages up among known vulnerabilities: audit.py LOCKFILE...

pip-audit runs in an environment of its own, which is thrown away. It needs a network. Exit status:
0 nothing known, 1 something is, 2 it could not be found out, for whichever package. (pip-audit
itself is content with packages that it could not look up.)
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

TIMEOUT_S = 300.0
SERVICES = ("pypi", "osv")
"""Where pip-audit can ask; the second is asked when the first does not answer."""


def main(locks: list[str]) -> int:
    """Audit ``locks``; return the exit status."""
    with tempfile.TemporaryDirectory(prefix="vixio-audit-") as directory:
        venv.create(directory, with_pip=True)
        python = str(Path(directory) / "bin" / "python")
        install = [python, "-m", "pip", "install", "--quiet", "--no-input", "pip-audit"]
        if not run(install).ok:
            return unknown("pip-audit could not be installed")
        problems = []
        for service in SERVICES:
            answer = run([python, "-m", "pip_audit", *options(service, locks)])
            found = read(answer.output)
            skipped = [package["name"] for package in found if "skip_reason" in package]
            if not found:
                problems.append(f"{service} does not answer")
            elif len(skipped) == len(found):
                problems.append(f"{service} knows none of the {len(found)} packages")
            elif skipped:
                problems.append(f"{service} does not know {', '.join(skipped)}")
            else:
                return report(found, service)
        return unknown(", ".join(problems))


def options(service: str, locks: list[str]) -> list[str]:
    """Return pip-audit's options. Nothing is resolved: a lock is complete as it is."""
    files = [part for lock in locks for part in ("--requirement", lock)]
    quiet = ["--progress-spinner", "off", "--format", "json"]
    return ["--vulnerability-service", service, "--no-deps", "--disable-pip", *quiet, *files]


class Answer:
    """What a command printed, and whether it did what it should."""

    def __init__(self, ok: bool, output: str) -> None:
        self.ok = ok
        self.output = output


def run(command: list[str]) -> Answer:
    """Run ``command`` to its end, or to that of our patience."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Answer(False, "")
    return Answer(done.returncode == 0, done.stdout)


def read(output: str) -> list[dict[str, Any]]:
    """Return the packages in pip-audit's answer; none if it is no answer."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, TypeError, KeyError):
        return []
    return packages if isinstance(packages, list) else []


def report(packages: list[dict[str, Any]], service: str) -> int:
    """Say what is known of ``packages``."""
    hit = [package for package in packages if package["vulns"]]
    for package in hit:
        for entry in package["vulns"]:
            fixed = ", ".join(entry["fix_versions"]) or "none yet"
            print(f"audit: {package['name']} {package['version']}: {entry['id']}, fixed in {fixed}")
    print(f"audit: {len(packages)} packages asked at {service}, {len(hit)} with vulnerabilities")
    return 1 if hit else 0


def unknown(problem: str) -> int:
    """Say that nothing can be said."""
    print(f"audit: NOT DONE, it needs a network: {problem}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
