"""The packages `skiff-sandbox` for pip and npm: the SDK of the language and both programs. `language_packages.py DIRECTORY ARCH...`
writes them alone. It needs what `.ci/setup --release` installs: node, and the compiler of TypeScript.

Installers choose the programs of their architecture: pip by the wheel's tags, npm by `os` and `cpu` of the packages that the
package `skiff-sandbox` names as optional ones. Where there are no programs, pip takes the wheel with the SDK alone."""

import base64
import hashlib
import io
import json
import pathlib
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile

import sdk_typescript
from contents import EPOCH, HOME, SUMMARY, TOP, VERSION, documents, gzipped, program, tar_of

sys.path.append(str(TOP / "tests/clients"))
import installed  # noqa: E402

NAME = "skiff-sandbox"
SDK = TOP / "sdk/python"
COMPILER = TOP / "tests/clients/sdk_typescript"  # its package.json names the version
PROGRAMS = "Sandboxes for AI agents: the programs skiff and skiffd"
ABOUT_PROGRAMS = f"""# The programs of {NAME}

`skiff` {SUMMARY["skiff"]}.
`skiffd` {SUMMARY["skiffd"]}.
Both are static. Install `{NAME}`, which chooses this package where it runs.

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


def metadata(project):
    """Core metadata 2.4 of what sdk/python/pyproject.toml says."""
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {VERSION}", f"Summary: {project['description']}",
             f"Project-URL: Homepage, {HOME}", f"License-Expression: {project['license']}", "License-File: LICENSE", "License-File: NOTICE",
             *(f"Classifier: {one}" for one in project["classifiers"]), f"Requires-Python: {project['requires-python']}",
             *(f"Requires-Dist: {one}" for one in project["dependencies"])]
    for extra, wanted in project.get("optional-dependencies", {}).items():
        lines += [f"Provides-Extra: {extra}", *(f"Requires-Dist: {one}; extra == '{extra}'" for one in wanted)]
    lines += ["Description-Content-Type: text/markdown", "", (SDK / project["readme"]).read_text()]
    return "\n".join(lines).encode()


def entry_points(project):
    groups = [f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
              for group, entries in project["entry-points"].items()]
    return "\n".join(groups).encode()


def programs_of_wheel(dist, base, arch):
    texts = documents(dist)
    return {**{f"{base}.data/scripts/{name}": (program(arch, name), 0o755) for name in SUMMARY},
            f"{base}.data/data/share/man/man1/skiff.1": (texts["skiff.1"], 0o644),
            f"{base}.data/data/share/man/man8/skiffd.8": (texts["skiffd.8"], 0o644)}


def wheel(dist, arch=None):
    """The module and the programs of an architecture, or the module alone."""
    base, texts, tags = f"{NAME.replace('-', '_')}-{VERSION}", documents(dist), WHEEL_TAGS[arch] if arch else ("any",)
    project = tomllib.loads((SDK / "pyproject.toml").read_text())["project"]
    sources = [path for path in sorted((SDK / "skiff_sandbox").rglob("*")) if path.suffix in (".py", ".typed")]
    about = f"Wheel-Version: 1.0\nGenerator: .ci/release\nRoot-Is-Purelib: {'false' if arch else 'true'}\n"
    about += "".join(f"Tag: py3-none-{tag}\n" for tag in tags)
    files = {str(path.relative_to(SDK)): (path.read_bytes(), 0o644) for path in sources}
    files |= programs_of_wheel(dist, base, arch) if arch else {}
    files |= {f"{base}.dist-info/METADATA": (metadata(project), 0o644),
              f"{base}.dist-info/WHEEL": (about.encode(), 0o644),
              f"{base}.dist-info/entry_points.txt": (entry_points(project), 0o644),
              f"{base}.dist-info/licenses/LICENSE": (texts["LICENSE"], 0o644),
              f"{base}.dist-info/licenses/NOTICE": (texts["NOTICE"], 0o644)}
    files[f"{base}.dist-info/RECORD"] = (record(files, f"{base}.dist-info/RECORD").encode(), 0o644)
    (dist / f"{base}-py3-none-{'.'.join(tags)}.whl").write_bytes(zip_of(files))


def name_of_programs(arch):
    return f"{NAME}-linux-{NODE_ARCH[arch]}"


def npm_programs(dist, arch):
    """The package with the programs of an architecture. As `npm pack` has it, everything is below package/."""
    name = name_of_programs(arch)
    about = {"name": name, "version": VERSION, "license": "Apache-2.0", "homepage": HOME,
             "description": f"{PROGRAMS}, for Linux on {NODE_ARCH[arch]}", "os": ["linux"], "cpu": [NODE_ARCH[arch]]}
    files = {f"package/bin/{program_name}": (program(arch, program_name), 0o755) for program_name in SUMMARY}
    files |= {f"package/{text}": ((TOP / text).read_bytes(), 0o644) for text in ("LICENSE", "NOTICE")}
    files |= {"package/README.md": (ABOUT_PROGRAMS.encode(), 0o644), "package/package.json": ((json.dumps(about, indent=2) + "\n").encode(), 0o644)}
    (dist / f"{name}-{VERSION}.tgz").write_bytes(gzipped(tar_of(files)))


def compiler():
    """The address of the compiler of TypeScript, as package-url has it."""
    return f"pkg:npm/typescript@{json.loads((COMPILER / 'package.json').read_text())['dependencies']['typescript']}"


def npm_sdk(dist, arches):
    """The package that people name: the compiled SDK, and the commands that start the programs of the other packages. What
    `npm pack` makes is written again, with the dates that all files have."""
    about = {"homepage": HOME, "optionalDependencies": {name_of_programs(arch): VERSION for arch in arches}}
    modules = installed.node_modules(COMPILER)
    with tempfile.TemporaryDirectory() as work, tarfile.open(sdk_typescript.pack(installed.node(), modules, work, **about)) as packed:
        files = {entry.name: (packed.extractfile(entry).read(), entry.mode) for entry in packed if entry.isfile()}
    (dist / f"{NAME}-{VERSION}.tgz").write_bytes(gzipped(tar_of(files)))


def main(dist, *arches):
    wheel(dist)
    for arch in arches:
        wheel(dist, arch)
        npm_programs(dist, arch)
    npm_sdk(dist, arches)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
