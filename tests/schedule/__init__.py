"""Runs the test targets of the Makefile: what waits beside what computes."""
