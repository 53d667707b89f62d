"""A Python that this machine's Debian does not have, from the packages of a later release. They are unpacked, not installed: it
runs with the C library of that release."""

import os
import subprocess

from installed import download, kept

RELEASE = "forky"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LIBRARIES = ("libc6", "libssl3t64", "libffi8", "zlib1g", "libexpat1", "libsqlite3-0", "liblzma5", "libbz2-1.0", "libuuid1", "libzstd1",
             "libgcc-s1")


def debian_python(version):
    """The path of its program."""
    packages = [f"python{version}", f"python{version}-minimal", f"libpython{version}-stdlib", f"libpython{version}-minimal", *LIBRARIES]

    def make(directory):
        apt, root = directory / "apt", directory / "root"
        for folder in ("lists/partial", "cache/archives/partial", "packages"):
            (apt / folder).mkdir(parents=True)
        (apt / "sources.list").write_text(f"deb [signed-by={KEYRING}] http://deb.debian.org/debian {RELEASE} main\n")
        (apt / "conf").write_text(f"""Dir::Etc::sourcelist "{apt}/sources.list"; Dir::Etc::sourceparts "-";
Dir::State::lists "{apt}/lists"; Dir::Cache "{apt}/cache"; Dir::State::status "/dev/null"; APT::Sandbox::User "root";\n""")
        environment = {**os.environ, "APT_CONFIG": str(apt / "conf")}
        download("Debian", ["apt-get", "-q", "update"], env=environment)
        download("Debian", ["apt-get", "-q", "download", *packages], env=environment, cwd=apt / "packages")
        for package in (apt / "packages").glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, root], check=True)
        subprocess.run(["rm", "-r", apt], check=True)
        program, library = root / f"usr/bin/python{version}", root / "usr/lib/x86_64-linux-gnu"
        program.rename(program.with_suffix(".elf"))
        program.write_text(f'#!/bin/sh\nexec {library}/ld-linux-x86-64.so.2 --library-path {library} --argv0 "$0" {program.with_suffix(".elf")} "$@"\n')
        program.chmod(0o755)

    return kept(f"debian-python{version}", repr((RELEASE, packages)).encode(), make) / f"root/usr/bin/python{version}"
