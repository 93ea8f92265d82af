"""The service over HTTP, on the loopback alone: `GET /encoders`, `POST /encode`, `GET /openapi.json`.

The standard library's server is enough here: its only callers share the loopback of one atom, and images of
agents have no packages to bring a larger one. Requests are small and timed; at most `MOST_CALLERS` are open.

Leaves to others: encodings and their limits (`calls`).
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from medomni.core.errors import MedomniError
from medomni.core.files import json_text, parse_json
from medomni.studio.perception.calls import Calls
from medomni.studio.perception.errors import PerceptionError, PerceptionSetupError, status_of
from medomni.studio.perception.openapi import document
from medomni.studio.perception.settings import Settings

LOOPBACK = "127.0.0.1"
MOST_REQUEST_BYTES = 16 * 1024
MOST_CALLERS = 16
_FIELDS = {"encoder", "path"}


class PerceptionServer(ThreadingHTTPServer):
    """A server for the settings of one atom."""

    daemon_threads = True
    request_queue_size = 2 * MOST_CALLERS

    def __init__(self, settings: Settings, *, port: int) -> None:
        """Listen on the loopback.

        Args:
            settings: What it may do.
            port: The port; 0 takes a free one.

        Raises:
            PerceptionSetupError: `perception-port`: the port cannot be had.
        """
        self.calls = Calls(settings)
        self._callers = threading.BoundedSemaphore(MOST_CALLERS)
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as failure:
            what = f"port {port} of {LOOPBACK} cannot be had: {failure}"
            hint = "choose another with --port"
            raise PerceptionSetupError(what, hint=hint, code="perception-port") from failure

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{LOOPBACK}:{self.server_address[1]}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, or hang up where too many callers are being answered."""
        if not self._callers.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room for another caller."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._callers.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say in a line what went wrong with a connection; a caller that went away is no news."""
        failure = sys.exception()
        if not isinstance(failure, ConnectionError | socket.timeout):
            sys.stderr.write(f"perception: {type(failure).__name__}: {failure}\n")


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: PerceptionServer
    protocol_version = "HTTP/1.1"
    server_version = "medomni-perception/1"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        routes: dict[str, Callable[[], Any]] = {
            "/encoders": lambda: {"encoders": [asdict(each) for each in self.server.calls.encoders()]},
            "/openapi.json": document,
        }
        self._answer(routes, others={"/encode": "POST"})

    def do_POST(self) -> None:
        self._answer({"/encode": self._encode}, others={"/encoders": "GET", "/openapi.json": "GET"})

    def _answer(self, routes: dict[str, Callable[[], Any]], *, others: dict[str, str]) -> None:
        try:
            route = self.path.partition("?")[0]
            if route in others:
                what = f"{route} is asked with {others[route]}"
                raise PerceptionError(what, code="perception-method")
            if route not in routes:
                hint = "there are: GET /encoders, POST /encode, GET /openapi.json"
                raise PerceptionError(
                    f"there is nothing at {route[:200]}", hint=hint, code="perception-route"
                )
            status, body = HTTPStatus.OK, routes[route]()
        except MedomniError as failure:
            status = status_of(failure)
            parts = {name: getattr(failure, name) for name in ("code", "what", "where", "hint")}
            body = {"error": parts}
            # What is left of a refused request would be read as the next one.
            self.close_connection = True
        self._send(status, body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request as any other refusal, in JSON."""
        what = message or explain or HTTPStatus(code).phrase
        self.close_connection = True
        refusal = {"code": "perception-request", "what": what, "where": "", "hint": ""}
        self._send(HTTPStatus(code), {"error": refusal})

    def _send(self, status: HTTPStatus, body: Any) -> None:
        data = json_text(body, indent=None).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def _encode(self) -> dict[str, Any]:
        value = parse_json(self._body(), name="request").value
        if not isinstance(value, dict) or set(value) != _FIELDS or not all(map(_is_text, value.values())):
            raise PerceptionError(
                "a request to /encode is a JSON object with the texts encoder and path",
                hint='such as {"encoder": "trends", "path": "record/hosp.labevents.csv"}',
            )
        return self.server.calls.encode(value["encoder"], value["path"])

    def _body(self) -> bytes:
        told = self.headers.get("Content-Length", "")
        if not told.isascii() or not told.isdigit() or "Transfer-Encoding" in self.headers:
            what = "a request to /encode needs its Content-Length, and no Transfer-Encoding"
            raise PerceptionError(what, code="perception-length")
        if len(told) > len(str(MOST_REQUEST_BYTES)) or int(told) > MOST_REQUEST_BYTES:
            what = f"the request has {told[:20]} bytes, and at most {MOST_REQUEST_BYTES} are read"
            raise PerceptionError(what, code="perception-request-size")
        return self.rfile.read(int(told))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """A line for each request on the standard error, with control characters made visible."""
        line = (format % args).encode("unicode_escape").decode("ascii")
        sys.stderr.write(f"perception: {line}\n")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
