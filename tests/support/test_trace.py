"""The reader of strace's lines: what counts as a contact."""

from __future__ import annotations

import pytest

from tests.support.trace import TraceReader


def escaped(text: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text)


def fd(number: int = 7, socket: bytes = b"socket:[1]") -> str:
    return f"{number}<{escaped(socket)}>"


def inet(host: str, port: int) -> str:
    address = f'inet_addr("{escaped(host.encode())}")'
    return f"{{sa_family=AF_INET, sin_port=htons({port}), sin_addr={address}}}, 16"


def inet6(host: str, port: int) -> str:
    address = f'inet_pton(AF_INET6, "{escaped(host.encode())}", &sin6_addr)'
    return (
        f"{{sa_family=AF_INET6, sin6_port=htons({port}), sin6_flowinfo=htonl(0), {address}, "
        "sin6_scope_id=0}, 28"
    )


def unix(path: str) -> str:
    return f'{{sa_family=AF_UNIX, sun_path="{escaped(path.encode())}"}}, 110'


def read(*lines: str) -> list[str]:
    reader = TraceReader()
    for line in lines:
        reader.feed(f"{line}\n" if line.startswith("9") else f"41 {line}\n")
    return reader.contacts


QUERY = escaped(b"\x12\x34\x01\0\0\1\0\0\0\0\0\0\6vendor\7example\0\0\1\0\1")
DATAGRAM = f"socket(AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_IP) = {fd()}"
STREAM = f"socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = {fd()}"


@pytest.mark.parametrize(
    "line",
    [
        f"connect({fd()}, {inet('127.0.0.1', 8000)}) = 0",
        f"connect({fd()}, {inet('127.0.1.1', 80)}) = -1 EINPROGRESS (Operation now in progress)",
        f"connect({fd()}, {inet6('::1', 8000)}) = 0",
        f"connect({fd()}, {inet6('::ffff:127.0.0.1', 8000)}) = 0",
        f'connect({fd()}, {{sa_family=AF_UNSPEC, sa_data="\\x00\\x00"}}, 16) = 0',
        f"connect({fd()}, {unix('/var/run/nscd/socket')}) = -1 ENOENT (No such file or directory)",
        f"connect({fd()}, {unix('/run/vixio.sock')}) = 0",
        f'sendto({fd()}, "{QUERY}", 32, 0, NULL, 0) = 32',
        f"sendto({fd()}, [{{nlmsg_len=20}}], 20, 0, {{sa_family=AF_NETLINK, nl_pid=0}}, 12) = 20",
    ],
)
def test_what_stays_on_the_machine_is_no_contact(line: str) -> None:
    assert read(STREAM, line) == []


@pytest.mark.parametrize(
    ("line", "contact"),
    [
        (f"connect({fd()}, {inet('192.0.2.1', 443)}) = -1 ENETUNREACH (…)", "192.0.2.1 port 443"),
        (f"connect({fd()}, {inet('192.0.2.1', 9)}) = 0", "192.0.2.1 port 9"),  # a stream
        (f"connect({fd()}, {inet6('2001:db8::1', 443)}) = 0", "2001:db8::1 port 443"),
        (f"connect({fd()}, {inet6('::ffff:192.0.2.1', 80)}) = 0", "::ffff:192.0.2.1 port 80"),
        (f"connect({fd()}, {inet('127.0.0.53', 53)}) = 0", "the name server 127.0.0.53"),
        (
            f"connect({fd()}, {unix('/var/run/nscd/socket')}) = 0",
            "names, of the program behind /var/run/nscd/socket",
        ),
        (
            f'sendto({fd()}, "\\x78", 1, 0, {inet("224.0.0.251", 5353)}) = 1',
            "224.0.0.251 port 5353",
        ),
        (
            f"sendmsg({fd()}, {{msg_name={inet('192.0.2.3', 9)}, msg_namelen=16}}, 0) = 1",
            "192.0.2.3 port 9",
        ),
        (f'sendto({fd()}, "\\x78", 1, 0, {{sa_family=AF_PACKET}}, 20) = 1', "AF_PACKET"),
        ("io_uring_setup(8, {flags=0}) = 9", "io_uring, which cannot be traced"),
    ],
)
def test_what_leaves_it_is_one(line: str, contact: str) -> None:
    (found,) = read(STREAM, line)
    assert contact in found


def test_a_name_is_read_from_a_query_on_a_connected_socket() -> None:
    query = f'[{{msg_hdr={{msg_name=NULL, msg_iov=[{{iov_base="{QUERY}", iov_len=32}}]}}}}], 1'
    assert read(
        DATAGRAM,
        f"connect({fd()}, {inet('198.51.100.53', 53)}) = 0",
        f"sendmmsg({fd()}, {query}, MSG_NOSIGNAL) = 1",
    ) == ["the name server 198.51.100.53", "the name vendor.example"]


def test_a_call_that_another_process_interrupts_is_put_together() -> None:
    assert read(
        f"connect({fd()}, {unix('/run/systemd/resolve/io.systemd.Resolve')} <unfinished ...>",
        f"99 connect({fd(8, b'socket:[2]')}, {inet('127.0.0.1', 80)}) = 0",
        "<... connect resumed>) = 0",
    ) == ["names, of the program behind /run/systemd/resolve/io.systemd.Resolve"]


def test_a_call_that_never_ends_counts() -> None:
    line = f"connect({fd()}, {inet('192.0.2.1', 443)} <unfinished ...>"
    assert read(STREAM, line) == ["192.0.2.1 port 443"]


def test_asking_for_the_route_is_no_contact_and_sending_on_it_is_one() -> None:
    asked = f"connect({fd()}, {inet('192.0.2.1', 9)}) = 0"
    assert read(DATAGRAM, asked) == []
    sent = f'sendto({fd()}, "\\x78", 1, 0, NULL, 0) = 1'
    assert read(DATAGRAM, asked, sent) == ["192.0.2.1 port 9"]
