"""A program that uses Vixio as a library: it loads the VAD, and waits until it is stopped."""

import signal
import sys

from vixio.providers.silero_vad.model import SileroModel, find_model

SileroModel(find_model())
sys.stdout.write("loaded\n")
sys.stdout.flush()
if sys.argv[1:] == ["wait"]:
    signal.pause()
