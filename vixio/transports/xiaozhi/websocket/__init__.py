"""The WebSocket carrier of the xiaozhi wire."""
