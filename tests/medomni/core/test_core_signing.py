"""Keys and signatures: what is signed is these bytes, and only the reader's keyring makes trust."""

from __future__ import annotations

import base64
import json
import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from medomni.core import keys, signing
from medomni.core.errors import (
    DocumentNotFoundError,
    MedomniError,
    SignatureError,
    SigningKeyError,
    WriteError,
)
from medomni.core.issues import IssuesError
from medomni.core.workspace import Workspace

KIND = "urn:medomni:contract:score-record:1"


@pytest.fixture
def key(tmp_path: Path) -> keys.SigningKey:
    return keys.load_or_make_key(tmp_path / "keys" / "signing.pem")


@pytest.fixture
def signed(tmp_path: Path, key: keys.SigningKey) -> Path:
    path = tmp_path / "a.score.json"
    path.write_text('{"x": 1}\n')
    signing.sign_file(path, key, predicate_type=KIND)
    return path


def ring(key: keys.SigningKey, name: str = "us") -> signing.Keyring:
    return signing.keyring_of({name: key.public_key})


def code(call) -> str:
    with pytest.raises(MedomniError) as caught:
        call()
    return caught.value.code


# Keys.


def test_a_key_is_made_once_and_for_its_owner_alone(tmp_path, key):
    again = keys.load_or_make_key(tmp_path / "keys" / "signing.pem")
    assert again.public_key == key.public_key
    assert stat.S_IMODE((tmp_path / "keys" / "signing.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["signing.pem"]
    assert "PRIVATE" not in repr(key)
    assert key.public_key in repr(key)


def test_a_secret_is_made_once_and_keys_a_digest(tmp_path):
    secret = keys.load_or_make_secret(tmp_path / "answers.key")
    assert keys.load_or_make_secret(tmp_path / "answers.key") == secret
    assert keys.keyed_digest(secret, {"b": 1, "a": 2}) == keys.keyed_digest(secret, {"a": 2, "b": 1})
    assert keys.keyed_digest(secret, {"a": 1}) != keys.keyed_digest(b"x" * 32, {"a": 1})
    # RFC 4231, test case 2, through the canonical bytes of a text.
    assert keys.keyed_digest(b"Jefe", "x").startswith("hmac-sha256:")


@pytest.mark.parametrize("make", [keys.load_or_make_key, keys.load_or_make_secret])
def test_a_key_that_others_can_read_is_refused(tmp_path, make):
    path = tmp_path / "k"
    make(path)
    path.chmod(0o640)
    with pytest.raises(SigningKeyError) as caught:
        make(path)
    assert caught.value.code == "key-exposed"
    assert "chmod 600" in caught.value.hint


@pytest.mark.parametrize("make", [keys.load_or_make_key, keys.load_or_make_secret])
def test_links_folders_and_nonsense_are_no_keys(tmp_path, make):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert code(lambda: make(tmp_path / "link")) == "key-unreadable"
    (tmp_path / "folder").mkdir(mode=0o700)
    assert code(lambda: make(tmp_path / "folder")) == "key-unreadable"
    os.mkfifo(tmp_path / "pipe", mode=0o600)
    assert code(lambda: make(tmp_path / "pipe")) == "key-unreadable"
    for text in ("nonsense", "é", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"):
        (tmp_path / "text").write_text(text)
        (tmp_path / "text").chmod(0o600)
        assert code(lambda: make(tmp_path / "text")) == "key-malformed"
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError):
        make(tmp_path / "file" / "k")


def test_another_algorithms_key_is_refused(tmp_path):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    plain = serialization.NoEncryption()
    pem = X25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain
    )
    path = tmp_path / "k.pem"
    path.write_bytes(pem)
    path.chmod(0o600)
    assert code(lambda: keys.load_or_make_key(path)) == "key-malformed"


def test_of_two_that_make_a_key_at_once_one_wins_for_both(tmp_path, monkeypatch):
    path = tmp_path / "k"
    made = os.link

    def first_comes_another(source, target):
        monkeypatch.setattr(os, "link", made)
        keys.load_or_make_secret(path)
        made(source, target)

    monkeypatch.setattr(os, "link", first_comes_another)
    assert keys.load_or_make_secret(path) == keys.load_or_make_secret(path)
    assert [each.name for each in tmp_path.iterdir()] == ["k"]


def test_the_workspace_knows_where_its_keys_lie(tmp_path):
    place = Workspace(tmp_path, "0.3.0")
    assert place.relative(place.signing_key) == ".medomni/keys/signing.pem"
    assert place.relative(place.answers_key) == ".medomni/keys/answers.key"


@pytest.mark.parametrize("text", ["", "ed25519:", "ed25519:AAAA", "AAAA", "ed25519:!!!!", "é"])
def test_what_is_no_public_key_is_refused(text):
    assert code(lambda: keys.key_id(text)) == "key-malformed"


# Signatures.


def test_a_signed_file_is_verified_by_its_keyring(signed, key):
    found = signing.verify_file(signed, ring(key), predicate_type=KIND)
    assert found.signers == ("us",)
    assert found.statement["subject"][0]["name"] == "a.score.json"


def test_signing_again_gives_the_same_bytes(signed, key):
    before = signing.envelope_path(signed).read_bytes()
    signing.sign_file(signed, key, predicate_type=KIND)
    assert signing.envelope_path(signed).read_bytes() == before


def test_the_envelope_is_dsse_as_others_verify_it(signed, key):
    """Straight from the protocol: PAE = "DSSEv1" SP len type SP len payload."""
    envelope = json.loads(signing.envelope_path(signed).read_text())
    payload = base64.b64decode(envelope["payload"])
    kind = b"application/vnd.in-toto+json"
    message = b" ".join([b"DSSEv1", str(len(kind)).encode(), kind, str(len(payload)).encode(), payload])
    public = base64.b64decode(key.public_key.removeprefix("ed25519:"))
    signature = base64.b64decode(envelope["signatures"][0]["sig"])
    Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    assert json.loads(payload)["_type"] == "https://in-toto.io/Statement/v1"


def test_changed_bytes_are_found(signed, key):
    signed.write_text('{"x": 2}\n')
    assert code(lambda: signing.verify_file(signed, ring(key))) == "signature-subject"


def test_a_file_without_envelope_is_not_signed(tmp_path, signed, key):
    signing.envelope_path(signed).unlink()
    assert code(lambda: signing.verify_file(signed, ring(key))) == "signature-missing"
    with pytest.raises(DocumentNotFoundError):
        signing.verify_file(tmp_path / "none.json", ring(key))


def test_a_strangers_signature_is_not_trusted_whatever_it_says(signed, tmp_path, key):
    stranger = keys.SigningKey(Ed25519PrivateKey.generate())
    signing.sign_file(signed, stranger, predicate_type=KIND, predicate={"public_key": stranger.public_key})
    assert code(lambda: signing.verify_file(signed, ring(key))) == "signature-untrusted"
    assert signing.verify_file(signed, ring(stranger, "them")).signers == ("them",)


def test_a_key_id_alone_signs_nothing(signed, key):
    stranger = keys.SigningKey(Ed25519PrivateKey.generate())
    signing.sign_file(signed, stranger, predicate_type=KIND)
    place = signing.envelope_path(signed)
    place.write_text(place.read_text().replace(stranger.key_id, key.key_id))
    with pytest.raises(SignatureError) as caught:
        signing.verify_file(signed, ring(key))
    assert caught.value.code == "signature-wrong"
    assert caught.value.where == str(place)


def test_a_statement_of_another_kind_is_refused(signed, key):
    assert code(lambda: signing.verify_file(signed, ring(key), predicate_type="urn:x")) == "signature-kind"


@pytest.mark.parametrize(
    "change",
    [
        lambda e: [],
        lambda e: e | {"payloadType": "text/plain"},
        lambda e: e | {"payload": "not base64!"},
        lambda e: e | {"payload": 3},
        lambda e: e | {"signatures": "x"},
        lambda e: e | {"signatures": [3]},
        lambda e: e | {"signatures": [{"keyid": "x", "sig": "é"}]},
    ],
)
def test_what_is_no_envelope_is_refused(signed, key, change):
    place = signing.envelope_path(signed)
    place.write_text(json.dumps(change(json.loads(place.read_text()))))
    assert code(lambda: signing.verify_file(signed, ring(key))) == "signature-malformed"


def test_a_signed_payload_that_is_no_statement_is_refused(key):
    for payload in (b"[]", b'{"_type": "other"}'):
        assert (
            code(lambda p=payload: signing.verify(signing.sign(p, key), ring(key))) == "signature-malformed"
        )


@pytest.mark.parametrize("subject", [None, [], ["x"], [{"digest": "x"}], [{"name": "a"}]])
def test_a_statement_about_nothing_is_about_other_bytes(signed, key, subject):
    document = {"_type": signing.STATEMENT_TYPE, "predicateType": KIND, "subject": subject}
    envelope = signing.sign(json.dumps(document).encode(), key)
    signing.envelope_path(signed).write_text(json.dumps(envelope))
    assert code(lambda: signing.verify_file(signed, ring(key))) == "signature-subject"


@given(st.binary(max_size=40), st.integers(0, 10**6))
@settings(max_examples=40)
def test_no_changed_bit_of_a_payload_is_accepted(payload, place):
    key = keys.SigningKey(Ed25519PrivateKey.from_private_bytes(b"k" * 32))
    data = signing.statement({"a": "0" * 64}, predicate_type=KIND, predicate={"p": payload.hex()})
    envelope = signing.sign(data, key)
    changed = bytearray(data)
    changed[place % len(data)] ^= 1
    envelope["payload"] = base64.b64encode(bytes(changed)).decode()
    with pytest.raises(SignatureError):
        signing.verify(envelope, ring(key))


def test_a_keyring_file_is_read_by_its_contract(tmp_path, signed, key):
    path = tmp_path / "keyring.yaml"
    path.write_text(f"keys:\n  - name: team\n    public_key: {key.public_key}\n")
    assert signing.verify_file(signed, signing.read_keyring(path)).signers == ("team",)
    path.write_text("keys: []\n")
    with pytest.raises(IssuesError):
        signing.read_keyring(path)
