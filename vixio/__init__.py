"""Vixio: the voice-assistant server for ESP32 xiaozhi devices."""

__version__ = "0.1.0"
