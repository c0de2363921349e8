"""A process of its own that floods a port until it is killed: flooder.py PORT KIND [SOURCE].

It comes back whenever it is closed or refused, as another device each time, and prints a line for
each connection that was closed on it. KIND: audio, tiny, json, ping, connects.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time

HELLO = json.dumps({"type": "hello", "audio_params": {"format": "opus"}}).encode()
PAYLOADS = {
    "audio": (0x2, b"\x58" + bytes(179)),
    "tiny": (0x2, b"\x58"),
    "json": (0x1, b'{"type":"listen","state":"start","mode":"auto"}'),
    "ping": (0x9, b"12345678"),
}


def frame(opcode: int, payload: bytes) -> bytes:
    head = bytes([0x80 | opcode])
    size = len(payload)
    head += bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + size.to_bytes(2, "big")
    return head + bytes(4) + payload  # a mask of zeros leaves the payload as it is


def upgrade(sock: socket.socket) -> bytes:
    sock.sendall(
        b"GET /xiaozhi/v1/ HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        b"Device-Id: flood-" + os.urandom(4).hex().encode() + b"\r\n\r\n"
    )
    return sock.recv(4096)


def flood(port: int, kind: str, source: str) -> str:
    with socket.create_connection(("127.0.0.1", port), 5, source_address=(source, 0)) as sock:
        if kind == "connects":
            return upgrade(sock)[:12].decode()
        answer = upgrade(sock)
        if b" 101 " not in answer:
            return answer[:12].decode()
        sock.sendall(frame(0x1, HELLO))
        data = frame(*PAYLOADS[kind]) * 500
        sock.settimeout(0.5)
        try:
            while True:
                sock.sendall(data)
        except TimeoutError:
            return "stalled"  # nothing is taken any more
        except OSError:
            return "closed"


def main() -> None:
    port, kind = int(sys.argv[1]), sys.argv[2]
    source = sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1"
    while True:
        try:
            sys.stdout.write(flood(port, kind, source) + "\n")
        except OSError as error:
            sys.stdout.write(type(error).__name__ + "\n")
            time.sleep(0.01)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
