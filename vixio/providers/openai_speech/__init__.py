"""Ears and a voice behind OpenAI's audio API, or a compatible server's."""
