"""`python -m medomni.studio.perception --data DIR --port N`: the service over a folder, until it is stopped.

The same command line serves the archive in an image of an agent. Leaves to others: sandboxes around it.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from medomni.core.errors import MedomniError
from medomni.studio.perception import work
from medomni.studio.perception.service import PerceptionServer
from medomni.studio.perception.settings import PORT, read_settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; 2 where the settings are wrong.

    Args:
        arguments: Of the command line.
    """
    given = _parser().parse_args(arguments)
    if given.work:
        return work.main()
    try:
        server = PerceptionServer(read_settings(given.data, given.config), port=given.port)
    except MedomniError as failure:
        sys.stderr.write(f"{failure}\n")
        return 2
    signal.signal(signal.SIGTERM, _stop)
    with server:
        sys.stdout.write(f"perception: {server.url}\n")
        sys.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="medomni.studio.perception",
        description="Turns staged files into numbers and words, on the loopback alone.",
        epilog="example: python -m medomni.studio.perception --data atomtasks/encoders/ATOM/data --port 8080",
    )
    parser.add_argument("--data", default="/data", help="the folder that it may read (default: %(default)s)")
    parser.add_argument("--port", type=int, default=PORT, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--config", help="a JSON file with the encoders that are refused")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    return parser


def _stop(*_signal: Any) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
