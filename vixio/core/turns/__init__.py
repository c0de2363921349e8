"""Turns: who speaks when, what is said to whom, and what a turn changes."""
