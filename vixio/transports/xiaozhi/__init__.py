"""The xiaozhi wire: JSON and Opus over a WebSocket, found by way of an OTA endpoint."""
