"""The command line: one module a command, each importing what is heavy when it runs."""
