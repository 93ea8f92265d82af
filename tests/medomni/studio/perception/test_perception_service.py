"""The service over HTTP: what it answers, and everything that it refuses."""

from __future__ import annotations

import json
import socket
from dataclasses import asdict
from pathlib import Path

import pytest
from service_builders import LABS, ask, encode, encoder_code, plug_in, running, staged

from medomni.core.errors import UnsafePathError
from medomni.studio.perception.calls import Calls
from medomni.studio.perception.encoders import find_encoder
from medomni.studio.perception.errors import PerceptionError, PerceptionSetupError, status_of
from medomni.studio.perception.openapi import document
from medomni.studio.perception.service import MOST_REQUEST_BYTES, PerceptionServer
from medomni.studio.perception.settings import Settings, config_text, read_settings

ROW = "7,Sodium,Blood,-48,140,140,mEq/L"


def test_encoders_are_listed_with_their_status(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        status, answer = ask(server, "GET", "/encoders")
    assert status == 200
    (trends,) = answer["encoders"]
    assert (trends["name"], trends["version"], trends["status"], trends["reason"]) == (
        "trends",
        1,
        "ready",
        "",
    )


def test_a_file_is_encoded_the_same_way_each_time(tmp_path: Path) -> None:
    with running(staged(tmp_path, ROW)) as server:
        first, again, mounted = encode(server), encode(server), encode(server, f"/data/{LABS}")
    assert first[0] == 200
    assert first == again == mounted
    answer = first[1]
    assert (answer["encoder"], answer["version"], answer["path"]) == ("trends", 1, LABS)
    assert answer["numbers"]["items"][0]["last"] == 140.0
    assert answer["words"] == ["Sodium (Blood): last 140 mEq/L, 48 h before hour 0; the only value."]


def test_a_connection_takes_several_requests(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        asked = b"GET /encoders HTTP/1.1\r\nHost: x\r\n\r\n"
        with socket.create_connection(("127.0.0.1", int(server.server_address[1])), timeout=10) as caller:
            caller.sendall(asked + asked.replace(b"Host: x", b"Host: x\r\nConnection: close"))
            told = b""
            while piece := caller.recv(65536):
                told += piece
    assert told.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("../secret.csv", 400, "path-parent"),
        ("/etc/passwd", 400, "path-absolute"),
        ("/data//etc/passwd", 400, "path-absolute"),
        ("/data/../etc/passwd", 400, "path-parent"),
        ("a\\b", 400, "path-backslash"),
        ("a\x00b", 400, "path-control"),
        ("", 400, "path-empty"),
        ("link.csv", 400, "path-outside"),
        ("record", 400, "path-not-file"),
        ("record/other.csv", 404, "path-missing"),
        ("big.csv", 413, "perception-file-size"),
        ("note.txt", 422, "encoder-file"),
    ],
)
def test_what_is_no_readable_file_below_the_root_is_refused(
    tmp_path: Path, path: str, status: int, code: str
) -> None:
    data = staged(tmp_path / "data", ROW)
    (tmp_path / "secret.csv").write_text("x", encoding="utf-8")
    (data / "link.csv").symlink_to(tmp_path / "secret.csv")
    (data / "big.csv").write_bytes(b"x" * 2000)
    (data / "note.txt").write_text("nothing measured\n", encoding="utf-8")
    with running(data, most_file_bytes=1000) as server:
        got, answer = encode(server, path)
    assert (got, answer["error"]["code"]) == (status, code)
    assert str(tmp_path) not in json.dumps(answer)


@pytest.mark.parametrize(
    "body",
    [
        "nope",
        "[]",
        "{}",
        '{"encoder": "trends"}',
        '{"encoder": "trends", "path": 1}',
        '{"encoder": 1, "path": 2}',
        '{"encoder": "trends", "path": "a", "path": "b"}',
        '{"encoder": "trends", "path": "a", "x": 1}',
    ],
)
def test_a_malformed_request_is_refused(tmp_path: Path, body: str) -> None:
    with running(tmp_path) as server:
        status, answer = ask(server, "POST", "/encode", body)
    assert status == 400
    assert answer["error"]["code"] in ("perception-request", "document-syntax", "document-duplicate-key")


def test_the_length_of_a_request_is_needed_and_limited(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        huge = ask(server, "POST", "/encode", b" " * (MOST_REQUEST_BYTES + 1))
        endless = ask(server, "POST", "/encode", None, {"Content-Length": "9" * 400})
        none = ask(server, "POST", "/encode", None, {"Content-Length": "-1"})
        chunks = ask(server, "POST", "/encode", None, {"Transfer-Encoding": "chunked", "Content-Length": "0"})
    assert (huge[0], huge[1]["error"]["code"]) == (413, "perception-request-size")
    assert (endless[0], endless[1]["error"]["code"]) == (413, "perception-request-size")
    assert (none[0], none[1]["error"]["code"]) == (411, "perception-length")
    assert (chunks[0], chunks[1]["error"]["code"]) == (411, "perception-length")


def test_other_routes_and_methods_are_refused(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        answers = [
            ask(server, "GET", "/secrets"),
            ask(server, "GET", "/encode"),
            ask(server, "POST", "/encoders"),
            ask(server, "DELETE", "/encoders"),
        ]
    assert [(status, answer["error"]["code"]) for status, answer in answers] == [
        (404, "perception-route"),
        (405, "perception-method"),
        (405, "perception-method"),
        (501, "perception-request"),
    ]


def test_an_unknown_encoder_is_refused(tmp_path: Path) -> None:
    with running(staged(tmp_path, ROW)) as server:
        status, answer = encode(server, encoder="magic")
    assert (status, answer["error"]["code"]) == (404, "encoder-unknown")
    assert "trends" in answer["error"]["hint"]


def test_an_encoder_that_would_restate_a_target_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(config_text(frozenset({"trends"})), encoding="utf-8")
    refused = read_settings(staged(tmp_path / "data", ROW), config).refused
    with running(tmp_path / "data", refused=refused) as server:
        status, answer = encode(server)
        (listed,) = ask(server, "GET", "/encoders")[1]["encoders"]
    assert (status, answer["error"]["code"]) == (403, "encoder-refused")
    assert (listed["status"], listed["reason"]) == ("refused", "it would restate a target of this task")


def test_an_encoder_that_is_plugged_in_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "print('noise'); return {'numbers': {'bytes': file.stat().st_size}, 'words': ['Some bytes.']}"
    plug_in(monkeypatch, tmp_path, "size", encoder_code("size", body))
    with running(staged(tmp_path / "data", ROW)) as server:
        listed = ask(server, "GET", "/encoders")[1]["encoders"]
        status, answer = encode(server, encoder="size")
    assert [(each["name"], each["version"], each["status"]) for each in listed] == [
        ("trends", 1, "ready"),
        ("size", 3, "ready"),
    ]
    assert (status, answer["words"]) == (200, ["Some bytes."])


@pytest.mark.parametrize(
    ("body", "status", "code", "what"),
    [
        ("raise RuntimeError('no weights')", 502, "encoder-failed", "no weights"),
        ("os._exit(7)", 502, "encoder-failed", "ended with 7"),
        ("time.sleep(60)", 504, "encoder-timeout", "longer than 2 s"),
        ("return {'numbers': {'all': bytes(9 * 2**30)}}", 502, "encoder-failed", "MemoryError"),
        ("return {'words': ['x' * 5000]}", 502, "encoder-failed", "too long"),
        ("return {'numbers': {'x': float('nan')}}", 502, "encoder-failed", "nan"),
    ],
)
def test_an_encoder_that_fails_ends_with_its_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, status: int, code: str, what: str
) -> None:
    plug_in(monkeypatch, tmp_path, "bad", encoder_code("bad", body))
    with running(staged(tmp_path / "data", ROW), time_limit_sec=2.0, most_answer_bytes=4000) as server:
        got, answer = encode(server, encoder="bad")
        after, _ = encode(server)
    assert (got, answer["error"]["code"]) == (status, code)
    assert what in answer["error"]["what"]
    assert after == 200


@pytest.mark.parametrize(
    "code",
    ["raise ImportError('no weights here')", "Made = 7", encoder_code("another", "return {}")],
)
def test_what_is_no_encoder_is_listed_as_unusable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    plug_in(monkeypatch, tmp_path, "odd", code)
    with running(staged(tmp_path / "data", ROW)) as server:
        listed = ask(server, "GET", "/encoders")[1]["encoders"][1]
        status, answer = encode(server, encoder="odd")
    assert (listed["name"], listed["status"]) == ("odd", "unusable")
    assert listed["reason"]
    assert (status, answer["error"]["code"]) == (501, "encoder-unusable")


def test_nobody_can_replace_an_encoder_of_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(monkeypatch, tmp_path, "trends", encoder_code("trends", "return {}"))
    assert find_encoder("trends").version == 1
    assert [each.name for each in Calls(Settings(tmp_path)).encoders()] == ["trends"]


def test_what_is_plugged_in_is_found_by_its_own_name_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(monkeypatch, tmp_path / "a", "lines", encoder_code("lines", "return {}"))
    plug_in(monkeypatch, tmp_path / "b", "misnamed", encoder_code("lines", "return {}"))
    plug_in(monkeypatch, tmp_path / "c", "thing", f"{encoder_code('thing', 'return {}')}\nMade = Made()\n")
    assert (find_encoder("lines").version, find_encoder("thing").version) == (3, 3)
    with pytest.raises(PerceptionError) as refusal:
        find_encoder("misnamed")
    assert refusal.value.code == "encoder-unusable"
    with pytest.raises(PerceptionError, match="there is no encoder"):
        find_encoder("none")


def test_a_refused_plug_in_is_not_even_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, tmp_path, "image", "raise SystemExit('loaded')")
    described = Calls(Settings(tmp_path, refused=frozenset({"image"}))).encoders()[1]
    assert (described.name, described.status) == ("image", "refused")


def test_a_busy_service_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, tmp_path, "late", encoder_code("late", "return {}"))
    calls = Calls(Settings(staged(tmp_path / "data", ROW), time_limit_sec=0.05))
    for _ in range(2):
        assert calls._places.acquire()
    with pytest.raises(PerceptionError, match="all places") as refusal:
        calls.encoders()
    assert (refusal.value.code, status_of(refusal.value)) == ("perception-busy", 503)


def test_too_many_callers_are_hung_up_on(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        address = ("127.0.0.1", int(server.server_address[1]))
        waiting = [socket.create_connection(address, timeout=10) for _ in range(16)]
        try:
            with socket.create_connection(address, timeout=10) as late:
                assert late.recv(1) == b""
        finally:
            for caller in waiting:
                caller.close()


def test_a_caller_that_goes_away_is_no_news(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with PerceptionServer(Settings(tmp_path), port=0) as server:
        try:
            raise ConnectionResetError
        except ConnectionResetError:
            server.handle_error(None, None)
        assert capsys.readouterr().err == ""
        try:
            raise RuntimeError("something else")
        except RuntimeError:
            server.handle_error(None, None)
    assert capsys.readouterr().err == "perception: RuntimeError: something else\n"


def test_a_port_that_is_taken_is_refused(tmp_path: Path) -> None:
    with PerceptionServer(Settings(tmp_path), port=0) as server:
        with pytest.raises(PerceptionSetupError) as refusal:
            PerceptionServer(Settings(tmp_path), port=int(server.server_address[1]))
        assert refusal.value.code == "perception-port"
        with pytest.raises(PerceptionSetupError):
            PerceptionServer(Settings(tmp_path), port=70000)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"schema": "medomni/perception/1"}',
        '{"schema": "other", "refused": []}',
        '{"schema": "medomni/perception/1", "refused": [1]}',
        '{"schema": "medomni/perception/1", "refused": {}}',
    ],
)
def test_another_configuration_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(PerceptionSetupError) as refusal:
        read_settings(tmp_path, tmp_path / "config.json")
    assert refusal.value.code == "perception-setup"


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PerceptionSetupError, match="no folder"):
        read_settings(tmp_path / "none")
    assert read_settings(tmp_path).refused == frozenset()


def test_the_document_describes_every_route_and_the_answers_fit_it(tmp_path: Path) -> None:
    from jsonschema import Draft202012Validator

    described = document()
    schemas = json.loads(
        json.dumps(described["components"]["schemas"]).replace("#/components/schemas/", "#/$defs/")
    )

    def valid(name: str, value: object) -> bool:
        return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schemas}).is_valid(value)

    with running(staged(tmp_path, ROW)) as server:
        assert ask(server, "GET", "/openapi.json?x=1") == (200, described)
        for path, methods in described["paths"].items():
            for method in methods:
                assert ask(server, method.upper(), path, "{}")[0] in (200, 400)
        assert valid("Encoding", encode(server)[1])
        assert valid("Error", encode(server, "../x")[1])
        assert valid("EncodeRequest", {"encoder": "trends", "path": LABS})
    assert all(valid("Encoder", asdict(each)) for each in Calls(Settings(tmp_path)).encoders())


def test_refusals_of_paths_have_their_status() -> None:
    assert status_of(UnsafePathError("x")) == 400
    assert status_of(PerceptionError("x", code="encoder-unusable")) == 501
