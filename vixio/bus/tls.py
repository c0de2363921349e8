"""TLS towards a broker."""

from __future__ import annotations

import ssl

from vixio.bus.address import TlsFiles
from vixio.bus.errors import BrokerError


def client_context(files: TlsFiles) -> ssl.SSLContext:
    """Return the context of a client that checks the server's certificate and name.

    Raises BrokerError that names the file.
    """
    try:
        context = ssl.create_default_context(cafile=files.ca or None)
        if files.cert:
            context.load_cert_chain(files.cert, files.key or None)
    except (OSError, ssl.SSLError) as error:
        named = ", ".join(each for each in (files.ca, files.cert, files.key) if each)
        raise BrokerError(f"cannot read the TLS files {named}: {error}") from error
    return context
