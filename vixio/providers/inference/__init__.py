"""Machinery that providers share for models in worker processes.

``worker_pool`` keeps worker processes running and replaces those that end.
"""
