"""The packages `skiff-sandbox` for pip and npm: both programs, and nothing else that runs. `language_packages.py DIRECTORY ARCH...`
writes them alone.

Installers choose the package of their architecture: pip by the wheel's tags, npm by `os` and `cpu` of the packages that the
package `skiff-sandbox` names as optional ones."""

import base64
import hashlib
import io
import json
import pathlib
import sys
import time
import zipfile

from contents import EPOCH, HOME, SUMMARY, TOP, VERSION, documents, gzipped, program, tar_of

NAME = "skiff-sandbox"
DESCRIPTION = "Sandboxes for AI agents: the programs skiff and skiffd"
ABOUT = f"""# {NAME}

`skiff` {SUMMARY["skiff"]}.
`skiffd` {SUMMARY["skiffd"]}.
This package puts both programs on `PATH`. They are static and run on Linux, on x86-64 and arm64.

    skiff run --driver local -- echo hello

Documentation: {HOME}
"""
# A static program needs neither libc. The numbers are the oldest ones that installers know of every architecture.
WHEEL_TAGS = {"amd64": ("manylinux_2_17_x86_64", "musllinux_1_1_x86_64"), "arm64": ("manylinux_2_17_aarch64", "musllinux_1_1_aarch64")}
NODE_ARCH = {"amd64": "x64", "arm64": "arm64"}
FIRST_DOS_DATE = 315532800  # 1980-01-01: a zip has no date before it


def zip_of(files):
    """A zip of {path: (bytes, mode)}, in the order given."""
    buffer = io.BytesIO()
    date = time.gmtime(max(EPOCH, FIRST_DOS_DATE))[:6]
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path, (data, mode) in files.items():
            entry = zipfile.ZipInfo(path, date)
            entry.create_system, entry.compress_type = 3, zipfile.ZIP_DEFLATED  # Unix, whose modes are kept
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, data)
    return buffer.getvalue()


def record(files, path):
    """The wheel's list of its files, as its specification has it: PATH,sha256=DIGEST,SIZE."""
    def digest(data):
        return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")

    rows = [f"{name},sha256={digest(data)},{len(data)}" for name, (data, _) in files.items()]
    return "\n".join([*rows, f"{path},,"]) + "\n"


def wheel(dist, arch):
    base, texts = f"{NAME.replace('-', '_')}-{VERSION}", documents(dist)
    about = (f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {VERSION}\nSummary: {DESCRIPTION}\nProject-URL: Homepage, {HOME}\n"
             "License-Expression: Apache-2.0\nLicense-File: LICENSE\nLicense-File: NOTICE\nRequires-Python: >=3.8\n"
             f"Description-Content-Type: text/markdown\n\n{ABOUT}")
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in WHEEL_TAGS[arch])
    files = {f"{base}.data/scripts/{name}": (program(arch, name), 0o755) for name in SUMMARY}
    files |= {f"{base}.data/data/share/man/man1/skiff.1": (texts["skiff.1"], 0o644),
              f"{base}.data/data/share/man/man8/skiffd.8": (texts["skiffd.8"], 0o644),
              f"{base}.dist-info/METADATA": (about.encode(), 0o644),
              f"{base}.dist-info/WHEEL": (f"Wheel-Version: 1.0\nGenerator: .ci/release\nRoot-Is-Purelib: false\n{tags}".encode(), 0o644),
              f"{base}.dist-info/licenses/LICENSE": (texts["LICENSE"], 0o644),
              f"{base}.dist-info/licenses/NOTICE": (texts["NOTICE"], 0o644)}
    files[f"{base}.dist-info/RECORD"] = (record(files, f"{base}.dist-info/RECORD").encode(), 0o644)
    (dist / f"{base}-py3-none-{'.'.join(WHEEL_TAGS[arch])}.whl").write_bytes(zip_of(files))


def write_npm(dist, about, files):
    """As `npm pack` names it: everything is below package/."""
    about = {"version": VERSION, "license": "Apache-2.0", "homepage": HOME, **about}
    texts = {"LICENSE": (TOP / "LICENSE").read_bytes(), "README.md": ABOUT.encode(), "package.json": (json.dumps(about, indent=2) + "\n").encode()}
    packed = {f"package/{name}": (data, 0o644) for name, data in texts.items()} | {f"package/{name}": file for name, file in files.items()}
    (dist / f"{about['name']}-{VERSION}.tgz").write_bytes(gzipped(tar_of(packed)))


def npm(dist, arches):
    """A package for each architecture, and the one that people name: it starts the program of the other."""
    notice = (TOP / "NOTICE").read_bytes()
    for arch in arches:
        files = {f"bin/{name}": (program(arch, name), 0o755) for name in SUMMARY} | {"NOTICE": (notice, 0o644)}
        write_npm(dist, {"name": f"{NAME}-linux-{NODE_ARCH[arch]}", "description": f"{DESCRIPTION}, for Linux on {NODE_ARCH[arch]}",
                         "os": ["linux"], "cpu": [NODE_ARCH[arch]]}, files)
    starter = (TOP / "deploy/npm/start.js").read_bytes()
    files = {f"bin/{name}": (f'#!/usr/bin/env node\nrequire("../start.js")("{name}");\n'.encode(), 0o755) for name in SUMMARY}
    write_npm(dist, {"name": NAME, "description": DESCRIPTION, "bin": {name: f"bin/{name}" for name in SUMMARY}, "engines": {"node": ">=18"},
                     "optionalDependencies": {f"{NAME}-linux-{NODE_ARCH[arch]}": VERSION for arch in arches}},
              files | {"start.js": (starter, 0o644)})


def main(dist, *arches):
    for arch in arches:
        wheel(dist, arch)
    npm(dist, arches)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
