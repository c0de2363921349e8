"""Documents that tests make: PDF by hand, Word by python-docx; and a site that has some."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread


def pdf(pages: Sequence[str]) -> bytes:
    """Return a PDF with a page for each text; lines of Latin-1, or of Chinese by a CID font."""
    fonts = [
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        (
            b"<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H "
            b"/DescendantFonts [5 0 R] >>"
        ),
        (
            b"<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /CIDSystemInfo "
            b"<< /Registry (Adobe) /Ordering (GB1) /Supplement 0 >> >>"
        ),
    ]
    first = 6
    kids = " ".join(f"{first + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        *fonts,
    ]
    for at, text in enumerate(pages):
        drawn = b" ".join(_line(line) + b" T*" for line in text.splitlines())
        content = b"BT /L 12 Tf 14 TL 50 780 Td " + drawn + b" ET"
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
            b"/Resources << /Font << /L 3 0 R /C 4 0 R >> >> >>" % (first + 2 * at + 1)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    file, places = io.BytesIO(b"%PDF-1.4\n"), list[int]()
    file.seek(0, io.SEEK_END)
    for number, each in enumerate(objects, 1):
        places.append(file.tell())
        file.write(b"%d 0 obj\n%s\nendobj\n" % (number, each))
    start = file.tell()
    file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    file.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    file.write(b"trailer << /Size %d /Root 1 0 R >>\n" % (len(objects) + 1))
    file.write(b"startxref\n%d\n%%%%EOF\n" % start)
    return file.getvalue()


def _line(line: str) -> bytes:
    if line.isascii():
        escaped = line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        return b"/L 12 Tf (" + escaped.encode("latin-1") + b") Tj"
    return b"/C 12 Tf <" + line.encode("utf-16-be").hex().encode() + b"> Tj"


def word(parts: Sequence[tuple[str, str]]) -> bytes:
    """Return a Word file with headings and texts; a form feed in a text begins a page."""
    import docx
    from docx.enum.text import WD_BREAK

    document = docx.Document()
    for heading, text in parts:
        if heading:
            document.add_heading(heading, 1)
        for number, page in enumerate(text.split("\f")):
            paragraph = document.add_paragraph()
            if number:
                paragraph.add_run().add_break(WD_BREAK.PAGE)
            paragraph.add_run(page)
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


HANDBOOK = b"<title>Stove</title><h1>Lighting</h1><p>Turn the copper knob to the left.</p>"


@contextmanager
def site() -> Iterator[str]:
    """Serve documents, and what is none, at an address of this machine; give that address."""
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            port = self.connection.getsockname()[1]
            elsewhere = f"http://127.0.0.2:{port}/guide/stove"
            status, kind, body, location = {
                "/guide/stove": (200, "text/html; charset=utf-8", HANDBOOK, ""),
                "/guide/%E7%83%A4%E7%AE%B1.pdf": (
                    200,
                    "application/octet-stream",
                    pdf(["Cover", "Oven"]),
                    "",
                ),
                "/moved": (302, "", b"", "/guide/stove"),
                "/round": (302, "", b"", "/round"),
                "/away": (302, "", b"", elsewhere),
                "/cat": (200, "image/png", b"PNG", ""),
                "/large": (200, "text/plain", b"x " * 2**20, ""),
                "/slow": (200, "text/plain", b"", ""),
            }.get(self.path, (404, "text/html", b"gone", ""))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if location:
                self.send_header("Location", location)
            self.end_headers()
            if self.path == "/slow":
                over.wait(60)
            try:
                self.wfile.write(body)
            except OSError:
                return  # the client has had enough

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        serving.join()
