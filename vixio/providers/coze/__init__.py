"""Agents of Coze. Written from its documents; docs/models.md says what was tried."""
