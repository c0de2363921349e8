"""Benchmarks: what is promised in docs, measured by a command."""
