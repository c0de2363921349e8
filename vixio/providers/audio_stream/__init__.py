"""Decodes the stream of a TTS service, in any format and arbitrary pieces, to mono PCM."""

from vixio.providers.audio_stream.decoder import AudioStreamDecoder, decoded, load
from vixio.providers.audio_stream.formats import AudioError, AudioFormatName

__all__ = ["AudioError", "AudioFormatName", "AudioStreamDecoder", "decoded", "load"]
