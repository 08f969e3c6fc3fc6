"""With TLS the name stays the name: it is in the handshake, and the certificate must be for it."""

import asyncio
import contextlib
import datetime
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from roomful.egress import EgressFailed, EgressRefused, HttpEgress
from tests.egress.endpoints import Names, get, http, read_request
from tests.servers.loopback import listening_at


def certificate(folder: Path, name: str) -> Path:
    """A key and a self-signed certificate for the name, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "certificate.pem"
    path.write_bytes(private + built.public_bytes(serialization.Encoding.PEM))
    return path


async def asked(
    pem: Path, host: str, *, trusted: bool = True, answer: bytes = http(200, b"safe")
) -> tuple[bytes, list[str | None]]:
    """The body that came back from `https://host`, and the names that were in handshakes."""
    names: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.sni_callback = lambda _socket, name, _context: names.append(name)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(answer)

    async with listening_at(serve, tls=context) as port:
        egress = HttpEgress(
            allow=[f"{host}:{port}"],
            resolve=Names({host: [["127.0.0.1"]]}),
            tls=ssl.create_default_context(cafile=str(pem)) if trusted else None,
        )
        with contextlib.closing(egress):
            return (await egress.send(get(f"https://{host}:{port}/", redirects=1))).body, names


def test_the_name_is_in_the_handshake_although_the_address_was_pinned(tmp_path: Path) -> None:
    pem = certificate(tmp_path, "service.test")

    assert asyncio.run(asked(pem, "service.test")) == (b"safe", ["service.test"])


@pytest.mark.parametrize(("host", "trusted"), [("other.test", True), ("service.test", False)])
def test_a_certificate_of_another_name_or_of_a_stranger_is_refused(
    tmp_path: Path, host: str, trusted: bool
) -> None:
    pem = certificate(tmp_path, "service.test")

    with pytest.raises(EgressFailed, match="certificate"):
        asyncio.run(asked(pem, host, trusted=trusted))


def test_a_redirect_from_https_to_http_is_refused(tmp_path: Path) -> None:
    pem = certificate(tmp_path, "service.test")

    with pytest.raises(EgressRefused, match="from https to http"):
        asyncio.run(asked(pem, "service.test", answer=http(302, location="http://service.test/")))
