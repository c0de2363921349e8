"""A station for Vixio that replaces words in what the assistant says."""
