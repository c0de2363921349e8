"""Text that can be encoded: no half of a surrogate pair.

JSON can spell one half alone, and a service that streams text cuts an emoji in two. Nothing accepts
such a text: no socket, no database, no model's service.
"""

from __future__ import annotations


def well_formed(text: str) -> str:
    """Return ``text`` with two halves that belong together as one character, and U+FFFD for one
    that is alone (Unicode 15, section 3.9, D84 and "U+FFFD Substitution")."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
