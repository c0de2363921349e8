"""Voices of MiniMax. Written from the vendor's documents; docs/providers.md says what was tried."""
