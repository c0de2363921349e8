"""Arithmetic on audio samples, with numpy, which is imported when it is first needed."""
