"""A provider of OpenID Connect: what it says of itself, its keys, and whether a code and an ID token are genuine.

Promise: a person is who the issuer says, or is refused. The provider's own description must name the issuer that the
owner wrote; its addresses are reached over TLS (or on this machine), without following redirections, within seconds and
up to a few hundred kilobytes. An ID token counts only with a signature of one of the issuer's published keys by a
public-key algorithm (never `none`, never a shared secret), for this client alone (`aud`, `azp`), with this log-in's
nonce, within its time (`exp`, `iat`, `nbf`; a minute of leeway for clocks), and with the hash of its access token where
it has one.

Authlib checks the claims, joserfc the signature. Sources: OpenID Connect Core 1.0, 3.1.3.7; RFC 7636; RFC 9207.
"""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Mapping
from typing import Any, Final, NoReturn
from urllib.parse import quote_plus, urlsplit

import httpx
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from tacit.doors.http.problems import Problem
from tacit.doors.openid.round_trip import Trip
from tacit.doors.openid.settings import Settings, is_safe, is_this_machine

ALGORITHMS: Final = ("RS256", "PS256", "ES256", "RS384", "PS384", "ES384", "RS512", "PS512", "ES512", "Ed25519")
LEEWAY: Final = 60
"""Seconds by which two clocks may differ."""
OLDEST: Final = 600
"""Seconds since an ID token was made, at most."""
BACK: Final = "/login/back"
_SECONDS: Final = 10.0
_LONGEST: Final = 256 * 1024
_KEPT: Final = 3_600.0
_KEYS_AGAIN: Final = 30.0
_UNUSABLE: Final = (
    "The provider of log-ins cannot be reached, or what it says cannot be used. Try again, or take a token."
)
_NOT_GENUINE: Final = "The provider's word for who you are does not hold. Begin again, or take a token."


class Provider:
    """One provider, as this server knows it."""

    def __init__(self, settings: Settings, address: str, transport: httpx.BaseTransport | None = None) -> None:
        self.settings = settings
        self._back = f"{settings.address or address}{BACK}"
        here = is_this_machine(urlsplit(settings.issuer).hostname or "")
        self._line = httpx.Client(
            timeout=_SECONDS, follow_redirects=False, trust_env=not here, transport=transport, max_redirects=0
        )
        self._lock = threading.Lock()
        self._said: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None

    def address(self, trip: Trip) -> str:
        """Where the browser goes."""
        said = self._description()
        scope = "openid email" if self.settings.claim == "email" else "openid"
        found: str = prepare_grant_uri(
            said["authorization_endpoint"],
            client_id=self.settings.client_id,
            response_type="code",
            redirect_uri=self._back,
            scope=scope,
            state=trip.state,
            nonce=trip.nonce,
            code_challenge=create_s256_code_challenge(trip.verifier),
            code_challenge_method="S256",
        )
        return found

    def person(self, trip: Trip, code: str, issuer: str | None) -> str:
        """The value of the claim that the owner's file knows people by; `issuer` is what came back with the code."""
        said = self._description()
        named = said.get("authorization_response_iss_parameter_supported") is True
        if (named or issuer is not None) and issuer != self.settings.issuer:
            _refuse()
        told = self._bought(said["token_endpoint"], code, trip.verifier)
        claims = self._claims(told, trip, said)
        found = claims.get(self.settings.claim)
        if self.settings.claim == "email" and claims.get("email_verified") is not True:
            raise Problem(
                403, "not verified", "The provider has not verified your address. Ask it to, or take a token."
            )
        if not isinstance(found, str) or not 0 < len(found) <= 255:
            _refuse()
        return found

    def close(self) -> None:
        """Close its connections."""
        self._line.close()

    def _bought(self, endpoint: str, code: str, verifier: str) -> dict[str, Any]:
        """What the provider gives for a code."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._back,
            "client_id": self.settings.client_id,
            "code_verifier": verifier,
        }
        secret = self.settings.secret
        auth = None if secret is None else httpx.BasicAuth(quote_plus(self.settings.client_id), quote_plus(secret))
        return self._fetched("POST", endpoint, data=form, auth=auth)

    def _claims(self, told: Mapping[str, Any], trip: Trip, said: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the ID token says, if all of it holds."""
        text, access = told.get("id_token"), told.get("access_token")
        if not isinstance(text, str) or (access is not None and not isinstance(access, str)):
            _refuse()
        listed = said.get("id_token_signing_alg_values_supported")
        known = [each for each in ALGORITHMS if not isinstance(listed, list) or each in listed]
        client, now = self.settings.client_id, int(time.time())
        wanted = {
            "iss": {"essential": True, "value": self.settings.issuer},
            "aud": {"essential": True, "value": client},
            **{name: {"essential": True} for name in ("sub", "exp", "iat", "nonce")},
        }
        params = {"nonce": trip.nonce, "client_id": client, "access_token": access}
        try:
            token = self._decoded(text, known, said)
            claims = CodeIDToken(token.claims, token.header, wanted, params)
            claims.validate(now=now, leeway=LEEWAY)
        except (JoseError, ValueError, TypeError, KeyError):  # TypeError: a claim of another kind than it must have
            _refuse()
        audience, made = claims["aud"], claims["iat"]
        alone = audience == client or audience == [client]
        fresh = isinstance(made, (int, float)) and now - OLDEST <= made
        same = isinstance(claims["nonce"], str) and hmac.compare_digest(claims["nonce"].encode(), trip.nonce.encode())
        if not (alone and fresh and same) or isinstance(claims["exp"], bool):
            _refuse()
        return dict(claims)

    def _decoded(self, text: str, known: list[str], said: Mapping[str, Any]) -> jwt.Token:
        try:
            return jwt.decode(text, self._key_set(said, 0.0), algorithms=known)
        except InvalidKeyIdError:  # the provider may have new keys; it is not asked more than twice a minute
            return jwt.decode(text, self._key_set(said, _KEYS_AGAIN), algorithms=known)

    def _key_set(self, said: Mapping[str, Any], again_after: float) -> KeySet:
        with self._lock:
            now, kept = time.monotonic(), self._keys
            longest = again_after or _KEPT
            if kept is None or now - kept[0] > longest:
                content: Any = self._fetched("GET", said["jwks_uri"])
                try:
                    kept = (now, KeySet.import_key_set(content))
                except (JoseError, ValueError, TypeError, KeyError):
                    raise _unusable() from None
                self._keys = kept
            return kept[1]

    def _description(self) -> dict[str, Any]:
        """What the provider says of itself; the issuer must be the one that the owner wrote."""
        with self._lock:
            now = time.monotonic()
            if self._said is None or now - self._said[0] > _KEPT:
                where = self.settings.issuer.rstrip("/") + "/.well-known/openid-configuration"
                content = self._fetched("GET", where)
                methods = content.get("code_challenge_methods_supported")
                addresses = [content.get(key) for key in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
                if (
                    content.get("issuer") != self.settings.issuer
                    or not all(isinstance(each, str) and is_safe(each) for each in addresses)
                    or (isinstance(methods, list) and "S256" not in methods)
                ):
                    raise _unusable()
                self._said = (now, content)
            return self._said[1]

    def _fetched(self, method: str, address: str, **more: Any) -> dict[str, Any]:
        """A JSON object from the provider."""
        ends = time.monotonic() + _SECONDS
        try:
            with self._line.stream(method, address, headers={"Accept": "application/json"}, **more) as reply:
                parts, size = [], 0
                for part in reply.iter_bytes():
                    size += len(part)
                    if size > _LONGEST or time.monotonic() > ends:
                        raise _unusable()
                    parts.append(part)
                status = reply.status_code
            content = json.loads(b"".join(parts))
        except (httpx.HTTPError, ValueError, RecursionError):
            raise _unusable() from None
        if method == "POST" and 400 <= status < 500:  # the code was not taken
            _refuse()
        if status != 200 or not isinstance(content, dict):
            raise _unusable()
        return content


def _refuse() -> NoReturn:
    raise Problem(403, "not genuine", _NOT_GENUINE)


def _unusable() -> Problem:
    return Problem(502, "no provider", _UNUSABLE)
