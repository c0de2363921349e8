"""Shared by all carriers and the HTTP server: which devices may connect, how often, and when."""
