"""Entry point of ``python -m vixio``."""

from vixio.cli.commands import main

main()
