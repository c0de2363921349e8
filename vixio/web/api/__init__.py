"""The HTTP API: personal tokens and a login, routes by resource, and their OpenAPI document."""
