"""Signatures over records: Ed25519 over a DSSE envelope that holds an in-toto statement about a file.

A record stays a plain JSON file; its envelope lies beside it as `<record>.dsse` and names the record's
digest. A key inside a record or an envelope proves nothing: trust comes from the reader's keyring alone.
Signing the same bytes with the same key gives the same envelope.

Leaves to others: what a record must hold (`contracts`), the workspace's own keys (`keys`).

Source: RFC 8032 (Ed25519); DSSE protocol v1.0.2; in-toto Attestation Framework, Statement v1; RFC 2104
(HMAC).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medomni.core import contracts
from medomni.core.errors import DocumentNotFoundError, SignatureError
from medomni.core.files import canonical_json, json_text, parse_json, read_json, write_atomic
from medomni.core.hashing import sha256_file
from medomni.core.keys import SigningKey, key_id, raw_public

SUFFIX = ".dsse"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
_MOST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A key that a reader trusts, by the name that the reader gave it."""

    name: str
    public_key: str


@dataclass(frozen=True, slots=True)
class Keyring:
    """The keys that a reader trusts, by key id."""

    keys: Mapping[str, TrustedKey]


@dataclass(frozen=True, slots=True)
class Signed:
    """What a trusted signature says.

    Attributes:
        signers: Names of the keyring's keys that signed, sorted.
        statement: The in-toto statement.
    """

    signers: tuple[str, ...]
    statement: Mapping[str, Any]


def read_keyring(path: str | Path) -> Keyring:
    """The keyring in a file.

    Raises:
        DocumentNotFoundError: There is no such file.
        DocumentError: It cannot be read.
        IssuesError: It breaks the contract `keyring`.
        SigningKeyError: `key-malformed`.
    """
    rows = contracts.load("keyring", path)["keys"]
    return Keyring({key_id(row["public_key"]): TrustedKey(row["name"], row["public_key"]) for row in rows})


def keyring_of(keys: Mapping[str, str]) -> Keyring:
    """A keyring of names and their public keys.

    Raises:
        SigningKeyError: `key-malformed`.
    """
    return Keyring({key_id(public): TrustedKey(name, public) for name, public in keys.items()})


def envelope_path(path: str | Path) -> Path:
    """Where the envelope of a record lies."""
    return Path(f"{path}{SUFFIX}")


def statement(subjects: Mapping[str, str], *, predicate_type: str, predicate: Mapping[str, Any]) -> bytes:
    """The bytes of an in-toto statement.

    Args:
        subjects: Name to SHA-256, as hex digits.
        predicate_type: What the predicate is, as a URI.
        predicate: What is said of the subjects.

    Source: in-toto Attestation Framework, Statement v1.
    """
    rows = [{"name": name, "digest": {"sha256": digest}} for name, digest in subjects.items()]
    return canonical_json(
        {"_type": STATEMENT_TYPE, "subject": rows, "predicateType": predicate_type, "predicate": predicate}
    )


def sign(payload: bytes, key: SigningKey) -> dict[str, Any]:
    """The DSSE envelope around a statement.

    Source: DSSE protocol v1.0.2; RFC 8032.
    """
    signature = key.private.sign(_to_sign(PAYLOAD_TYPE, payload))
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode("ascii"),
        "signatures": [{"keyid": key.key_id, "sig": base64.b64encode(signature).decode("ascii")}],
    }


def sign_file(
    path: Path, key: SigningKey, *, predicate_type: str, predicate: Mapping[str, Any] | None = None
) -> Path:
    """Sign a file: write its envelope beside it, and return where.

    Raises:
        DocumentNotFoundError: There is no such file.
        DocumentError: It cannot be read.
        WriteError: The envelope cannot be written.
    """
    payload = statement(
        {path.name: sha256_file(path)}, predicate_type=predicate_type, predicate=predicate or {}
    )
    write_atomic(envelope_path(path), json_text(sign(payload, key)))
    return envelope_path(path)


def verify(envelope: Any, keyring: Keyring) -> Signed:
    """What an envelope says, if a key of the keyring signed it.

    Raises:
        SignatureError: `signature-malformed`: it is no envelope with a statement;
            `signature-untrusted`: no key of the keyring signed it;
            `signature-wrong`: it names a key of the keyring, and the signature is not that key's.

    Source: DSSE protocol v1.0.2; RFC 8032.
    """
    payload, signatures = _opened(envelope)
    signers = sorted({_signer(each, payload, keyring) for each in signatures} - {""})
    if not signers:
        raise SignatureError(
            "no key of the keyring signed it",
            hint="trust comes from the keyring alone; add the signer's public key if you trust it",
            code="signature-untrusted",
        )
    document = parse_json(payload, name="the statement", max_bytes=_MOST_BYTES).value
    if not isinstance(document, dict) or document.get("_type") != STATEMENT_TYPE:
        raise _no_envelope("its payload is no in-toto statement")
    return Signed(tuple(signers), document)


def verify_file(path: Path, keyring: Keyring, *, predicate_type: str | None = None) -> Signed:
    """What the envelope beside a file says of exactly these bytes, if a key of the keyring signed it.

    Args:
        path: The file; its envelope is `<path>.dsse`.
        keyring: The keys that the reader trusts.
        predicate_type: What the statement must be; any where absent.

    Raises:
        SignatureError: As `verify`; `signature-missing`: there is no envelope; `signature-subject`: it is
            about other bytes; `signature-kind`: it says something else.
        DocumentNotFoundError: There is no such file.
        DocumentError: The file or the envelope cannot be read.
    """
    digest = sha256_file(path)
    place = envelope_path(path)
    try:
        envelope = read_json(place, max_bytes=_MOST_BYTES).value
    except DocumentNotFoundError as fault:
        raise SignatureError(
            f"{path.name} is not signed", where=str(path), hint=f"{place.name} must lie beside it",
            code="signature-missing",
        ) from fault  # fmt: skip
    try:
        found = verify(envelope, keyring)
    except SignatureError as fault:
        raise SignatureError(fault.what, where=str(place), hint=fault.hint, code=fault.code) from fault
    if predicate_type is not None and found.statement.get("predicateType") != predicate_type:
        what = f"the signature says {found.statement.get('predicateType')!r}, and not {predicate_type!r}"
        raise SignatureError(what, where=str(place), code="signature-kind")
    if digest not in _digests(found.statement):
        raise SignatureError(
            f"{path.name} is not the file that was signed", where=str(path), hint="it was changed since",
            code="signature-subject",
        )  # fmt: skip
    return found


def _to_sign(payload_type: str, payload: bytes) -> bytes:
    """The bytes that are signed, DSSE's pre-authentication encoding."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def _opened(envelope: Any) -> tuple[bytes, list[tuple[str, bytes]]]:
    """The payload, and key id and bytes of each signature."""
    if not isinstance(envelope, dict) or envelope.get("payloadType") != PAYLOAD_TYPE:
        raise _no_envelope(f"its payloadType is not {PAYLOAD_TYPE}")
    rows = envelope.get("signatures")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _no_envelope("it has no list of signatures")
    return _decoded(envelope.get("payload")), [
        (str(r.get("keyid", "")), _decoded(r.get("sig"))) for r in rows
    ]


def _decoded(text: Any) -> bytes:
    try:
        if isinstance(text, str):
            return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise _no_envelope("a part of it is no base64")


def _signer(signature: tuple[str, bytes], payload: bytes, keyring: Keyring) -> str:
    """The name of the trusted key that made a signature; empty where the keyring does not know its key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    claimed, data = signature
    trusted = keyring.keys.get(claimed)
    if trusted is None:
        return ""
    try:
        public = Ed25519PublicKey.from_public_bytes(raw_public(trusted.public_key))
        public.verify(data, _to_sign(PAYLOAD_TYPE, payload))
    except InvalidSignature as fault:
        raise SignatureError(
            f"the signature is not that of {trusted.name}", hint="the envelope was changed, or forged",
            code="signature-wrong",
        ) from fault  # fmt: skip
    return trusted.name


def _digests(document: Mapping[str, Any]) -> list[Any]:
    rows = document.get("subject")
    found = [row.get("digest") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [digest.get("sha256") for digest in found if isinstance(digest, dict)]


def _no_envelope(why: str) -> SignatureError:
    return SignatureError(f"this is no signature: {why}", hint="see DSSE v1", code="signature-malformed")
