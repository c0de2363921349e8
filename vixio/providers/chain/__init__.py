"""Providers in an order: where one fails, the next one does its work."""
