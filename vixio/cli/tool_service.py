"""``vixio tool-service``: runs a tool service on a message broker."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import click

from vixio.cli.serve import LEVELS


@click.command("tool-service")
@click.argument("target", metavar="MODULE:CLASS")
@click.option(
    "--url",
    envvar="VIXIO_BROKER_URL",
    required=True,
    help="The broker: nats://HOST, tls://, amqp://, amqps://, pulsar://, pulsar+ssl://.",
)
@click.option("--user", envvar="VIXIO_BROKER_USER", default="", help="Of the broker.")
@click.option("--password", envvar="VIXIO_BROKER_PASSWORD", default="", hidden=True)
@click.option("--token", envvar="VIXIO_BROKER_TOKEN", default="", hidden=True)
@click.option("--credentials", default="", metavar="FILE", help="NATS credentials.")
@click.option("--ca", default="", metavar="FILE", help="Trusted authorities, PEM.")
@click.option("--cert", default="", metavar="FILE", help="The client's own certificate, PEM.")
@click.option("--key", default="", metavar="FILE", help="Its key, PEM.")
@click.option("--concurrency", default=8, show_default=True, type=click.IntRange(1, 10_000))
@click.option(
    "--backlog",
    default=64,
    show_default=True,
    type=click.IntRange(0, 10_000),
    help="Calls that wait for their turn; further ones are refused.",
)
@click.option(
    "--grace",
    default=10.0,
    show_default=True,
    type=click.FloatRange(0, 3_600),
    help="Seconds for calls at work when it is stopped.",
)
@click.option("--prefix", default="vixio.tools", show_default=True, help="Of the announcements.")
@click.option("--announce/--no-announce", default=True, help="Offer its tools by itself.")
@click.option("--log-level", type=click.Choice(LEVELS, case_sensitive=False), default="INFO")
def tool_service(
    *,
    target: str,
    url: str,
    concurrency: int,
    backlog: int,
    grace: float,
    prefix: str,
    announce: bool,
    log_level: str,
    **login: str,
) -> None:
    """Run a tool service: a class with a method ``invoke``.

    MODULE may be a file of the working directory. Several instances share the calls. Password and
    token come from VIXIO_BROKER_PASSWORD and VIXIO_BROKER_TOKEN. Ctrl-C or SIGTERM lets calls end,
    a second one does not.
    """
    from vixio.bus.address import TlsFiles, parse_address
    from vixio.bus.connect import connect
    from vixio.bus.runner import load_service, run_service
    from vixio.bus.serving import ServingLimits
    from vixio.telemetry.logging.setup import configure_logging, flush_logs

    configure_logging(log_level)
    files = TlsFiles(*(login.pop(name) for name in ("ca", "cert", "key")))
    address = parse_address(url, tls=files, **login)
    service = load_service(target)

    async def run() -> None:
        await run_service(
            service,
            connect(address),
            limits=ServingLimits(concurrency, backlog),
            announce=prefix if announce else "",
            grace=grace,
        )

    try:
        with suppress(asyncio.CancelledError):  # by a second signal
            asyncio.run(run())
    finally:
        flush_logs()
