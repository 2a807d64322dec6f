"""A small provider of OpenID Connect on this machine: it vouches for whomever it is told to, and lies on demand.

Written from the standards and without the code under test: it checks the client's secret, the redirection, that a code
is used once, and the challenge of PKCE; tokens are put together and signed here, byte by byte.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

CLIENT, SECRET = "tacit", "s3cret/+ü"
KEY, OTHER_KEY = (rsa.generate_private_key(65537, 2048) for _ in range(2))


def encoded(content: bytes) -> str:
    """Base64 for addresses, without padding."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def key_set(key: rsa.RSAPrivateKey, kid: str) -> dict[str, Any]:
    """The public half, as it is published."""
    numbers = key.public_key().public_numbers()
    n, e = (encoded(each.to_bytes((each.bit_length() + 7) // 8, "big")) for each in (numbers.n, numbers.e))
    return {"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": n, "e": e}]}


def signed(header: dict[str, Any], claims: dict[str, Any], key: rsa.RSAPrivateKey = KEY) -> str:
    """A token by RS256, whatever its header says."""
    said = f"{encoded(json.dumps(header).encode())}.{encoded(json.dumps(claims).encode())}"
    return f"{said}.{encoded(key.sign(said.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def by_secret(header: dict[str, Any], claims: dict[str, Any], secret: bytes) -> str:
    """A token by HS256."""
    said = f"{encoded(json.dumps(header).encode())}.{encoded(json.dumps(claims).encode())}"
    return f"{said}.{encoded(hmac.new(secret, said.encode(), hashlib.sha256).digest())}"


@dataclass
class Here:
    """The provider: whom it vouches for, and how it lies."""

    address: str = ""
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "person-1"})
    description: Callable[[dict[str, Any]], Any] = lambda said: said
    token: Callable[[dict[str, Any], dict[str, Any]], Any] = signed
    claims: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
    reply: Callable[[dict[str, Any]], dict[str, Any]] = lambda reply: reply
    back: dict[str, str] = field(default_factory=dict)
    kid: str = "one"
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def described(self) -> Any:
        """What it says of itself."""
        said = {
            "issuer": self.address,
            "authorization_endpoint": f"{self.address}/authorize",
            "token_endpoint": f"{self.address}/token",
            "jwks_uri": f"{self.address}/keys",
            "code_challenge_methods_supported": ["S256"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }
        return self.description(said)

    def authorized(self, said: dict[str, str]) -> str:
        """Where the browser goes back to."""
        assert said["response_type"] == "code"
        assert said["code_challenge_method"] == "S256"
        assert "openid" in said["scope"].split()
        code = secrets.token_urlsafe(8)
        self.codes[code] = said
        return said["redirect_uri"] + "?" + urlencode({"code": code, "state": said["state"], **self.back})

    def bought(self, said: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """What a code is worth."""
        user, _, password = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        if (unquote_plus(user), unquote_plus(password)) != (CLIENT, SECRET):
            return 401, {"error": "invalid_client"}
        begun = self.codes.pop(said.get("code", ""), None)
        if begun is None or said.get("redirect_uri") != begun["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        challenge = encoded(hashlib.sha256(said.get("code_verifier", "").encode()).digest())
        if challenge != begun["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        now, access = int(time.time()), secrets.token_urlsafe(16)
        claims = {
            "iss": self.address,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": begun["nonce"],
            "at_hash": encoded(hashlib.sha256(access.encode()).digest()[:16]),
            **self.person,
        }
        text = self.token({"alg": "RS256", "kid": self.kid, "typ": "JWT"}, self.claims(claims))
        return 200, self.reply({"access_token": access, "token_type": "Bearer", "id_token": text})


@contextmanager
def provider() -> Iterator[Here]:
    """A provider that runs."""
    here = Here()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            here.asked.append(parts.path)
            said = {name: each[0] for name, each in parse_qs(parts.query).items()}
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", here.authorized(said))
                self.end_headers()
            elif parts.path == "/keys":
                self.tell(200, key_set(KEY, here.kid))
            else:
                self.tell(200, here.described())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            here.asked.append("/token")
            said = {name: each[0] for name, each in parse_qs(body).items()}
            self.tell(*here.bought(said, self.headers.get("Authorization", "")))

        def tell(self, status: int, content: Any) -> None:
            body = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    here.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield here
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
