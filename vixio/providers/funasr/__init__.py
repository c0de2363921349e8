"""FunASR's models (SenseVoice, Paraformer and others) in a worker process.

A process instead of a thread: loading and running the models holds the GIL for up to 0.1 s at a
time; importing ``funasr`` prints, seeds ``random`` and configures logging of the whole process; and
a thread that hangs in a model cannot be ended.
"""
