"""A server on this machine that speaks Chat Completions and plays recorded replies."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]  # HTTP status, and a body: plain data as JSON, text as it is


def says(text: str, *, usage: dict[str, Any] | bool | None = True) -> Answer:
    return 200, completion({"role": "assistant", "content": text}, "stop", usage)


def runs(*commands: str, usage: dict[str, Any] | bool | None = True) -> Answer:
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": "run_command", "arguments": json.dumps({"command": command})},
        }
        for number, command in enumerate(commands, start=1)
    ]
    return 200, completion({"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls", usage)


def completion(message: dict[str, Any], finish: str, usage: dict[str, Any] | bool | None) -> dict[str, Any]:
    told = {
        "prompt_tokens": 1000,
        "completion_tokens": 20,
        "total_tokens": 1020,
        "prompt_tokens_details": {"cached_tokens": 400},
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "recorded",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        **({"usage": told} if usage is True else {"usage": usage} if usage else {}),
    }


def fails(status: int, message: str = "no", code: str | None = None) -> Answer:
    return status, {"error": {"message": message, "type": "some_error", "code": code, "param": None}}


@dataclass
class Endpoint:
    """Plays `answers` in order, the last one again and again, or what `play` says of a conversation."""

    answers: list[Answer] = field(default_factory=list)
    play: Callable[[dict[str, Any]], Answer] | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def answer(self, body: dict[str, Any], headers: dict[str, str]) -> Answer:
        self.requests.append(body)
        self.headers.append(headers)
        if self.play is not None:
            return self.play(body)
        return self.answers[min(len(self.requests), len(self.answers)) - 1]


@contextlib.contextmanager
def serve(endpoint: Endpoint) -> Iterator[Endpoint]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            found = self.path == "/v1/chat/completions"
            status, told = endpoint.answer(body, headers) if found else fails(404, "no such path")
            data = (told if isinstance(told, str) else json.dumps(told)).encode()
            self.send_response(status)
            kind = "text/html" if isinstance(told, str) else "application/json"
            for name, value in (
                ("Content-Type", kind),
                ("Content-Length", str(len(data))),
                ("Retry-After-Ms", "1"),
            ):
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
