"""Turns: asking the agent, and what a turn changes."""
