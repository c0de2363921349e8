"""Traces of turns for OpenTelemetry, made from the record that each turn leaves.

``spans`` says what is in a trace, without a library. ``exporter`` sends it, in a thread of its own;
only there opentelemetry is imported, and only where an endpoint is set.
"""
