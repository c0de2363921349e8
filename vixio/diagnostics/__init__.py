"""Trying a configuration out by hand: speak a text, hear a file, use every part once."""
