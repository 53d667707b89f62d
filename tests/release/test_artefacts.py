"""Each file that .ci/release makes is used as its user would use it."""

import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import tarfile

import pytest
import yaml

from made import SECONDS, TREE, VERSION, make, one, run


def test_checksums_and_provenance_name_every_file(dist):
    sums = dict(reversed(line.split("  ")) for line in (dist / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {file.name for file in dist.iterdir()} - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest, name
    statement = json.loads(one(dist, "*.intoto.json").read_text())
    subjects = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    assert subjects == {name: digest for name, digest in sums.items() if not name.endswith(".intoto.json")}


def test_equal_inputs_make_equal_bytes(dist, tmp_path):
    again = tmp_path / "dist"
    again.mkdir()
    assert (make(again, "amd64") / "SHA256SUMS").read_text() == (dist / "SHA256SUMS").read_text()


@pytest.mark.parametrize("name", ["skiff", "skiffd", "skiff.debug", "skiffd.debug"])
def test_no_path_of_this_machine_is_in_the_programs(name):
    # Debian's headers are below /usr; ours have names that begin in the build directory.
    named = re.findall(rb"(?<![\w./])/(?!usr/)[\w./+-]+\.[ch]pp\b", (pathlib.Path(os.environ["SKIFF"]).parent / name).read_bytes())
    assert sorted(set(named)) == []


def test_the_archive_holds_programs_that_run_and_their_documents(dist, tmp_path):
    with tarfile.open(one(dist, "skiff-*-linux-amd64.tar.gz")) as archive:
        assert {(entry.uid, entry.uname, entry.mtime) for entry in archive} == {(0, "root", SECONDS)}
        archive.extractall(tmp_path)
    (base,) = tmp_path.iterdir()
    for name in "skiff", "skiffd":
        assert run(base / "bin" / name, "version", env={}).stdout.startswith(f"{name} ")
    assert {"LICENSE", "NOTICE", "share", "bin"} == {path.name for path in base.iterdir()}


@pytest.mark.parametrize("shell", ["dash", "busybox"])
def test_the_installer_installs_what_the_checksums_name(dist, tmp_path, shell):
    home = tmp_path / "home"
    home.mkdir()
    programs = tmp_path / "path"
    programs.mkdir()
    if shell == "busybox":  # as on Alpine
        run("busybox", "--install", "-s", programs, check=True)
        (programs / "curl").symlink_to(shutil.which("curl"))
    path = str(programs) if shell == "busybox" else os.environ["PATH"]
    line = ["busybox", "sh"] if shell == "busybox" else [shell]
    variables = {"HOME": str(home), "PATH": path, "SKIFF_FROM": f"file://{dist}", "TMPDIR": str(tmp_path)}
    done = run(shutil.which(line[0]), *line[1:], dist / "install.sh", env=variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert "installed skiff " in done.stdout and "add it to PATH" in done.stdout
    hello = run(home / ".local/bin/skiff", "run", "--driver", "local", "--", "echo", "hello",
                env={"HOME": str(home), "PATH": f"{home}/.local/bin:{os.environ['PATH']}"})
    assert (hello.returncode, hello.stdout) == (0, "hello\n"), hello.stderr
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith("tmp.")] == []


def test_the_installer_changes_nothing_when_a_file_is_not_the_right_one(dist, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(dist, copy)
    archive = one(copy, "skiff-*-linux-amd64.tar.gz")
    archive.write_bytes(archive.read_bytes()[:-1] + b"x")
    home = tmp_path / "home"
    home.mkdir()
    done = run("sh", copy / "install.sh", env={"HOME": str(home), "PATH": os.environ["PATH"], "SKIFF_FROM": f"file://{copy}"})
    assert done.returncode == 1 and "nothing was installed" in done.stderr
    assert list(home.iterdir()) == []


@pytest.fixture(scope="module")
def signed(dist, tmp_path_factory):
    """A release that is signed, and the public key that its user has from elsewhere."""
    folder = tmp_path_factory.mktemp("signed")
    run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", folder / "key.pem", check=True)
    copy = folder / "dist"
    shutil.copytree(dist, copy)
    assert run(TREE / ".ci/sign", folder / "key.pem", copy).returncode == 0
    shutil.move(copy / "skiff.pub", folder)
    return copy, folder / "skiff.pub"


def install(directory, home, *arguments, **variables):
    """A variable that is None is not set."""
    home.mkdir()
    chosen = {"HOME": str(home), "PATH": os.environ["PATH"], "SKIFF_FROM": f"file://{directory}", **variables}
    return run("sh", directory / "install.sh", *arguments, env={name: value for name, value in chosen.items() if value is not None}, cwd=home)


@pytest.mark.parametrize("variables, why", [
    ({"SKIFF_VERSION": "9.9.9"}, "SKIFF_VERSION is 9.9.9, and "),
    ({"SKIFF_VERSION": "../evil"}, "must be like 1.2.3"),
    ({"SKIFF_FROM": "http://mirror.invalid/skiff"}, "use https"),
    ({"SKIFF_FROM": "http://127.0.0.1.mirror.invalid/skiff"}, "use https"),
    ({"SKIFF_FROM": "http://127.0.0.1:80@mirror.invalid/skiff"}, "use https"),
    ({"SKIFF_FROM": "ftp://mirror.invalid/skiff"}, "must be https://... or file:///..."),
    ({"SKIFF_FROM": "dist"}, "must be https://... or file:///..."),
    ({"HOME": None}, "HOME is not set: SKIFF_PREFIX=DIR says where to install"),
    ({"HOME": ""}, "HOME is not set"),
])
def test_the_installer_refuses_what_it_cannot_do_in_one_sentence(dist, tmp_path, variables, why):
    done = install(dist, tmp_path / "home", **variables)
    assert done.returncode == 1 and done.stdout == "" and why in done.stderr
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("install.sh: "), done.stderr
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize("arguments", [["--prefix", "/x"], ["1.2.3"], [""]])
def test_the_installer_refuses_arguments(dist, tmp_path, arguments):
    done = install(dist, tmp_path / "home", *arguments)
    assert done.returncode == 1 and "it takes no arguments" in done.stderr and "--help" in done.stderr
    assert list((tmp_path / "home").iterdir()) == []


def test_the_help_of_the_installer_says_where_a_variable_goes(dist, tmp_path):
    done = install(dist, tmp_path / "home", "--help")
    assert (done.returncode, done.stderr) == (0, "") and "install.sh | SKIFF_PREFIX=/opt/skiff sh\n" in done.stdout
    read = set(re.findall(r"SKIFF_[A-Z_]+", (TREE / "deploy/install.sh").read_text()))
    assert set(re.findall(r"SKIFF_[A-Z_]+", done.stdout)) == read
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize("version", [VERSION, f"v{VERSION}"])
def test_the_installer_takes_the_version_with_and_without_its_letter(dist, tmp_path, version):
    done = install(dist, tmp_path / "home", SKIFF_VERSION=version)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    # Without SKIFF_FROM the address has one letter.
    done = install(dist, tmp_path / "another", SKIFF_VERSION=version, SKIFF_FROM=None)
    assert done.returncode == 1 and f"/releases/download/v{VERSION}/SHA256SUMS can't be fetched" in done.stderr


def test_the_lines_of_the_installer_work_from_any_directory(dist, tmp_path):
    done = install(dist, tmp_path / "home", SKIFF_PREFIX="some/../place", SHELL="/usr/bin/zsh")
    place = tmp_path / "home/place"
    assert done.stdout.splitlines() == [f"installed skiff {VERSION} in {place}/bin",
                                        f'for completion add to ~/.zshrc, before compinit:  fpath=("{place}/share/zsh/site-functions" $fpath)',
                                        f'add it to PATH:  export PATH="{place}/bin:$PATH"', "try it:  skiff up demo"]


def test_zsh_completes_with_the_line_of_the_installer(dist, tmp_path):
    done = install(dist, tmp_path / "home", SHELL="/bin/zsh")
    (line,) = re.findall(r"compinit:  (fpath=.*)", done.stdout)
    told = run("zsh", "-f", "-c", f"{line}; autoload -Uz compinit && compinit -D && echo $_comps[skiff]", env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]})
    assert told.stdout == "_skiff\n", told


def test_the_installer_verifies_the_signature_with_a_key(signed, tmp_path):
    directory, key = signed
    done = install(directory, tmp_path / "home", SKIFF_PUBLIC_KEY=str(key))
    assert done.returncode == 0 and (tmp_path / "home/.local/bin/skiff").exists(), done.stderr


@pytest.mark.parametrize("change", ["other checksums", "another key", "a signature that is missing"])
def test_the_installer_changes_nothing_when_the_signature_is_not_right(signed, tmp_path, change):
    directory, key = tmp_path / "dist", tmp_path / "skiff.pub"
    shutil.copytree(signed[0], directory)
    shutil.copy(signed[1], key)
    if change == "other checksums":
        (directory / "SHA256SUMS").write_text((directory / "SHA256SUMS").read_text() + "0" * 64 + "  another\n")
    elif change == "another key":
        run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", tmp_path / "other.pem", check=True)
        run("openssl", "pkey", "-in", tmp_path / "other.pem", "-pubout", "-out", key, check=True)
    else:
        (directory / "SHA256SUMS.sig").unlink()
    done = install(directory, tmp_path / "home", SKIFF_PUBLIC_KEY=str(key))
    assert done.returncode == 1 and ("nothing was installed" in done.stderr or "can't be read" in done.stderr), done.stderr
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="dpkg gives files to root")
def test_the_debian_packages_install_and_go_without_a_trace(dist, tmp_path):
    root = tmp_path / "root"
    for directory in "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers":
        (root / directory).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    (root / "var/lib/dpkg/available").touch()
    before = {path for path in root.rglob("*") if "var/lib/dpkg" not in str(path)}
    dpkg = ["dpkg", f"--root={root}", "--force-not-root", "--force-bad-path", f"--log={tmp_path}/log"]
    done = run(*dpkg, "--install", one(dist, "skiff_*.deb"), one(dist, "skiffd_*.deb"))
    assert done.returncode == 0, done.stderr
    for name in "skiff", "skiffd":
        assert run(root / "usr/bin" / name, "version", env={}).returncode == 0
        assert run(*dpkg, "--verify", name).stdout == ""
    assert (root / "usr/lib/systemd/system/skiffd.service").exists() and not (root / "lib").exists()
    assert gzip.decompress((root / "usr/share/man/man1/skiff.1.gz").read_bytes()).startswith(b".TH SKIFF 1")
    assert run(*dpkg, "--purge", "skiff", "skiffd").returncode == 0
    assert {path for path in root.rglob("*") if "var/lib/dpkg" not in str(path)} == before


def test_the_debian_package_of_the_launcher_recommends_the_agent(dist):
    def field(name, package):
        return run("dpkg-deb", "--field", one(dist, f"{package}_*.deb"), name, check=True).stdout.strip()

    assert field("Recommends", "skiff") == f"skiffd (= {VERSION})" and field("Depends", "skiff") == ""
    assert "also need the package skiffd" in field("Description", "skiff") and field("Recommends", "skiffd") == ""


def test_the_launcher_alone_names_the_package_that_it_misses(tmp_path):
    shutil.copy(os.environ["SKIFF"], tmp_path)
    for words in ("up", "demo"), ("doctor",):
        done = run(tmp_path / "skiff", *words, "--driver", "local", env={"HOME": str(tmp_path), "PATH": "/nowhere"})
        assert done.returncode != 0 and "Debian's package" in done.stdout + done.stderr, done


def layout_of(archive, directory):
    """The index and the blobs of an OCI layout; each blob is what its name says."""
    with tarfile.open(archive) as file:
        file.extractall(directory)
    blobs = {f"sha256:{path.name}": path.read_bytes() for path in (directory / "blobs/sha256").iterdir()}
    for digest, data in blobs.items():
        assert hashlib.sha256(data).hexdigest() == digest.removeprefix("sha256:")
    assert json.loads((directory / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    (named,) = json.loads((directory / "index.json").read_text())["manifests"]
    return named, blobs


@pytest.mark.parametrize("name, program", [("skiffd", "skiffd"), ("skiff", "usr/local/bin/skiff")])
def test_an_image_holds_the_program_and_its_licences(dist, tmp_path, name, program):
    named, blobs = layout_of(one(dist, f"{name}-*-image.tar"), tmp_path / "layout")
    # podman and containerd give the image these names when they load the file.
    assert named["annotations"] == {"org.opencontainers.image.ref.name": f"{name}:{VERSION}",
                                    "io.containerd.image.name": f"docker.io/library/{name}:{VERSION}"}
    (of_amd64,) = json.loads(blobs[named["digest"]])["manifests"]
    assert of_amd64["platform"] == {"architecture": "amd64", "os": "linux"}
    manifest = json.loads(blobs[of_amd64["digest"]])
    config = json.loads(blobs[manifest["config"]["digest"]])
    (layer,) = manifest["layers"]
    unpacked = gzip.decompress(blobs[layer["digest"]])
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(unpacked).hexdigest()}"]
    assert config["config"]["Entrypoint"] == [f"/{program}"] and config["config"]["User"] == "1000:1000"
    with tarfile.open(one(dist, f"{name}-*-image.tar")) as file:
        assert all(entry.uid == 0 for entry in file)
    (tmp_path / "layer.tar").write_bytes(unpacked)
    with tarfile.open(tmp_path / "layer.tar") as file:
        file.extractall(tmp_path / "rootfs")
    assert run(tmp_path / "rootfs" / program, "version", env={}).stdout.startswith(f"{name} ")
    assert {"LICENSE", "NOTICE"} == {path.name for path in (tmp_path / "rootfs/licenses").iterdir()}


def test_the_chart_has_the_version_and_is_the_same_as_an_artefact(dist, tmp_path):
    packed = one(dist, "skiff-serve-*.tgz")
    with tarfile.open(packed) as file:
        about = yaml.safe_load(file.extractfile("skiff-serve/Chart.yaml"))
        assert {"skiff-serve/values.yaml", "skiff-serve/values.schema.json"} <= set(file.getnames())
        readme = file.extractfile("skiff-serve/README.md").read().decode()
        links = [link for link in re.findall(r"\]\(([^)#]+)", readme) if not link.startswith("https://")]
        assert {f"skiff-serve/{link}" for link in links} <= set(file.getnames())
    assert about["version"] == about["appVersion"] and f"-{about['version']}.tgz" in packed.name
    named, blobs = layout_of(one(dist, "skiff-serve-*-chart.tar"), tmp_path)
    assert named["annotations"]["org.opencontainers.image.ref.name"] == about["version"]
    manifest = json.loads(blobs[named["digest"]])
    assert json.loads(blobs[manifest["config"]["digest"]]) == about
    assert blobs[manifest["layers"][0]["digest"]] == packed.read_bytes()


def test_krew_finds_the_program_in_the_archive(dist):
    manifest = yaml.safe_load((dist / "skiff-krew.yaml").read_text())
    (platform,) = manifest["spec"]["platforms"]
    archive = dist / pathlib.PurePosixPath(platform["uri"]).name
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == platform["sha256"]
    with tarfile.open(archive) as file:
        assert {entry["from"] for entry in platform["files"]} <= set(file.getnames())
    # The plugin makes sandboxes on this machine, too.
    assert {pathlib.PurePosixPath(entry["from"]).name for entry in platform["files"]} == {"skiff", "skiffd", "LICENSE"}


def test_the_lists_of_components_name_what_the_notices_name(dist):
    notice = (TREE / "NOTICE").read_text()
    packages = set(re.findall(r"Debian package ([a-z0-9.+-]+)", notice))
    spdx = json.loads(one(dist, "*.spdx.json").read_text())
    cyclone = json.loads(one(dist, "*.cdx.json").read_text())
    named = {reference["referenceLocator"] for package in spdx["packages"] for reference in package.get("externalRefs", [])}
    assert {found[1] for one in named if (found := re.search(r"debian/([^@]+)@", one))} == packages
    of_page = set(re.findall(r"@?[\w/-]+(?=[,;])", " ".join(re.findall(r"npm packages ([^;]+;)", notice))))
    assert {found[1].replace("%40", "@") for one in named if (found := re.search(r"npm/(.+)@", one))} == of_page
    assert named == {component["purl"] for component in cyclone["components"]} == set(cyclone["dependencies"][0]["dependsOn"])


def test_the_manual_describes_each_command_and_flag(dist):
    manual = (dist.parent / f"{dist.name}-man/man1/skiff.1").read_text().replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")
    general = run(os.environ["SKIFF"], "--help").stdout
    commands = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +\S", general.partition("Other names")[0], re.M)
    assert len(commands) > 30
    for command in commands:
        assert f".SH SKIFF {command.upper()}\n" in manual, command
        flags = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", run(os.environ["SKIFF"], *command.split(), "--help").stdout, re.M)
        assert all(flag in manual for flag in flags), command
    agent = (dist.parent / f"{dist.name}-man/man8/skiffd.8").read_text().replace("\\-", "-")
    assert all(flag in agent for flag in re.findall(r"^  (--[a-z0-9-]+)", run(os.environ["SKIFFD"], "--help").stdout, re.M))
