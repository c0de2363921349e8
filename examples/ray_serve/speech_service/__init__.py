"""A recogniser and a voice behind OpenAI's audio API, on Ray Serve."""
