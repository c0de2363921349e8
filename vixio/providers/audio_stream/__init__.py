"""What a voice service sends, in any format and any pieces, to mono PCM at one rate."""

from vixio.providers.audio_stream.decoder import AudioStreamDecoder, decoded, load
from vixio.providers.audio_stream.formats import AudioError, AudioFormatName

__all__ = ["AudioError", "AudioFormatName", "AudioStreamDecoder", "decoded", "load"]
