"""`skiff egress serve` and nginx's `stream` between the same client and the same server: the processor time of the proxy for a GiB, its
memory for an idle tunnel, and connections a second. With a secret the proxy ends the TLS on both sides, beside nginx that does, and
looks for the secret in what comes back; with a secret without a value it only judges requests. As a box has it, on a socket that it is started with; and
as Pods have it, with a token and a stand-in for the API server. All is in a network namespace in which no address but 127.0.0.1 belongs to a link, so the proxy takes the server for one
of the internet. By root."""

import base64
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

from . import tunnel_ends
from .gateway import many_files
from .processes import Absent, Failed, Folder, die_with_the_runner

ENDS = Path(tunnel_ends.__file__)
GIB = 1024 ** 3
HEADER = b'{"alg":"EdDSA","typ":"JWT"}'
TRUST = ("ca.pem", "ca-bundle.pem", "trust.p12", "chromium.json")  # files that the proxy of a box writes
# Boxes whose proxy ends the TLS, and their secrets.
TERMINATED = {"secret": {"header": "Authorization", "format": "Bearer {}", "value": "0123456789abcdef"}, "judged": {"header": "", "value": ""}}
PORTS = {"pods": 3128, "nginx": 3200, "tls": 3300, "box": 3400, "secret": 3401, "judged": 3402}
STREAM = "/usr/lib/nginx/modules/ngx_stream_module.so"
NGINX = """load_module {module};
user root; daemon off; master_process off; error_log stderr; pid {scratch}/nginx.pid; worker_rlimit_nofile 20000;
events {{ worker_connections 20000; }}
stream {{ proxy_half_close on; proxy_buffer_size {buffer}; server {{ listen {address}:{port} backlog=1024; proxy_pass {origin}:443; }} }}
"""
NGINX_TLS = """user root; daemon off; master_process off; error_log stderr; pid {scratch}/nginx-tls.pid;
events {{ worker_connections 1000; }}
http {{ access_log off; proxy_temp_path {scratch}/temp; client_body_temp_path {scratch}/temp; keepalive_requests 1000000;
server {{ listen {address}:{port} ssl; ssl_certificate {scratch}/secure.pem; ssl_certificate_key {scratch}/secure.key;
location / {{ proxy_pass https://{origin}:443; proxy_ssl_verify on; proxy_ssl_trusted_certificate {scratch}/authority.pem; proxy_ssl_name {host};
proxy_ssl_server_name on; proxy_http_version 1.1; proxy_max_temp_file_size 0; proxy_buffers 16 64k; proxy_set_header Authorization "Bearer bench"; }} }} }}
"""
ETC = {"hosts": f"{tunnel_ends.ORIGIN[0]} {tunnel_ends.HOST} {tunnel_ends.HOST}.\n{tunnel_ends.SECURE[0]} {tunnel_ends.SECURE_HOST} {tunnel_ends.SECURE_HOST}.\n", "nsswitch.conf": "hosts: files\n", "resolv.conf": "",
       "passwd": "root:x:0:0::/:/bin/sh\n", "group": "root:x:0:\n"}


def encode(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


class Started:
    """A process in the namespace."""

    def __init__(self, words: list[str], log: Path, **options):
        with open(log, "wb") as errors:
            self.log = log
            self.process = subprocess.Popen([str(word) for word in words], stderr=errors, preexec_fn=die_with_the_runner, **options)

    def read(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{self.log.name}: {self.log.read_text(errors='replace').strip()[-300:]}")
        return line.decode()

    def cpu_seconds(self) -> float:
        """The time of all its threads on a processor, exact where utime and stime are multiples of 10 ms (proc_pid_schedstat(5))."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def private_bytes(self) -> int:
        lines = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Private_Dirty:", "Private_Clean:")))

    def stop(self):
        self.process.kill()
        self.process.wait()


class Tunnels:
    """Made at the first use."""

    def __init__(self, folder: Folder, size: int, turns: int, idle: int, short: int):
        self.folder, self.size, self.turns, self.idle, self.short = folder, size, turns, idle, short
        self.scratch = folder.scratch / "tunnels"
        self.started: list[Started] = []
        self.client: Started | None = None
        self.proxies: dict[str, Started] = {}
        self.ways: dict[str, dict] = {}

    def close(self):
        for one in reversed(self.started):
            one.stop()
        self.started.clear()
        self.client, self.proxies = None, {}

    def _start(self, name: str, words: list, **options) -> Started:
        one = Started([*self.inside, *words], self.scratch / f"{name}.log", **options)
        self.started.append(one)
        return one

    def _begin(self):
        if self.client is not None:
            return
        if os.geteuid() != 0:
            raise Absent("only root makes the network of it")
        self.skiff = self.folder.skiffd.parent / "skiff"
        if not self.skiff.exists():
            raise Absent("skiff is not built")
        self.folder.installed("nginx")
        if not Path(STREAM).exists():
            raise Absent("nginx has no module for streams: .ci/setup --bench")
        self.scratch.mkdir(exist_ok=True)
        tokens = self._make_files()
        self.inside = []
        etc = f"mount -t tmpfs tmpfs /etc && cp -r {self.scratch}/etc/. /etc/ && ip link set lo up && ip route add local 11.0.0.0/8 dev lo"
        # After some thousands of connections the search for a free port would take most of the time of the next one.
        etc += " && echo 0 >/proc/sys/net/ipv4/tcp_max_tw_buckets"
        holder = self._start("holder", ["unshare", "--net", "--mount", "sh", "-c", f"{etc} && echo ready && exec sleep infinity"],
                             stdout=subprocess.PIPE)
        holder.read()
        self.inside = ["nsenter", f"--target={holder.process.pid}", "--net", "--mount", "--"]
        for name, *more in (("origin",), ("api",), ("secure", self.scratch)):
            self._start(name, [sys.executable, ENDS, name, *more], stdout=subprocess.PIPE).read()
        client = self._start("client", [sys.executable, ENDS, "client"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        client.read()
        more = {"pods": {"tokens": tokens}, "tls": {"ca": str(self.scratch / "authority.pem")},
                **{form: {"ca": str(self._home(form) / "egress-ca.pem")} for form in TERMINATED}}
        self.ways = {name: {"port": port, "connects": name not in ("nginx", "tls"), **more.get(name, {})} for name, port in PORTS.items()}
        self.client = client

    def _make_files(self) -> dict[str, str]:
        """Returns the Pods' tokens."""
        etc, key = self.scratch / "etc", self.scratch / "key.pem"
        (etc / "skiff-egress").mkdir(parents=True, exist_ok=True)
        for name, text in ETC.items():
            (etc / name).write_text(text)
        (self.scratch / "egress.json").write_text(json.dumps([tunnel_ends.HOST]))
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", etc / "skiff-egress/public.pem"], check=True, capture_output=True)
        self._make_secrets()
        return {pod: self._sign(pod, key) for pod in tunnel_ends.PODS}

    def _home(self, form: str) -> Path:
        return self.scratch / "state/box" / form

    def _make_secrets(self):
        """A certificate for the server, and boxes whose proxies have a secret for it."""
        authority, host = self.scratch / "authority", tunnel_ends.SECURE_HOST
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        for words in (["req", "-x509", *curve, "-subj", "/CN=bench", "-days", "2", "-keyout", f"{authority}.key", "-out", f"{authority}.pem"],
                      ["req", *curve, "-subj", f"/CN={host}", "-keyout", self.scratch / "secure.key", "-out", self.scratch / "secure.csr"],
                      ["x509", "-req", "-in", self.scratch / "secure.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-days", "1",
                       "-extfile", self.scratch / "secure.ext", "-out", self.scratch / "secure.pem"]):
            (self.scratch / "secure.ext").write_text(f"subjectAltName=DNS:{host}\n")
            subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
        secrets = self.scratch / "state/egress-secrets"
        for directory in (secrets, self.scratch / "temp"):
            directory.mkdir(parents=True, exist_ok=True)
        for form, part in TERMINATED.items():
            home = self._home(form)
            home.mkdir(parents=True, exist_ok=True)
            secret = {"name": form, "hosts": [host], "ca_pem": Path(f"{authority}.pem").read_text(), **part}
            for path, text in ((secrets / f"{form}.json", json.dumps(secret)), (home / "egress.json", json.dumps([host])),
                               (home / "egress-secrets.json", json.dumps([form])), *((home / f"egress-{name}", "") for name in TRUST)):
                path.write_text(text)
                path.chmod(0o600)

    def _sign(self, pod: str, key: Path) -> str:
        text = self.scratch / "claims"
        claims = json.dumps({"aud": "egress", "sub": pod, "iat": int(time.time())}).encode()
        text.write_text(f"{encode(HEADER)}.{encode(claims)}")
        sign = ["openssl", "pkeyutl", "-sign", "-inkey", key, "-rawin", "-in", text]
        return f"{text.read_text()}.{encode(subprocess.run(sign, check=True, capture_output=True).stdout)}"

    def _proxy(self, kind: str) -> Started:
        """The process of a kind: box, pods, or nginx with buffers of a size: `nginx 64k`."""
        if kind not in self.proxies:
            name, _, buffer = kind.partition(" ")
            own = {"box": lambda: self._box(self.scratch, "box"), "pods": self._pods, "tls": self._nginx_tls,
                   **{form: lambda form=form: self._box(self._home(form), form) for form in TERMINATED}}
            self.proxies[kind] = own.get(name, lambda: self._nginx(buffer))()
        return self.proxies[kind]

    def _end_proxies(self):
        for one in self.proxies.values():
            one.stop()
            self.started.remove(one)
        self.proxies.clear()

    def _nginx(self, buffer: str) -> Started:
        text = NGINX.format(module=STREAM, scratch=self.scratch, buffer=buffer, address=tunnel_ends.PROXY, port=PORTS["nginx"],
                            origin=tunnel_ends.ORIGIN[0])
        (self.scratch / "nginx.conf").write_text(text)
        return self._listening(self._start("nginx", [self.folder.installed("nginx"), "-c", self.scratch / "nginx.conf"]), "nginx")

    def _nginx_tls(self) -> Started:
        text = NGINX_TLS.format(scratch=self.scratch, address=tunnel_ends.PROXY, port=PORTS["tls"], origin=tunnel_ends.SECURE[0], host=tunnel_ends.SECURE_HOST)
        (self.scratch / "nginx-tls.conf").write_text(text)
        return self._listening(self._start("nginx-tls", [self.folder.installed("nginx"), "-c", self.scratch / "nginx-tls.conf"]), "tls", "secure_requests")

    def _box(self, home: Path, way: str) -> Started:
        holder = self.started[0].process.pid
        ticks = Path(f"/proc/{holder}/stat").read_text().rpartition(")")[2].split()[19]
        (home / "control.sock").unlink(missing_ok=True)
        words = [sys.executable, ENDS, "with_socket", PORTS[way], self.skiff, "egress", "serve", home, "bench", holder, ticks]
        with socket.socket(socket.AF_UNIX) as control:
            control.bind(str(home / "control.sock"))
            started = self._start(way, words, stdout=control)
        return self._listening(started, way, "short" if way == "box" else "secure_requests")

    def _pods(self) -> Started:
        where = {"clusters": [{"name": "bench", "cluster": {"server": f"http://{tunnel_ends.PROXY}:6443"}}],
                 "users": [{"name": "bench", "user": {}}], "current-context": "bench",
                 "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}]}
        words = [self.skiff, "egress", "serve", "--cluster", "bench"]
        # Its log, a line a connection, is not kept.
        return self._listening(self._start("pods", words, env={"SKIFF_KUBECONFIG_DATA": json.dumps(where)}), "pods")

    def _listening(self, started: Started, way: str, what: str = "short") -> Started:
        for _ in range(500):
            if started.process.poll() is not None:
                break
            try:
                self._ask(what, way, 1)
                return started
            except Failed:
                time.sleep(0.02)
        raise Failed(f"{way} did not start: {started.log.read_text(errors='replace').strip()[-300:]}")

    def _ask(self, what: str, way: str, count: int) -> float:
        """Returns the seconds that it took."""
        self.client.process.stdin.write(json.dumps({"do": what, "way": self.ways[way], "count": count}).encode() + b"\n")
        self.client.process.stdin.flush()
        answer = json.loads(self.client.read())
        if "error" in answer:
            raise Failed(f"through {way}: {answer['error']}")
        return answer["seconds"]

    def _cost(self, what: str, form: str, count: int) -> dict:
        """Alternates `form` and nginx: the time that each takes, its own and on the clock, for one of `count`."""
        self._begin()
        both = {form: self._proxy(form), **({"tls": self._proxy("tls")} if form in TERMINATED else {"nginx": self._proxy("nginx 64k")})}
        cpu, clock = ({name: [] for name in both} for _ in range(2))
        for turn in range(self.turns):
            for name in both if turn % 2 == 0 else reversed(both):
                before = both[name].cpu_seconds()
                clock[name].append(self._ask(what, name, count) / count)
                cpu[name].append((both[name].cpu_seconds() - before) / count)
        own, other = (({"cpu": statistics.median(cpu[name]), "clock": statistics.median(clock[name])}) for name in both)
        return {"cpu": own["cpu"], "clock": own["clock"], "nginx_cpu": other["cpu"], "nginx_clock": other["clock"]}

    def carry(self, form: str, way: str) -> dict:
        """`way` is up or down."""
        took = self._cost("secure_down" if form in TERMINATED else way, form, self.size)
        return {"cpu_s_per_gib": took["cpu"] * GIB, "nginx_cpu_s_per_gib": took["nginx_cpu"] * GIB, "mb_per_s": 1e-6 / took["clock"],
                "nginx_mb_per_s": 1e-6 / took["nginx_clock"]}

    def short_ones(self, form: str) -> dict:
        took = self._cost("secure_requests" if form in TERMINATED else "short", form, self.short)
        return {"cpu_us": took["cpu"] * 1e6, "nginx_cpu_us": took["nginx_cpu"] * 1e6, "rate": 1 / took["clock"],
                "nginx_rate": 1 / took["nginx_clock"]}

    def idle_ones(self, kind: str) -> dict:
        """Private memory for each of `idle` tunnels and of a quarter of them, by new processes."""
        with many_files():
            self._begin()
            self._end_proxies()
            proxy, way = self._proxy(kind), "pods" if kind == "pods" else "nginx"
            sizes, counts = [proxy.private_bytes()], (self.idle // 4, self.idle)
            for count in counts:
                self._ask("hold", way, count)
                sizes.append(proxy.private_bytes())
            self._ask("drop", way, 0)
            return {"kib_each": (sizes[2] - sizes[0]) / 1024 / counts[1], "kib_each_of_few": (sizes[1] - sizes[0]) / 1024 / counts[0],
                    "tunnels": counts[1]}
