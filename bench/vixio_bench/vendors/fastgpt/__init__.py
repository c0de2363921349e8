"""A stand-in for FastGPT, and for any model by Chat Completions; see page.md."""
