"""The workspace's own keys: the one that signs its records, and the secret of its keyed digests.

Both lie in files that only their owner can read, and are made at first use. Nobody can make them again.

Leaves to others: where the files lie (`workspace`), envelopes and whom to trust (`signing`).

Source: RFC 8032 (Ed25519); RFC 2104 (HMAC); FIPS 180-4 (SHA-256).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medomni.core.errors import SigningKeyError, WriteError
from medomni.core.files import canonical_json

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_KEY_PREFIX = "ed25519:"
_SECRET_BYTES = 32
_MOST_BYTES = 64 * 1024
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key. It prints as its public half."""

    private: Ed25519PrivateKey

    @property
    def public_key(self) -> str:
        """The public half as keyrings have it: `ed25519:` and the base64 of its 32 bytes."""
        return _KEY_PREFIX + base64.b64encode(self.private.public_key().public_bytes_raw()).decode("ascii")

    @property
    def key_id(self) -> str:
        """What envelopes call the key."""
        return key_id(self.public_key)

    def __repr__(self) -> str:
        return f"SigningKey({self.public_key})"


def key_id(public_key: str) -> str:
    """The id of a public key: the SHA-256 of its 32 bytes, as hex digits.

    Raises:
        SigningKeyError: `key-malformed`.

    Source: FIPS 180-4.
    """
    return hashlib.sha256(raw_public(public_key)).hexdigest()


def raw_public(public_key: str) -> bytes:
    """The 32 bytes of a public key.

    Raises:
        SigningKeyError: `key-malformed`.

    Source: RFC 8032.
    """
    try:
        raw = base64.b64decode(public_key.removeprefix(_KEY_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 32 or not public_key.startswith(_KEY_PREFIX):
        raise SigningKeyError(
            f"{public_key[:80]!r} is no public key",
            hint="write ed25519: and the base64 of its 32 bytes",
            code="key-malformed",
        )
    return raw


def load_or_make_key(path: Path) -> SigningKey:
    """The private key in a file that only its owner can read; made where there is none.

    Raises:
        SigningKeyError: `key-exposed`, `key-unreadable` or `key-malformed`.
        WriteError: It could not be made.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    def fresh() -> bytes:
        return Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    pem = _read_secret(path, fresh)
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as fault:
        raise _malformed(path, "it is no private key in PEM form") from fault
    if not isinstance(key, Ed25519PrivateKey):
        raise _malformed(path, "it is no Ed25519 key")
    return SigningKey(key)


def load_or_make_secret(path: Path) -> bytes:
    """The secret of keyed digests, 32 bytes, in a file that only its owner can read; made where it is not.

    Raises:
        SigningKeyError: `key-exposed`, `key-unreadable` or `key-malformed`.
        WriteError: It could not be made.
    """
    text = _read_secret(path, lambda: os.urandom(_SECRET_BYTES).hex().encode("ascii") + b"\n")
    try:
        secret = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        secret = b""
    if len(secret) != _SECRET_BYTES:
        raise _malformed(path, f"it does not hold {2 * _SECRET_BYTES} hex digits")
    return secret


def keyed_digest(secret: bytes, document: Any) -> str:
    """`hmac-sha256:` and the keyed digest of a document's canonical JSON.

    Without the secret nobody can try out what the document holds, however few possibilities there are.

    Raises:
        DocumentError: `document-not-canonical`.

    Source: RFC 2104; RFC 8785; FIPS 180-4.
    """
    return f"hmac-sha256:{hmac.new(secret, canonical_json(document), hashlib.sha256).hexdigest()}"


def _read_secret(path: Path, fresh: Callable[[], bytes]) -> bytes:
    """The bytes of a secret file; where there is none, those that `fresh` makes, for this owner alone."""
    try:
        if not os.path.lexists(path):
            _make_secret(path, fresh())
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise SigningKeyError(f"{path.name} is no plain file", where=str(path), code="key-unreadable")
            if mode & _OTHERS:
                raise SigningKeyError(
                    f"{path.name} can be read by others", where=str(path), hint=f"chmod 600 {path}",
                    code="key-exposed",
                )  # fmt: skip
            return stream.read(_MOST_BYTES)
    except OSError as fault:
        if isinstance(fault, WriteError):
            raise
        what = f"{path.name} cannot be read: {fault.strerror}"
        raise SigningKeyError(what, where=str(path), code="key-unreadable") from fault


def _make_secret(path: Path, data: bytes) -> None:
    """Write a new secret, whole or not at all; one that somebody made meanwhile stays."""
    temporary = path.parent / f".{os.urandom(8).hex()}.tmp"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.link(temporary, path)
        except FileExistsError:
            return
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as fault:
        raise WriteError(f"{path} could not be made: {fault.strerror}", where=str(path)) from fault


def _malformed(path: Path, why: str) -> SigningKeyError:
    hint = "put the right key there, or remove the file to have a new one made"
    return SigningKeyError(f"{path.name} is no key: {why}", where=str(path), hint=hint, code="key-malformed")
