"""A recogniser and a voice behind OpenAI's audio API, on Ray Serve."""

import os

# onnxruntime reads it when it is loaded, and would send events to its vendor.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
