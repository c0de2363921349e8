"""FunASR's models (SenseVoice, Paraformer and others) in a process of the server's own.

It is a process and not a thread: loading and running them holds the GIL for up to a tenth of a
second at a time, importing ``funasr`` prints, seeds ``random`` and sets up logging for everybody,
and a thread that hangs in a model cannot be ended.
"""
