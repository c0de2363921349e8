"""``vixio bench``: what is promised in Vixio's docs, measured by a command."""

__version__ = "0.1.0"
