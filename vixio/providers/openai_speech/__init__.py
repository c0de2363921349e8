"""Speech recognition and synthesis over OpenAI's audio API, or that of a compatible server."""
