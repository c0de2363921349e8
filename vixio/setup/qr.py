"""A QR code for a terminal."""

from __future__ import annotations

import io
import sys

import segno

_BORDER = 2
"""Modules around it. The norm has 4; cameras need less, and a terminal has few lines."""


def qr_code(text: str) -> str:
    """Return ``text`` as a QR code of block characters; empty if the terminal has no such ones.

    Light is drawn and dark is left out, as it is right on a dark background; cameras read the
    inverse as well.
    """
    out = io.StringIO()
    segno.make(text, error="l", micro=False).terminal(out, border=_BORDER, compact=True)
    code = out.getvalue().rstrip("\n")
    try:
        code.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ""
    return code
