"""A camera's multipart/form-data, read as it arrives and kept in memory only.

The framework's own form reader writes larger files to a temporary one, and a photo of a
home must not be written to a disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

MAX_QUESTION_BYTES = 4_096
MAX_PARTS = 8
"""The firmware sends two (esp32_camera.cc, Explain)."""

MAX_HEADERS_BYTES = 4_096
"""Of all parts together."""


class BadUpload(Exception):
    """The upload is invalid; the message is one line for the client."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class _Part:
    name: str = ""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)


class Upload:
    """Fed with the body in any pieces; ``question`` and ``photo`` are whole after :meth:`finish`.

    Raises BadUpload from both when the body is malformed, or larger than ``max_photo_bytes``.
    """

    def __init__(self, content_type: str, max_photo_bytes: int) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not 0 < len(boundary) <= 70:  # RFC 2046 5.1.1
            raise BadUpload("expected multipart/form-data with a boundary", 415)
        self.photo = bytearray()
        self._question = bytearray()
        self._max_photo_bytes = max_photo_bytes
        self._part = _Part()
        self._parts = 0
        self._header = (bytearray(), bytearray())
        self._header_bytes = 0
        self._ended = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._on_part_begin,
                "on_part_data": self._on_part_data,
                "on_header_field": self._on_header_field,
                "on_header_value": self._on_header_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers_finished,
                "on_end": self._on_end,
            },
        )

    @property
    def question(self) -> str:
        """The user's question; empty if there is none."""
        return self._question.decode("utf-8", "replace").strip()

    def feed(self, data: bytes) -> None:
        """Take a piece of the body."""
        try:
            self._parser.write(data)
        except MultipartParseError:
            raise BadUpload("the multipart body is malformed") from None

    def finish(self) -> None:
        """End the body. Raises BadUpload if it is incomplete."""
        if not self._ended:
            raise BadUpload("the multipart body ends before its last boundary")
        if not self.photo:
            raise BadUpload("there is no photo: expected a part named file")

    def _on_part_begin(self) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise BadUpload(f"more than {MAX_PARTS} parts")
        self._part = _Part()

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._take_header(self._header[0], data[start:end])

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._take_header(self._header[1], data[start:end])

    def _take_header(self, to: bytearray, piece: bytes) -> None:
        self._header_bytes += len(piece)
        if self._header_bytes > MAX_HEADERS_BYTES:
            raise BadUpload("the parts' headers are too long", 413)
        to += piece

    def _on_header_end(self) -> None:
        name, value = self._header
        self._part.headers.append((bytes(name).lower(), bytes(value)))
        self._header = (bytearray(), bytearray())

    def _on_headers_finished(self) -> None:
        disposition = dict(self._part.headers).get(b"content-disposition", b"")
        _, options = parse_options_header(disposition)
        self._part.name = options.get(b"name", b"").decode("utf-8", "replace")

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._part.name == "file":
            if len(self.photo) + end - start > self._max_photo_bytes:
                raise BadUpload(f"the photo has more than {self._max_photo_bytes} bytes", 413)
            self.photo += data[start:end]
        elif self._part.name == "question":
            if len(self._question) + end - start > MAX_QUESTION_BYTES:
                raise BadUpload(f"the question has more than {MAX_QUESTION_BYTES} bytes", 413)
            self._question += data[start:end]

    def _on_end(self) -> None:
        self._ended = True
