"""Keys that sign, a reader's list of whom they trust, and a timestamp authority on this machine."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from driftledger_check.dsse import NAMESPACE

CONFIGURATION = """
[tsa]
default_tsa = one
[one]
serial = {folder}/serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_alg = sha256
"""


def make_key(folder: Path, name: str) -> Path:
    """An Ed25519 key without a passphrase; its public half."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return folder / f"{name}.pub"


def trusting(file: Path, *keys: Path, options: str = f'namespaces="{NAMESPACE}"') -> Path:
    """An allowed_signers file, in which each key's owner is called ``<name>@example.org``."""
    rows = [f"{key.stem}@example.org {options} {key.read_text(encoding='utf-8')}" for key in keys]
    file.write_text("".join(rows), encoding="utf-8")
    return file


class Authority:
    """An RFC 3161 authority of its own, by openssl."""

    def __init__(self, folder: Path, name: str = "Test Time") -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self.roots = folder / "root.pem"
        root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        root = _certificate(f"{name} Root", f"{name} Root", root_key, root_key, authority=True)
        own = _certificate(name, f"{name} Root", key, root_key, authority=False)
        self.roots.write_bytes(root.public_bytes(serialization.Encoding.PEM))
        (folder / "own.pem").write_bytes(own.public_bytes(serialization.Encoding.PEM))
        plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        (folder / "own.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *plain))
        (folder / "openssl.cnf").write_text(CONFIGURATION.format(folder=folder), encoding="utf-8")
        (folder / "serial").write_text("01", encoding="ascii")

    def answer(self, query: bytes) -> bytes:
        """The response to a query."""
        (self._folder / "query.tsq").write_bytes(query)
        command = ["openssl", "ts", "-reply", "-config", "openssl.cnf", "-queryfile", "query.tsq", "-out", "answer.tsr"]
        command += ["-signer", "own.pem", "-inkey", "own.key"]
        subprocess.run(command, check=True, capture_output=True, cwd=self._folder)
        return (self._folder / "answer.tsr").read_bytes()

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Its address, while the block lasts."""
        authority = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                answer = authority.answer(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        with serving(Handler) as address:
            yield address


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server on loopback, while the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _certificate(
    name: str, issuer: str, key: ec.EllipticCurvePrivateKey, signing: ec.EllipticCurvePrivateKey, *, authority: bool
) -> x509.Certificate:
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(
        subject_name=x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]),
        issuer_name=x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]),
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(days=2),
        not_valid_after=now + timedelta(days=2),
    ).add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    if not authority:
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
        made = made.add_extension(usage, critical=True)
    return made.sign(signing, hashes.SHA256())
