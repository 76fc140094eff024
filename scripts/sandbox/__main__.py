"""The sandbox as a process of its own: `python -m scripts.sandbox --port 0 --gateway http://127.0.0.1:8000 --public https://clara.example`.

It prints one JSON line with its addresses and keys when it is ready, then serves until SIGTERM or SIGINT. It does not depend on the
gateway's life: a gateway that is killed and comes back finds every message where it was.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys

from scripts.sandbox.app import Sandbox
from scripts.sandbox.environment import PUBLIC_URL, new_world


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(
        prog="python -m scripts.sandbox", description="Local stand-ins for all providers."
    )
    options.add_argument("--port", type=int, default=0, help="port of the HTTP stand-ins (0: a free one)")
    options.add_argument("--smtp-port", type=int, default=0, help="port of the mail server (0: a free one)")
    options.add_argument("--gateway", default="http://127.0.0.1:8000", help="the gateway's address on this machine")
    options.add_argument(
        "--public", default=PUBLIC_URL, help="the gateway's public address, which is signed"
    )
    options.add_argument("--offset", type=float, default=0.0, help="seconds by which the clock is shifted")
    options.add_argument("--seed", type=int, default=0, help="seed of faults and ids")
    options.add_argument(
        "--opt-out", choices=("default", "advanced", "off"), default="default", help="how the provider handles STOP"
    )
    return options


async def serve(options: argparse.Namespace) -> None:
    """Runs until a signal."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    world = new_world(options.gateway, offset=options.offset, seed=options.seed)
    world.public_url, world.opt_out = options.public.rstrip("/"), options.opt_out
    sandbox = Sandbox(world)
    await sandbox.start(options.port, options.smtp_port)
    print(json.dumps(sandbox.describe()), flush=True)
    try:
        await stop.wait()
    finally:
        await sandbox.stop()


def main() -> int:
    """Entry point."""
    asyncio.run(serve(parser().parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
