"""A tool that is an HTTP service, and a tiny service to try it with.

Start the service (``python examples/rest_tool.py``), put this into the settings, and ask a language
model behind Vixio for the tide::

    tools:
      rest:
        - name: next_high_tide
          description: Tell the time of the next high tide in a harbour.
          url: http://127.0.0.1:8099/tides/{harbour}
          parameters:
            harbour: {type: string, enum: [hamburg, brest, dover]}
          result: "high[0].time"
          allow_private: true         # this very machine
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TIDES = {"hamburg": "04:10", "brest": "06:25", "dover": "11:40"}


class Tides(BaseHTTPRequestHandler):
    """Answers ``GET /tides/HARBOUR``."""

    def do_GET(self) -> None:
        """Answer with the next high tides, or 404."""
        time = TIDES.get(self.path.rpartition("/")[2])
        body = json.dumps({"high": [{"time": time}]} if time else {"error": "no such harbour"})
        self.send_response(200 if time else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 8099), Tides).serve_forever()
