"""Servers of voices that people run themselves; what is known of them is in page.md."""
