"""The registry under ``kill -9``: what was acknowledged is there afterwards, and nothing else."""
