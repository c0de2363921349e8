"""Logging: the code uses the standard library's ``logging``; loguru formats and writes."""
