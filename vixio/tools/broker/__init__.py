"""Tool services on a message broker as a source of tools.

The description has two levels: a service (its queues and what can be configured), and tools that
use a service with a configuration. Both stand in the settings, in files of a folder, or in what a
service announces while it runs (docs/brokers.md).
"""
