"""Makes what is published of programs that are built: `packages.py DIRECTORY ARCH...`, called by .ci/release.

Archives, Debian packages, OCI image layouts, the Helm chart, the krew manifest, packages for pip and npm, lists of components,
checksums and a statement of provenance. Equal inputs make equal bytes (contents.py)."""

import hashlib
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

import language_packages
from contents import BUILDS, EPOCH, HOME, NOWHERE, PAGES, SUMMARY, TOP, VERSION, completions, documents, gzipped, program, tar_of

CREATED = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
# Debian's names of licences, and SPDX's.
SPDX = {"Apache-2.0": "Apache-2.0", "BSD-2-clause": "BSD-2-Clause", "BSD-2-Clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause",
        "BSD-3-google": "BSD-3-Clause", "Expat": "MIT", "LGPL-2+": "LGPL-2.0-or-later", "MIT": "MIT", "X11": "X11", "Zlib": "Zlib",
        "zlib": "Zlib"}
OPENSSL_CERTIFICATES = "usr/lib/ssl/cert.pem"  # a static OpenSSL of Debian's looks for its authorities here


# --- archives ---

def archive(dist, arch):
    """Both programs with their documents, and beside it what a debugger needs of them."""
    base, texts, scripts = f"skiff-{VERSION}-linux-{arch}", documents(dist), completions()
    files = {f"{base}/bin/{name}": (program(arch, name), 0o755) for name in SUMMARY}
    files |= {f"{base}/{name}": (texts[name], 0o644) for name in ("LICENSE", "NOTICE")}
    files |= {f"{base}/share/man/man1/skiff.1": (texts["skiff.1"], 0o644), f"{base}/share/man/man8/skiffd.8": (texts["skiffd.8"], 0o644),
              f"{base}/share/bash-completion/completions/skiff": (scripts["bash"], 0o644),
              f"{base}/share/zsh/site-functions/_skiff": (scripts["zsh"], 0o644),
              f"{base}/share/fish/vendor_completions.d/skiff.fish": (scripts["fish"], 0o644)}
    (dist / f"{base}.tar.gz").write_bytes(gzipped(tar_of(files)))
    debug = {f"{base}-debug/{name}.debug": ((BUILDS[arch] / f"{name}.debug").read_bytes(), 0o644) for name in SUMMARY}
    (dist / f"{base}-debug.tar.gz").write_bytes(gzipped(tar_of(debug)))


# --- Debian packages ---

# What a package needs beside itself, and how its description says it.
DEBIAN_NEEDS = {"skiff": ("Recommends: skiffd (= {version})\n",
                          " One static program. Sandboxes on this machine also need the package skiffd;\n those in a cluster do not.\n"),
                "skiffd": ("", " One static program; it needs no other package.\n")}


def debian_files(dist, arch, name):
    texts, share = documents(dist), f"usr/share/doc/{name}"
    manual = {"skiff": "usr/share/man/man1/skiff.1", "skiffd": "usr/share/man/man8/skiffd.8"}[name]
    files = {f"usr/bin/{name}": (program(arch, name), 0o755), f"{manual}.gz": (gzipped(texts[pathlib.Path(manual).name]), 0o644),
             f"{share}/copyright": (texts["NOTICE"], 0o644)}
    if name == "skiff":
        scripts = completions()
        files |= {"usr/share/bash-completion/completions/skiff": (scripts["bash"], 0o644),
                  "usr/share/zsh/vendor-completions/_skiff": (scripts["zsh"], 0o644),
                  "usr/share/fish/vendor_completions.d/skiff.fish": (scripts["fish"], 0o644)}
    else:
        files["usr/lib/systemd/system/skiffd.service"] = ((TOP / "deploy/systemd/skiffd.service").read_bytes(), 0o644)
    return files


def debian_package(dist, arch, name):
    files = debian_files(dist, arch, name)
    needs, about = DEBIAN_NEEDS[name]
    installed = -(-sum(len(data) for data, _ in files.values()) // 1024)
    control = (f"Package: {name}\nVersion: {VERSION}\nArchitecture: {arch}\nMaintainer: the skiff authors <{HOME}>\n"
               f"Installed-Size: {installed}\nSection: devel\nPriority: optional\nHomepage: {HOME}\n"
               f"{needs.format(version=VERSION)}Description: {SUMMARY[name]}\n{about}")
    with tempfile.TemporaryDirectory() as work:
        root = pathlib.Path(work) / "root"
        for path, (data, mode) in {**files, "DEBIAN/control": (control.encode(), 0o644)}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
            (root / path).chmod(mode)
        for directory in [root, *(path for path in root.rglob("*") if path.is_dir())]:
            directory.chmod(0o755)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, dist / f"{name}_{VERSION}_{arch}.deb"],
                       check=True, stdout=subprocess.DEVNULL)


# --- OCI: images and the chart ---

class Layout:
    """An OCI image layout (image-spec 1.0) in a directory."""

    def __init__(self, path):
        self.path = path
        (path / "blobs/sha256").mkdir(parents=True)
        (path / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')

    def blob(self, data, media_type, **more):
        digest = hashlib.sha256(data).hexdigest()
        (self.path / "blobs/sha256" / digest).write_bytes(data)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data), **more}

    def json(self, value, media_type, **more):
        return self.blob(json.dumps(value, separators=(",", ":"), sort_keys=True).encode(), media_type, **more)

    def finish(self, descriptor, **annotations):
        named = {**descriptor, "annotations": annotations}
        index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [named]}
        (self.path / "index.json").write_text(json.dumps(index, sort_keys=True))
        archive = {str(path.relative_to(self.path)): (path.read_bytes(), 0o644) for path in self.path.rglob("*") if path.is_file()}
        self.path.with_name(self.path.name + ".tar").write_bytes(tar_of(archive))
        shutil.rmtree(self.path)


def image_files(arch, name):
    files = {"licenses/LICENSE": ((TOP / "LICENSE").read_bytes(), 0o644), "licenses/NOTICE": ((TOP / "NOTICE").read_bytes(), 0o644)}
    if name == "skiffd":
        return files | {"skiffd": (program(arch, name), 0o755)}
    authorities = pathlib.Path("/etc/ssl/certs/ca-certificates.crt").read_bytes()
    return files | {"usr/local/bin/skiff": (program(arch, name), 0o755), OPENSSL_CERTIFICATES: (authorities, 0o644)}


def image(dist, name, arches):
    """As the Dockerfile's targets `skiffd` and `serve` make them: nothing but the program."""
    layout, manifests = Layout(dist / f"{name}-{VERSION}-image"), []
    labels = {"org.opencontainers.image.title": name, "org.opencontainers.image.version": VERSION,
              "org.opencontainers.image.description": SUMMARY[name], "org.opencontainers.image.licenses": "Apache-2.0",
              "org.opencontainers.image.source": HOME, "org.opencontainers.image.revision": commit()}
    entry, port = {"skiffd": ("/skiffd", "7070/tcp"), "skiff": ("/usr/local/bin/skiff", "7080/tcp")}[name]
    for arch in arches:
        tar = tar_of(image_files(arch, name))
        layer = layout.blob(gzipped(tar), "application/vnd.oci.image.layer.v1.tar+gzip")
        config = {"architecture": arch, "os": "linux", "created": CREATED,
                  "config": {"User": "1000:1000", "Entrypoint": [entry], "ExposedPorts": {port: {}}, "Labels": labels},
                  "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}"]},
                  "history": [{"created": CREATED, "created_by": ".ci/release"}]}
        manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                    "config": layout.json(config, "application/vnd.oci.image.config.v1+json"), "layers": [layer], "annotations": labels}
        manifests.append(layout.json(manifest, manifest["mediaType"], platform={"architecture": arch, "os": "linux"}))
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests, "annotations": labels}
    # skopeo reads the first name, podman and containerd (kind, k3s) the second one.
    layout.finish(layout.json(index, index["mediaType"]), **{"org.opencontainers.image.ref.name": f"{name}:{VERSION}",
                                                             "io.containerd.image.name": f"docker.io/library/{name}:{VERSION}"})


def chart(dist):
    """The chart as `helm package --version` writes it, and the same as an OCI artefact."""
    source = TOP / "deploy/helm/skiff-serve"
    about = yaml.safe_load((source / "Chart.yaml").read_text()) | {"version": VERSION, "appVersion": VERSION}
    files = {f"skiff-serve/{path.relative_to(source)}": (path.read_bytes(), 0o644) for path in source.rglob("*") if path.is_file()}
    readme = (source / "README.md").read_text().replace("(../../../docs/", f"({PAGES}/docs/")  # the package has no other documents
    files["skiff-serve/README.md"] = (readme.encode(), 0o644)
    files["skiff-serve/Chart.yaml"] = (yaml.safe_dump(about).encode(), 0o644)
    packed = gzipped(tar_of(files))
    (dist / f"skiff-serve-{VERSION}.tgz").write_bytes(packed)
    layout = Layout(dist / f"skiff-serve-{VERSION}-chart")
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": layout.json(about, "application/vnd.cncf.helm.config.v1+json"),
                "layers": [layout.blob(packed, "application/vnd.cncf.helm.chart.content.v1.tar+gzip")],
                "annotations": {"org.opencontainers.image.title": "skiff-serve", "org.opencontainers.image.version": VERSION}}
    layout.finish(layout.json(manifest, manifest["mediaType"]), **{"org.opencontainers.image.ref.name": VERSION})


def krew(dist, arches):
    """`skiff` as `kubectl skiff`. The addresses are those of a release on GitHub."""
    platforms = []
    for arch in arches:
        file = f"skiff-{VERSION}-linux-{arch}.tar.gz"
        platforms.append({"selector": {"matchLabels": {"os": "linux", "arch": arch}}, "uri": f"{HOME}/releases/download/v{VERSION}/{file}",
                          "sha256": hashlib.sha256((dist / file).read_bytes()).hexdigest(), "bin": "skiff",
                          "files": [{"from": f"skiff-{VERSION}-linux-{arch}/{file}", "to": "."} for file in ("bin/skiff", "bin/skiffd", "LICENSE")]})
    (dist / "skiff-krew.yaml").write_text(yaml.safe_dump({
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin", "metadata": {"name": "skiff"},
        "spec": {"version": f"v{VERSION}", "homepage": HOME, "shortDescription": "Sandboxes for AI agents",
                 "description": SUMMARY["skiff"].capitalize() + ".\n", "platforms": platforms}}, sort_keys=False))


# --- what is in it, and where it comes from ---

def notices():
    loader = importlib.machinery.SourceFileLoader("notices", str(TOP / ".ci/notices"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("notices", loader))
    loader.exec_module(module)
    return module


def licence_of(module, row):
    """An SPDX expression of the licences that Debian names; NOASSERTION where one of them has no SPDX name (NOTICE has the texts)."""
    names = {SPDX.get(name, "") for name in module.of_package(row[1], row[4])[2]}
    return " AND ".join(sorted(names)) if all(names) and names else "NOASSERTION"


def components():
    """(name, address of the package, its version, licence) of what both programs are linked with, as NOTICE lists it."""
    module = notices()
    found = [("Boost", "libboost1.81-dev", "BSL-1.0"), ("GCC runtime", "libstdc++-12-dev", "GPL-3.0-or-later WITH GCC-exception-3.1"),
             ("GNU C Library", "libc6-dev", "LGPL-2.1-or-later"), ("c-ares", "libc-ares-dev", "MIT"),
             *((row[0], row[1], licence_of(module, row)) for row in module.COMPONENTS)]
    told = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\t${Version}\n", *(package for _, package, _ in found)],
                          capture_output=True, text=True, check=True).stdout
    versions = dict(line.split("\t") for line in told.splitlines())
    return sorted((name, f"pkg:deb/debian/{package}@{versions[package]}", versions[package], licence) for name, package, licence in found)


def components_of_page():
    """The same of the packages of npm in the console's page, with those that they need themselves."""
    locked = json.loads((TOP / "container/console/page/package-lock.json").read_text())["packages"]
    found = {path.removeprefix("node_modules/"): one for path, one in locked.items() if path and not one.get("dev")}
    return sorted((package, f"pkg:npm/{package.replace('@', '%40')}@{one['version']}", one["version"], one["license"]) for package, one in found.items())


def spdx_id(address):
    """`SPDXRef-` and the name in a package's address."""
    name = address.removeprefix("pkg:deb/debian/").removeprefix("pkg:npm/%40").removeprefix("pkg:npm/").partition("@")[0]
    return "SPDXRef-" + re.sub("[^A-Za-z0-9.-]", "-", name)


def lists_of_components(dist):
    """The same list as SPDX 2.3 and as CycloneDX 1.5."""
    rows = components() + components_of_page()
    url = [one for _, one, _, _ in rows]
    spdx = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"skiff-{VERSION}",
            "documentNamespace": f"{HOME}/spdx/{VERSION}/{commit()}",
            "creationInfo": {"created": CREATED, "creators": ["Tool: .ci/release", "Organization: the skiff authors"]},
            "packages": [{"SPDXID": "SPDXRef-skiff", "name": "skiff", "versionInfo": VERSION, "downloadLocation": HOME,
                          "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "Copyright 2026 the skiff authors"},
                         *({"SPDXID": spdx_id(one), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "licenseConcluded": licence,
                            "licenseDeclared": licence, "copyrightText": "NOASSERTION",
                            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": one}]}
                           for name, one, version, licence in rows)],
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-skiff"},
                              *({"spdxElementId": "SPDXRef-skiff", "relationshipType": "STATIC_LINK",
                                 "relatedSpdxElement": spdx_id(one)} for one in url)]}
    cyclone = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
               "metadata": {"timestamp": CREATED, "component": {"type": "application", "bom-ref": "skiff", "name": "skiff", "version": VERSION,
                                                                "licenses": [{"license": {"id": "Apache-2.0"}}]}},
               "components": [{"type": "library", "bom-ref": one, "name": name, "version": version, "purl": one}
                              for name, one, version, _ in rows],
               "dependencies": [{"ref": "skiff", "dependsOn": url}]}
    (dist / f"skiff-{VERSION}.spdx.json").write_text(json.dumps(spdx, indent=1) + "\n")
    (dist / f"skiff-{VERSION}.cdx.json").write_text(json.dumps(cyclone, indent=1) + "\n")


def commit():
    return subprocess.run(["git", "-C", TOP, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()


def checksums(dist):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(dist.iterdir()) if path.is_file()}


def provenance(dist, arches):
    """An in-toto statement with SLSA provenance 1.0. Whoever publishes signs it: docs/releasing.md."""
    statement = {"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1",
                 "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in checksums(dist).items()],
                 "predicate": {"buildDefinition": {
                     "buildType": f"{HOME}/blob/main/.ci/release", "externalParameters": {"architectures": list(arches), "version": VERSION},
                     "resolvedDependencies": [{"uri": f"git+{HOME}", "digest": {"gitCommit": commit()}},
                                              *({"uri": one} for _, one, _, _ in components() + components_of_page()),
                                              {"uri": language_packages.compiler()}]},
                     "runDetails": {"builder": {"id": f"{HOME}/blob/main/docs/releasing.md"}, "metadata": {"invocationId": commit()}}}}
    (dist / f"skiff-{VERSION}.intoto.json").write_text(json.dumps(statement, indent=1) + "\n")


def main(dist, *arches):
    for arch in arches:
        archive(dist, arch)
        for name in SUMMARY:
            debian_package(dist, arch, name)
    for name in SUMMARY:
        image(dist, name, arches)
    language_packages.main(dist, *arches)
    chart(dist)
    krew(dist, arches)
    lists_of_components(dist)
    (dist / "install.sh").write_text((TOP / "deploy/install.sh").read_text().replace(NOWHERE, HOME))
    provenance(dist, arches)
    sums = checksums(dist)
    (dist / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
