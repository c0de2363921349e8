"""Commands that try a configuration: ``say``, ``transcribe``, ``check --live``."""
