"""Who listens on a port, from the tables of Linux."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from vixio.transports.admission.port_errors import holder_of, port_error

linux = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="other systems do not tell")

LISTENS = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
"""


@linux
def test_a_program_is_named_without_its_arguments(tmp_path: Path) -> None:
    script = tmp_path / "my_service.py"
    script.write_text(LISTENS, encoding="utf-8")
    command = [sys.executable, str(script), "--password", "secret"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        assert holder_of(port) == f"process {process.pid} (my_service.py)"
        assert process.stdin is not None
        process.stdin.close()
        process.wait(30)
        assert holder_of(port) == "", "it has ended"


@linux
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_both_families(family: socket.AddressFamily) -> None:
    try:
        listener = socket.create_server(("localhost", 0), family=family)
    except OSError as error:
        pytest.skip(f"this machine has no {family.name} ({error.strerror})")
    with listener:
        assert holder_of(listener.getsockname()[1]).startswith(f"process {os.getpid()} (")


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    assert holder_of(80, tmp_path) == ""


@linux
def test_the_error_names_it_where_it_is_known() -> None:
    in_use = OSError(errno.EADDRINUSE, "in use")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        known = str(port_error("127.0.0.1", port, "port", in_use))
    unknown = str(port_error("127.0.0.1", port, "port", in_use))
    rest = ": stop it, or choose another port (--port N, or server.port in the settings)"
    assert known.startswith(f"port {port} of 127.0.0.1 is in use by process {os.getpid()} (")
    assert known.endswith(rest)
    assert unknown.endswith(f"is in use, by another program or a Vixio that still runs{rest}")
