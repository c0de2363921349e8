"""Agents of Dify. Written from its documents; docs/models.md says what was tried."""
