"""TTS by Kokoro, a network with 82 million weights and many voices, in a thread of this process.

onnxruntime runs the network. ``phonemes`` turns text into its symbols: English and five more
languages by eSpeak NG in a worker process, Chinese by ``chinese``. ``fetch`` installs the voices.
"""
