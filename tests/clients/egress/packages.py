"""A package of each kind, named demo, as its registry serves it: files below a directory that has the address `url`."""

import base64
import gzip
import hashlib
import io
import json
import tarfile
import zipfile


def put(root, path, content):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def tarball(files):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


def zipped(files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()


def python(root, url):
    wheel = "demo-1.0.0-py3-none-any.whl"
    put(root, f"python/files/{wheel}", zipped({
        "demo.py": "", "demo-1.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0.0\n",
        "demo-1.0.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "demo-1.0.0.dist-info/RECORD": ""}))
    put(root, "python/simple/demo/index.html", f'<!DOCTYPE html><a href="{url}/python/files/{wheel}">{wheel}</a>')


def npm(root, url):
    packed = tarball({"package/package.json": json.dumps({"name": "demo", "version": "1.0.0"})})
    put(root, "npm/demo-1.0.0.tgz", packed)
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
    put(root, "npm/demo", json.dumps({"name": "demo", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
        "name": "demo", "version": "1.0.0",
        "dist": {"tarball": f"{url}/npm/demo-1.0.0.tgz", "integrity": integrity, "shasum": hashlib.sha1(packed).hexdigest()}}}}))


def go(root, url):
    at = "go/example.com/demo/@v/"
    put(root, at + "list", "v1.0.0\n")
    put(root, at + "v1.0.0.info", json.dumps({"Version": "v1.0.0", "Time": "2026-01-01T00:00:00Z"}))
    put(root, at + "v1.0.0.mod", "module example.com/demo\n")
    put(root, at + "v1.0.0.zip", zipped({"example.com/demo@v1.0.0/go.mod": "module example.com/demo\n", "example.com/demo@v1.0.0/demo.go": "package demo\n"}))


def cargo(root, url):
    crate = tarball({"demo-1.0.0/Cargo.toml": '[package]\nname = "demo"\nversion = "1.0.0"\nedition = "2021"\n', "demo-1.0.0/src/lib.rs": ""})
    put(root, "cargo/files/demo/1.0.0/download", crate)
    put(root, "cargo/config.json", json.dumps({"dl": f"{url}/cargo/files"}))
    put(root, "cargo/de/mo/demo", json.dumps({"name": "demo", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
                                              "cksum": hashlib.sha256(crate).hexdigest()}) + "\n")


def debian(root, url):
    put(root, "debian/Packages.gz", gzip.compress(b"Package: demo\nVersion: 1.0.0\nArchitecture: all\nFilename: demo.deb\nSize: 1\nSHA256: " + b"0" * 64 + b"\n\n"))


def maven(root, url):
    put(root, "maven/com/example/demo/1.0.0/demo-1.0.0.pom", """<project><modelVersion>4.0.0</modelVersion>
<groupId>com.example</groupId><artifactId>demo</artifactId><version>1.0.0</version><packaging>pom</packaging></project>""")


def events(*some):
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in some)


def models(root, url):
    """The answers to two clients of language models: a stream in which the model says hello."""
    put(root, "model/v1/messages", events(
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "demo", "content": [], "stop_reason": None,
                                              "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello of a model"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"}))
    put(root, "model/responses", events(
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "item": {"type": "message", "id": "m", "role": "assistant",
                                                       "content": [{"type": "output_text", "text": "hello of a model"}]}},
        {"type": "response.completed", "response": {"id": "r", "usage": {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 4,
                                                                         "output_tokens_details": None, "total_tokens": 5}}}))


def make(root, url):
    for kind in (python, npm, go, cargo, debian, maven, models):
        kind(root, url)
