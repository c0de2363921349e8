"""Devices and their profiles."""
