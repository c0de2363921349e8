"""Databases: the connection to one, plain SQL for all of them, and the migrations."""
