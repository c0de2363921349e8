"""Logging: the standard library in the code, loguru behind it."""
