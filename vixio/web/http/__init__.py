"""The HTTP side: the server, and its routes for OTA, cameras and health."""
