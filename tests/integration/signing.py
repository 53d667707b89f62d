"""Ed25519 keys and signed tokens, made with the openssl command line."""

import base64
import json
import subprocess
import time


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Signer:
    """Ed25519 keys and tokens made with the openssl command line."""

    def __init__(self, folder, private=None):
        """A new key, or the one that is given as PEM."""
        self.folder = folder
        self.private, self.public = folder / "private.pem", folder / "public.pem"
        if private is None:
            self._openssl("genpkey", "-algorithm", "ed25519", "-out", self.private)
        else:
            self.private.write_bytes(private)
        self._openssl("pkey", "-in", self.private, "-pubout", "-out", self.public)

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=20)

    def token(self, header=None, **claims):
        """A signed token for box-1, valid ten minutes; a claim None is left out."""
        header = {"alg": "EdDSA", "typ": "JWT", **(header or {})}
        claims = {"aud": "box-1", "exp": int(time.time()) + 600, "scope": "exec", **claims}
        claims = {name: value for name, value in claims.items() if value is not None}
        text = ".".join(b64url(json.dumps(part).encode()) for part in (header, claims))
        (self.folder / "text").write_text(text)
        self._openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.private, "-in", self.folder / "text",
                      "-out", self.folder / "signature")
        return text + "." + b64url((self.folder / "signature").read_bytes())
