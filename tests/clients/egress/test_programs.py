"""Programs of many languages reach a host by HTTPS from a box without a route or a name server, and its proxy puts a secret into their requests:
with the variables that a box has, and with none of them. At night."""

import os
import pathlib
import shlex

import pytest

import installed
import packages
import secret_origin
from box_secrets import TO, keep, origin  # noqa: F401
from boxes import BoxSkiff, need_boxes
from conftest import HERE
from egressing import outside  # noqa: F401

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a laptop and an internet"),
              pytest.mark.skipif("SKIFF_NIGHTLY" not in os.environ, reason="at night")]

URL, STATIC = f"https://{TO}/echo", f"https://{TO}/static"
SAID = "GET /echo"
VARIABLES = [name for one in ("http_proxy", "https_proxy", "all_proxy") for name in (one, one.upper())]


def python(code):
    return f"{PYTHON} -c {shlex.quote(code)}"


def script(code):
    return f"cd {MODULES.parent} && {installed.node()} --input-type=module -e {shlex.quote(code)}"


def openssl(how):
    return (f"printf 'GET /echo HTTP/1.1\\r\\nHost: {TO}\\r\\nConnection: close\\r\\n\\r\\n' | openssl s_client -quiet -verify_return_error "
            f"{how} -connect {TO} -servername {secret_origin.HOST} -CAfile $SSL_CERT_FILE 2>&1", SAID)


def documented(begin, end):
    """The text of docs/egress.md from one word to another one: it tells the user of a program what to do."""
    page = (HERE.parents[2] / "docs/egress.md").read_text()
    return page[page.index(begin):page.index(end, page.index(begin))]


def java(code, told=True):
    begin = f"export {documented('JAVA_TOOL_OPTIONS', '`')}; " if told else ""
    program = "class Main { public static void main(String[] a) throws Exception { %s } }" % code
    return f"printf %s {shlex.quote(program)} > Main.java && {begin}java Main.java"


def java_client(**how):
    return java("""var to = java.net.http.HttpRequest.newBuilder(java.net.URI.create("%s")).build();
System.out.println(java.net.http.HttpClient.newHttpClient().send(to, java.net.http.HttpResponse.BodyHandlers.ofString()).body());""" % URL, **how)


def chromium(program):
    return f"timeout 60 {program} --headless --no-sandbox --user-data-dir=/tmp/w/browser --dump-dom {URL}"


MAVEN = f"""cat > pom.xml <<'END'
<project><modelVersion>4.0.0</modelVersion><artifactId>mine</artifactId><packaging>pom</packaging>
<parent><groupId>com.example</groupId><artifactId>demo</artifactId><version>1.0.0</version><relativePath/></parent></project>
END
cat > settings.xml <<'END'
<settings><mirrors><mirror><id>demo</id><mirrorOf>*</mirrorOf><url>{STATIC}/maven</url></mirror></mirrors></settings>
END
mvn -B -q -s settings.xml -Dmaven.repo.local=$PWD/m2 validate && ls m2/com/example/demo/1.0.0"""
#: As a provider of one's own, so it begins without a WebSocket.
CODEX = f"""model_providers.demo={{name="demo",base_url="{STATIC}/model",env_key="MODEL_API_KEY",wire_api="responses"}}"""


def binary(pattern):
    """A program of a package that npm has for each kind of machine."""
    return next(path for path in sorted(MODULES.glob(pattern)) if "musl/claude" not in str(path))


def runtime(pattern):
    return next(installed.node_modules(HERE.parent / "sdk_typescript/runtimes").glob(pattern))


PYTHON, MODULES = "", None
RUST = (pathlib.Path.home() / ".cargo", pathlib.Path.home() / ".rustup")
#: Each program: a line of a shell, and what it says. Podman does not run in a box; skopeo is of the same library.
PROGRAMS = {
    "curl": lambda: (f"curl -sS {URL}", SAID),
    "wget": lambda: (f"wget -qO- {URL}", SAID),
    "git": lambda: (f"git clone -q https://{TO}/git/app.git app 2>&1; ls -d app", "app"),
    "urllib": lambda: (python(f"import urllib.request as u; print(u.urlopen('{URL}').read().decode())"), SAID),
    "requests": lambda: (python(f"import requests; print(requests.get('{URL}').text)"), SAID),
    "httpx": lambda: (python(f"import httpx; print(httpx.get('{URL}').text)"), SAID),
    "aiohttp": lambda: (python(f"""
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as session:
        print(await (await session.get('{URL}')).text())
asyncio.run(main())"""), SAID),
    "aiohttp, trust_env": lambda: (python(f"""
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession(trust_env=True) as session:
        print(await (await session.get('{URL}')).text())
asyncio.run(main())"""), SAID),
    "urllib3": lambda: (python(f"""
import os, urllib3
print(urllib3.PoolManager(ca_certs=os.environ['SSL_CERT_FILE']).request('GET', '{URL}').data.decode())"""), SAID),
    "websockets": lambda: (python(f"""
import asyncio, websockets
async def main():
    async with websockets.connect('wss://{TO}/socket') as socket:
        print(await socket.recv())
asyncio.run(main())"""), "hello"),
    "websocket-client": lambda: (python(f"import websocket; print(websocket.create_connection('wss://{TO}/socket').recv())"), "hello"),
    "pip": lambda: (f"{PYTHON} -m pip --isolated --disable-pip-version-check download -q --no-deps --index-url {STATIC}/python/simple demo && ls", "demo-1.0.0"),
    "uv": lambda: (f"{PYTHON} -m uv --no-config pip install -q --no-cache --target t --python {PYTHON} --index-url {STATIC}/python/simple demo && ls t", "demo.py"),
    "npm": lambda: (f"npm pack --silent --registry {STATIC}/npm/ demo", "demo-1.0.0.tgz"),
    "pnpm": lambda: (f"echo '{{}}' > package.json; {installed.node()} {MODULES}/pnpm/bin/pnpm.cjs --config.registry={STATIC}/npm/ add --silent demo && ls node_modules", "demo"),
    "yarn": lambda: (f"echo '{{}}' > package.json; {installed.node()} {MODULES}/yarn/bin/yarn.js --registry {STATIC}/npm/ add --silent demo && ls node_modules", "demo"),
    "node 22 fetch": lambda: (script(f"console.log(await (await fetch('{URL}')).text())"), SAID),
    "node 22 https": lambda: (script(f"import https from 'node:https'; https.get('{URL}', answer => answer.pipe(process.stdout))"), SAID),
    "undici": lambda: (script(f"""import {{ EnvHttpProxyAgent, Agent, request }} from 'undici'
const dispatcher = process.env.HTTPS_PROXY ? new EnvHttpProxyAgent() : new Agent()
console.log(await (await request('{URL}', {{ dispatcher }})).body.text())"""), SAID),
    "axios": lambda: (script(f"import axios from 'axios'; console.log((await axios.get('{URL}')).data)"), SAID),
    "got": lambda: (script(f"import got from 'got'; console.log(await got('{URL}', {{ retry: {{ limit: 0 }} }}).text())"), SAID),
    "node-fetch": lambda: (script(f"import fetch from 'node-fetch'; console.log(await (await fetch('{URL}')).text())"), SAID),
    "ws": lambda: (script(f"import WebSocket from 'ws'; new WebSocket('wss://{TO}/socket').on('message', said => {{ console.log(String(said)); process.exit() }})"), "hello"),
    "go": lambda: (f"GOPROXY={STATIC}/go GONOSUMDB=* GOFLAGS=-mod=mod GOTOOLCHAIN=local {installed.go()} mod download -json example.com/demo@v1.0.0", '"Version": "v1.0.0"'),
    "cargo": lambda: (f"""mkdir -p .cargo src && touch src/lib.rs && printf '[registries.demo]\\nindex = "sparse+{STATIC}/cargo/"\\n' > .cargo/config.toml
printf '[package]\\nname = "mine"\\nversion = "1.0.0"\\nedition = "2021"\\n[dependencies]\\ndemo = {{ version = "1", registry = "demo" }}\\n' > Cargo.toml
RUSTUP_HOME={RUST[1]} CARGO_HOME=$PWD/home {RUST[0]}/bin/cargo fetch -q && grep -c demo Cargo.lock""", "2"),
    "apt": lambda: (f"""mkdir -p s/lists/partial s/cache/archives/partial && echo 'deb [trusted=yes] {STATIC}/debian ./' > s/sources
apt-get update -qq -o Dir::State::lists=$PWD/s/lists -o Dir::Cache=$PWD/s/cache -o Dir::Etc::SourceList=$PWD/s/sources -o Dir::Etc::SourceParts=/dev/null \
  -o APT::Sandbox::User= -o Debug::NoLocking=1 && ls s/lists""", "Packages"),
    "java.net.http": lambda: (java_client(), SAID),
    "java.net.http, not told": lambda: (java_client(told=False), "PKIX path building failed"),
    "java.net.URL": lambda: (java('System.out.println(new String(java.net.URI.create("%s").toURL().openStream().readAllBytes()));' % URL), SAID),
    "maven": lambda: (MAVEN, "demo-1.0.0.pom"),
    "chromium": lambda: (chromium("chromium"), SAID),
    "chromium-headless-shell, not told": lambda: (f"rm -rf ~/.pki; {chromium('chromium-headless-shell')}", "ERR_CERT_AUTHORITY_INVALID"),
    "chromium-headless-shell": lambda: (f"{documented('mkdir -p ~/.pki', '```')} {chromium('chromium-headless-shell')}; rm -rf ~/.pki", SAID),
    "deno": lambda: (f"DENO_DIR=$PWD {runtime('@deno/*/deno')} eval \"console.log(await (await fetch('{URL}')).text())\"", SAID),
    "bun": lambda: (f"{runtime('@oven/bun-linux-*/bin/bun')} -e \"console.log(await (await fetch('{URL}')).text())\"", SAID),
    "skopeo": lambda: (f"skopeo --insecure-policy inspect --raw docker://{TO}/demo", "GET /v2/demo/manifests/latest"),
    "gh": lambda: (f"GH_TOKEN=$MODEL_API_KEY gh api {URL}", SAID),
    "claude": lambda: (f"ANTHROPIC_API_KEY=$MODEL_API_KEY ANTHROPIC_BASE_URL={STATIC}/model CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 "
                       f"timeout 60 {binary('@anthropic-ai/claude-code-linux-*/claude')} -p hi < /dev/null", "hello of a model"),
    "codex": lambda: (f"mkdir c && CODEX_HOME=$PWD/c timeout 60 {binary('@openai/codex-linux-*/vendor/*/bin/codex')} exec -c {shlex.quote(CODEX)} "
                      f"-c model_provider=demo -m demo --skip-git-repo-check hi < /dev/null", "hello of a model"),
    "openssl": lambda: openssl(""),
    "openssl, by the proxy": lambda: openssl("-proxy 127.0.0.1:3128"),
}


@pytest.fixture(scope="module")
def prepared():
    global PYTHON, MODULES
    PYTHON = installed.python_of(HERE / "newest.txt")
    MODULES = installed.node_modules(HERE)


@pytest.fixture
def skiff(prepared, tmp_path):
    need_boxes(0)
    one = BoxSkiff(tmp_path, 0)
    yield one
    one.finish()


@pytest.fixture
def box(skiff, origin):  # noqa: F811
    keep(skiff, origin, more=("--basic", secret_origin.USER, "--websocket", "--placeholder", "MODEL_API_KEY"))
    packages.make(origin.directory / "static", STATIC)
    skiff.up("box", "--egress-secret", "git", "--expose", installed.CACHE, *(word for place in RUST if place.is_dir() for word in ("--expose", place)))
    return skiff


def failures(box, origin, before=""):  # noqa: F811
    """How programs failed. Many obey no variable of a proxy, with which they come by names."""
    failed = {}
    for name, program in PROGRAMS.items():
        if name == "cargo" and not RUST[0].is_dir():
            print("not run: cargo is not installed by rustup")
            continue
        line, wanted = program()
        said, _ = box("exec", "box", "--", "sh", "-c", f"{before}mkdir -p /tmp/w && cd /tmp/w && rm -rf /tmp/w/* && {{ {line}\n}} 2>&1; true")
        if wanted not in said:
            failed[name] = said[-600:]
        assert origin.token not in said
    return "\n\n".join(f"{name}: {why}" for name, why in failed.items())


def test_with_the_variables_of_a_box(box, origin):  # noqa: F811
    wrong = failures(box, origin)
    assert not wrong, wrong


def test_by_names_alone(box, origin):  # noqa: F811
    wrong = failures(box, origin, f"unset {' '.join(VARIABLES)}; ")
    assert not wrong, wrong
