"""The rows of the table: the compared figures and their targets."""

import statistics
from dataclasses import dataclass

from .search import GLOB, GREP

Samples = dict[str, list[dict]]  # probe -> one entry a round: its figures, or {"error": "..."}


@dataclass
class Row:
    group: str
    title: str
    unit: str
    subject: tuple[str, str]                  # probe, figure
    yardstick: tuple[str, str] | None = None
    against: str = ""                         # the yardstick's name in the table
    most: float | None = None                 # limit of the ratio if there is a yardstick, else of the figure
    least: float | None = None
    absolute: bool = False                    # the target applies to the figure although there is a yardstick
    checked: bool = False                     # the target does not depend on time, so --check judges it, too


def ratio(group, title, unit, subject, yardstick, against, most=None, least=None) -> Row:
    return Row(group, title, unit, subject, yardstick, against, most, least)


def figure(group, title, unit, subject, most=None, least=None, yardstick=None, against="", checked=False) -> Row:
    return Row(group, title, unit, subject, yardstick, against, most, least, absolute=True, checked=checked)


def all_rows() -> list[Row]:
    rows = [
        figure("spawn", "spawn call, caller blocked, p50", "us", ("skiff.call", "call_p50_us"), most=40,
               yardstick=("bare.call", "call_p50_us"), against="bare clone"),
    ]
    for name, title in (("heap", "with a 500 MB heap"), ("files", "with 10,000 open files"),
                        ("no-clone3", "with clone3 filtered away")):
        rows.append(ratio("spawn", f"spawn call {title}", "us", (f"skiff.call.{name}", "call_p50_us"),
                          ("skiff.call", "call_p50_us"), "itself without", most=1.2))

    sh = "WAIT `sh -c true`"
    rows += [
        ratio("wait", f"{sh}, 1 client, p50", "us", ("skiff.wait.1", "p50_us"), ("bare.wait.1", "p50_us"),
              "bare server", most=1.1),
        ratio("wait", f"{sh}, 1 client, p99", "us", ("skiff.wait.1", "p99_us"), ("bare.wait.1", "p99_us"),
              "bare server", most=1.0),
        ratio("wait", f"{sh}, 1 client, p50", "us", ("skiff.wait.1", "p50_us"), ("floor.spawn", "p50_us"),
              "bare spawn"),
    ]
    for clients in (8, 32):
        rows += [
            ratio("wait", f"{sh}, {clients} clients", "/s", (f"skiff.wait.{clients}", "rate"),
                  (f"bare.wait.{clients}", "rate"), "bare server", least=0.97),
            ratio("wait", f"{sh}, {clients} clients, p99", "us", (f"skiff.wait.{clients}", "p99_us"),
                  (f"skiff.wait.{clients}", "p50_us"), "own p50", most=2.0),
            ratio("wait", f"{sh}, {clients} clients, p99", "us", (f"skiff.wait.{clients}", "p99_us"),
                  (f"bare.sessions.{clients}", "p99_us"), "bare server, sessions", most=1.5),
        ]
    for clients in (1, 8, 32):
        rows.append(ratio("wait", f"WAIT tiny static program, {clients} client{'s' if clients > 1 else ''}", "/s",
                          (f"skiff.tiny.{clients}", "rate"), (f"bare.tiny.{clients}", "rate"), "bare server",
                          least=0.95))

    for name, title in (("mcp", "MCP"), ("kubebox", "kubebox"), ("e2b", "e2b")):
        rows += [
            ratio("dialects", f"`sh -c true` by {title}, 1 client, p50", "us", (f"skiff.{name}.1", "p50_us"),
                  ("skiff.native.1", "p50_us"), "native WAIT", most=1.1),
            ratio("dialects", f"`sh -c true` by {title}, 8 clients", "/s", (f"skiff.{name}.8", "rate"),
                  ("skiff.native.8", "rate"), "native WAIT", least=0.9),
        ]

    for name, shell, most in (("sh", "`sh`", 1.3), ("bash", "`bash`", 1.7)):
        title = f"stateful session, `true` by {shell}, p50"
        rows += [
            ratio("state", title, "us", (f"skiff.state.{name}", "p50_us"), (f"skiff.plain.{name}", "p50_us"),
                  "plain WAIT", most=most),
            ratio("state", title, "us", (f"skiff.state.{name}", "p50_us"), (f"floor.spawn.{name}", "p50_us"),
                  "bare spawn"),
        ]
    for name in ("sh", "bash"):
        for how, what in (("plain", "WAIT"), ("state", "stateful session,")):
            rows.append(ratio("paced", f"{what} `{name} -c true` after a pause, p50", "us",
                              (f"skiff.paced.{how}.{name}", "p50_us"), (f"floor.paced.{name}", "p50_us"), "bare spawn"))

    for name, title in (("tiny", "tiny static program"), ("sh", "`sh -c 'echo hi'`")):
        rows.append(ratio("stream", f"first byte of STREAM, {title}, p50", "us", (f"skiff.first.{name}", "p50_us"),
                          (f"bare.first.{name}", "p50_us"), "bare server", most=1.2))

    forms = (("octet", "HTTP octet-stream"), ("ws-binary", "WebSocket binary"))
    for form, title in forms:
        rows += [
            ratio("bulk", f"{title}, 256 KiB writer", "MB/s", (f"skiff.{form}.writer", "mb_per_s"),
                  ("bare.octet.writer", "mb_per_s"), "bare server", least=1.1),
            ratio("bulk", f"{title}, 256 KiB writer", "MB/s", (f"skiff.{form}.writer", "mb_per_s"),
                  ("floor.pipe.writer", "mb_per_s"), "bare pipe", least=0.65),
            ratio("bulk", f"{title}, `head -c`", "MB/s", (f"skiff.{form}.head", "mb_per_s"),
                  ("bare.octet.head", "mb_per_s"), "bare server"),
            ratio("bulk", f"{title}, `head -c`", "MB/s", (f"skiff.{form}.head", "mb_per_s"),
                  ("floor.pipe.head", "mb_per_s"), "bare pipe", least=0.65),
        ]
    for form, title, binary in (("ndjson", "NDJSON", "octet"), ("ws-json", "WebSocket JSON", "ws-binary")):
        for pattern, what in (("bytes", "binary data"), ("text", "text")):
            rows.append(ratio("bulk", f"{title}, {what}", "MB/s", (f"skiff.{form}.{pattern}", "mb_per_s"),
                              (f"skiff.{binary}.writer", "mb_per_s"), "own binary", least=0.7))

    for how, title in (("lines", "1,000,000 lines, 4 KiB a write"), ("each", "1,000,000 lines, one write each")):
        for form in ("octet", "ndjson"):
            rows.append(ratio("lines", f"{title}, {form}", "s", (f"skiff.{form}.{how}", "seconds"),
                              (f"floor.cat.{how}", "seconds"), "`cat` on the pipe", most=1.5))
        rows.append(figure("lines", f"{title}: events", "", (f"skiff.ndjson.{how}", "messages"), most=500_000))

    for name, title in (("python", "python-runtime, `/execute` of `true`"), ("sandboxd", "sandboxd, Execute of `sh -c true`")):
        rows.append(ratio("dialects", f"{title}, p50", "us", (f"skiff.{name}.execute", "p50_us"), ("skiff.native.wait", "p50_us"),
                          "own WAIT", most=1.1))
    for name, what in (("python.download", "python-runtime, download"), ("sandboxd.download", "sandboxd, download"),
                       ("sandboxd.stream", "sandboxd, Start of a 256 KiB writer"), ("e2b.download", "e2b, download"),
                       ("e2b.upload", "e2b, upload")):
        own = name.partition(".")[2]
        rows.append(ratio("dialects", what, "MB/s", (f"skiff.{name}", "mb_per_s"), (f"skiff.native.{own}", "mb_per_s"),
                          "own octet-stream", least=0.8))

    rows += [
        figure("http", "HTTP without a command, 64 connections", "/s", ("skiff.health.64", "rate"), least=100_000,
               yardstick=("bare.health.64", "rate"), against="bare server"),
        ratio("http", "HTTP without a command, 1 connection, p50", "us", ("skiff.health.1", "p50_us"),
              ("bare.health.1", "p50_us"), "bare server"),
    ]
    rows += [
        ratio("ports", "a request to a server on a port, p50", "us", ("skiff.port", "p50_us"), ("bare.port", "p50_us"),
              "without skiffd"),
        ratio("ports", "download from a server on a port", "MB/s", ("skiff.port.download", "mb_per_s"),
              ("bare.port.download", "mb_per_s"), "without skiffd"),
    ]
    rows += [
        figure("gateway", "a request through `skiff serve`, p50 more than to the agent itself", "us",
               ("skiff.gateway", "added_us"), most=150, yardstick=("nginx.gateway", "added_us"), against="nginx"),
        ratio("gateway", "the same beside nginx", "us", ("skiff.gateway", "added_us"), ("nginx.gateway", "added_us"), "nginx",
              most=1.2),
    ]
    for way in ("download", "upload"):
        rows.append(ratio("gateway", f"{way} of a large file through it", "MB/s", (f"skiff.gateway.{way}", "mb_per_s"),
                          (f"skiff.gateway.{way}", "agent_mb_per_s"), "the agent itself", least=0.8))
        rows.append(ratio("gateway", f"{way} of a large file through it", "MB/s", (f"skiff.gateway.{way}", "mb_per_s"),
                          (f"nginx.gateway.{way}", "mb_per_s"), "nginx"))
    rows += [
        figure("gateway", "idle WebSockets through two of it, at the same time", "", ("skiff.gateway.sockets", "sockets"),
               least=10_000, checked=True),
        figure("gateway", "memory of `skiff serve` for each", "KiB", ("skiff.gateway.sockets", "kib_each"), most=16,
               checked=True),
    ]
    rows += egress_rows()
    for way, copy, bare_copy in (("download", "read", "`dd` to /dev/null"), ("upload", "copy", "`dd` to a file")):
        for probe, against, least in ((f"nginx.{way}", "nginx" if way == "upload" else "nginx sendfile", 1.0),
                                      (f"bare.{way}", "bare server", 1.0), (f"floor.dd.{copy}", bare_copy, 0.75)):
            rows.append(ratio("transfer", f"{way} of a large file", "MB/s", (f"skiff.{way}", "mb_per_s"),
                              (probe, "mb_per_s"), against, least=least))
    rows += [
        ratio("files", "list of 1,000 entries, p50", "us", ("skiff.list", "p50_us"), ("bare.list", "p50_us"),
              "bare server", most=1.2),
        ratio("files", "list of 1,000 entries, p99", "us", ("skiff.list", "p99_us"), ("bare.list", "p99_us"),
              "bare server", most=1.5),
        ratio("files", "list of 1,000 entries, 8 clients, p99", "us", ("skiff.list.8", "p99_us"), ("bare.list.8", "p99_us"),
              "bare server", most=1.5),
        ratio("files", "writes of 4 KiB, 8 connections", "/s", ("skiff.put", "rate"), ("bare.put", "rate"),
              "bare server", least=0.9),
        ratio("files", "path check: from a path to a descriptor", "us", ("skiff.path", "agent_us"),
              ("skiff.path", "openat_us"), "`openat`", most=1.1),
        ratio("files", "of that, `openat2` alone", "us", ("skiff.path", "openat2_us"), ("skiff.path", "openat_us"),
              "`openat`"),
    ]
    for what, title in (("glob", f"glob `{GLOB}`"), ("grep", f"grep `{GREP}`")):
        rows.append(ratio("search", f"{title} in a large tree", "ms", (f"skiff.{what}", "ms"), (f"rg.{what}", "ms"),
                          "ripgrep", most=1.5))
    rows += [
        ratio("readers", "1,000 readers of one command: its own time", "ms", ("skiff.readers.1000", "command_ms"),
              ("skiff.readers.1", "command_ms"), "with 1 reader", most=1.1),
        figure("readers", "1,000 readers of one command: all together", "MB/s", ("skiff.readers.1000", "mb_per_s")),
        figure("readers", "per attached idle WebSocket, 10,000 of them", "KiB", ("skiff.sockets", "rss_kib_each"), 8),
        figure("readers", "one output reaches 10,000 WebSockets", "ms", ("skiff.sockets", "all_ms")),
    ]
    for name, title in (("flood", "64 floods, read"), ("flood.background", "64 floods, background")):
        for what, most in (("p99", 20), ("max", 200)):
            rows.append(figure("flood", f"health under {title}, {what}", "ms", (f"skiff.{name}", f"{what}_ms"), most,
                               yardstick=("bare.flood", f"{what}_ms"), against="bare server, read"))
    rows += [
        figure("memory", "RSS, idle", "MB", ("skiff.idle", "rss_mb"), 2.5, yardstick=("bare.idle", "rss_mb"),
               against="bare server"),
        figure("memory", "per idle session", "KiB", ("skiff.sessions", "kib_each"), 1),
        figure("memory", "per idle WebSocket", "KiB", ("skiff.websockets", "kib_each"), 8),
        figure("memory", "RSS with 100 live commands", "MB", ("skiff.live", "rss_mb"), 8,
               yardstick=("bare.live", "rss_mb"), against="bare server"),
        ratio("start", "start to accepting", "ms", ("skiff.start", "accepting_ms"), ("floor.true", "accepting_ms"),
              "static C `true`", most=1.25),
        figure("start", "start to first answer", "ms", ("skiff.start", "answered_ms"), 4,
               yardstick=("bare.start", "answered_ms"), against="bare server"),
    ]
    rows += [
        figure("box", "`skiff up --driver box`, until it answers, p50", "ms", ("box.up", "p50_ms"), 30,
               yardstick=("local.up", "p50_ms"), against="`--driver local`"),
        figure("box", "the same, p90", "ms", ("box.up", "p90_ms"), yardstick=("local.up", "p90_ms"), against="`--driver local`"),
        figure("box", "the namespaces alone, p50", "ms", ("unshare.true", "p50_ms")),
        figure("box", "50 of it at once: the last is up", "ms", ("box.at-once", "all_ms"), 1000,
               yardstick=("local.at-once", "all_ms"), against="`--driver local`"),
    ]
    rows += launcher_rows()
    for name, title in (("command", "WAIT of a tiny static program"), ("stream", "MiB streamed"),
                        ("get", "GET of 4 KiB"), ("put", "PUT of 4 KiB"), ("list", "list of 1,000 entries"),
                        ("download", "MiB downloaded"), ("upload", "MiB uploaded")):
        rows.append(ratio("syscalls", f"system calls a {title}", "", (f"skiff.calls.{name}", "each"),
                          (f"bare.calls.{name}", "each"), "bare server"))
    rows += [
        figure("size", "size of skiffd", "MB", ("skiff.size", "mb"), 6),
        figure("build", "clean build of skiffd, without a cache", "s", ("build.clean", "daemon_s"), 240),
        figure("build", "and of skiff beside it", "s", ("build.clean", "launcher_s")),
        figure("build", "one file of skiffd compiled again, and linked", "s", ("build.clean", "again_s"), 10),
        ratio("cluster", "1,000 sandboxes made and ready, by one process", "/s", ("skiff.sandboxes", "create_rate"),
              ("bare.sandboxes", "create_rate"), "the same writes", least=0.9),
        ratio("cluster", "the same removed, and each seen to be gone", "/s", ("skiff.sandboxes", "remove_rate"),
              ("bare.sandboxes", "remove_rate"), "the same deletes", least=0.9),
        figure("cluster", "the same listed with their states", "ms", ("skiff.sandboxes", "list_ms")),
        figure("cluster", "processor time of the launcher, each", "ms", ("skiff.sandboxes", "cpu_ms_each"),
               yardstick=("bare.sandboxes", "cpu_ms_each"), against="the same writes"),
        figure("cluster", "its memory, at most", "MB", ("skiff.sandboxes", "rss_mb"), 50),
        figure("cluster", "its watches", "", ("skiff.sandboxes", "watches"), 1),
    ]
    for name, title in (("at-once", "200 processes of `skiff up`"), ("at-once.pool", "200 of `skiff up --pool`")):
        rows += [
            figure("cluster", f"{title} at once: the last is up", "s", (f"skiff.{name}", "seconds"),
                   yardstick=("bare.at-once", "seconds"), against="the writes of 200 `up` by one process"),
            figure("cluster", "requests that the API server got meanwhile, each", "", (f"skiff.{name}", "requests_each")),
            figure("cluster", "bytes to and from them, with TLS, each", "KiB", (f"skiff.{name}", "kib_each")),
        ]
    rows += [
        figure("cluster", "1,000 that have ended removed by `skiff gc`, 50 of them hang", "/s", ("skiff.gc", "rate"), least=10,
               yardstick=("bare.sandboxes", "remove_rate"), against="the same deletes"),
        figure("cluster", "its memory, at most", "MB", ("skiff.gc", "rss_mb"), 64),
        ratio("cluster", "`skiff ps` of 10,000", "s", ("skiff.ps", "seconds"), ("kubectl.get", "seconds"),
              "`kubectl get pods,configmaps -o name`", most=1.0),
        ratio("cluster", "its memory", "MB", ("skiff.ps", "rss_mb"), ("kubectl.get", "rss_mb"),
              "`kubectl get pods,configmaps -o name`", most=1.0),
        ratio("cluster", "`skiff up`, until the agent answers", "ms", ("skiff.up", "up_ms"), ("kubectl.ready", "up_ms"),
              "`kubectl create`, `wait`"),
        figure("cluster", "`skiff exec -- true` in it", "ms", ("skiff.up", "exec_ms")),
        figure("cluster", "objects of a sandbox", "", ("skiff.up", "objects")),
        figure("cluster", "bytes of them, as JSON", "KiB", ("skiff.up", "kib")),
    ]
    least = "two writes, init, the command"
    served = "a sandbox from a pool by `skiff serve` and its first command, all at once"
    rows += [
        figure("tti", "`skiff up --pool` and `skiff exec`, alone, p50", "ms", ("skiff.tti.alone", "p50_ms"), most=120),
        ratio("tti", f"{served}: p50", "ms", ("skiff.tti.serve", "p50_ms"), ("bare.burst", "p50_ms"), least),
        ratio("tti", f"{served}: p95", "ms", ("skiff.tti.serve", "p95_ms"), ("bare.burst", "p95_ms"), least, most=1.5),
        figure("tti", "its requests, each, by the API server's audit log", "", ("skiff.tti.serve", "requests_each"), most=3),
        figure("tti", "as many by `skiff up --count`: the last is up", "ms", ("skiff.tti.count", "last_ms")),
        figure("tti", "its requests, each", "", ("skiff.tti.count", "requests_each")),
        ratio("tti", "as many processes of `skiff up --pool` and `skiff exec`: p95", "ms", ("skiff.tti.processes", "p95_ms"),
              ("bare.burst", "p95_ms"), least, most=3),
        figure("tti", "their requests, each, with port-forwards", "", ("skiff.tti.processes", "requests_each")),
        figure("tti", "port-forwards, each", "", ("skiff.tti.processes", "forwards_each")),
    ]
    two = "by two replicas of `skiff serve`"
    rows.append(figure("bursts", f"{two}, one every 200 ms: p50", "ms", ("skiff.bursts.staggered", "p50_ms"), most=40))
    for part, title in (("half", "half of the pool"), ("whole", "the whole pool")):
        served, bare = f"skiff.bursts.{part}", f"bare.burst.{part}"
        rows += [
            ratio("bursts", f"{two}, {title} at once: p50", "ms", (served, "p50_ms"), (bare, "p50_ms"), least),
            ratio("bursts", f"{two}, {title} at once: p95", "ms", (served, "p95_ms"), (bare, "p95_ms"), least, most=1.5),
            figure("bursts", "its requests, each", "", (served, "requests_each"), most=3),
            figure("bursts", "Pods that the other replica was faster to take", "%", (served, "conflicts_percent"), most=10),
        ]
    for name, title in (("p50_ms", "p50, of the pool"), ("p95_ms", "p95, a cold Pod")):
        rows.append(figure("bursts", f"{two}, twice the pool at once: {title}", "ms", ("skiff.bursts.double", name)))
    rows += [
        ratio("bursts", "half of the pool at once, processes of `skiff up --pool` and `skiff exec`: p95", "ms", ("skiff.bursts.processes", "p95_ms"),
              ("bare.burst.half", "p95_ms"), least, most=3),
        figure("bursts", "their requests, each, with port-forwards", "", ("skiff.bursts.processes", "requests_each")),
    ]
    return rows


def egress_rows() -> list[Row]:
    rows, nginx = [], "nginx `stream`"
    for form, title in (("box", "a box"), ("pods", "Pods")):
        for way in ("down", "up"):
            probe = f"skiff.egress.{form}.{way}"
            rows += [
                ratio("egress", f"processor time of the proxy of {title} for a GiB {way}", "s", (probe, "cpu_s_per_gib"),
                      (probe, "nginx_cpu_s_per_gib"), nginx, most=0.6),
                ratio("egress", "its speed", "MB/s", (probe, "mb_per_s"), (probe, "nginx_mb_per_s"), nginx, least=1.0),
            ]
        probe = f"skiff.egress.{form}.short"
        rows += [
            ratio("egress", f"connections through the proxy of {title}, one after the other", "/s", (probe, "rate"), (probe, "nginx_rate"), nginx),
            ratio("egress", "its processor time for each", "us", (probe, "cpu_us"), (probe, "nginx_cpu_us"), nginx),
        ]
    both = "nginx, TLS on both sides"
    for form, title, most in (("secret", "with a secret", (1.25, 1.15)), ("judged", "that judges requests", (1.0, 1.0))):
        down, requests = f"skiff.egress.{form}.down", f"skiff.egress.{form}.requests"
        rows += [
            ratio("egress", f"processor time of the proxy of a box {title} for a GiB down", "s", (down, "cpu_s_per_gib"), (down, "nginx_cpu_s_per_gib"),
                  both, most=most[0]),
            ratio("egress", "its speed", "MB/s", (down, "mb_per_s"), (down, "nginx_mb_per_s"), both),
            ratio("egress", "its requests on one connection", "/s", (requests, "rate"), (requests, "nginx_rate"), both),
            ratio("egress", "its processor time for each", "us", (requests, "cpu_us"), (requests, "nginx_cpu_us"), both, most=most[1]),
        ]
    for name, title in (("kib_each", "4,000"), ("kib_each_of_few", "1,000")):
        rows.append(figure("egress", f"its memory for each of {title} idle tunnels", "KiB", ("skiff.egress.idle", name), 8,
                           yardstick=("nginx.egress.idle", name), against=nginx, checked=name == "kib_each"))
    return rows


def launcher_rows() -> list[Row]:
    rows = [
        figure("launcher", "`skiff exec -- true`, p50", "ms", ("skiff.cli.exec", "ms"), 6, yardstick=("curl.exec", "ms"),
               against="`curl` of a command"),
        figure("launcher", "its memory, at most", "MB", ("skiff.cli.exec", "rss_mb"), 9, yardstick=("curl.exec", "rss_mb"),
               against="`curl` of a command"),
        figure("launcher", "its page faults", "", ("skiff.cli.exec", "faults"), 700, checked=True),
        figure("launcher", "its requests", "", ("skiff.cli.exec", "requests"), 1, checked=True),
        figure("launcher", "`skiff ps` of one sandbox, p50", "ms", ("skiff.cli.ps", "ms"), 2.5, yardstick=("skiff.cli.version", "ms"),
               against="`skiff --version`"),
        figure("launcher", "its memory, at most", "MB", ("skiff.cli.ps", "rss_mb"), yardstick=("skiff.cli.version", "rss_mb"),
               against="`skiff --version`"),
    ]
    ways = (("file.in", "`skiff cp` of a large file to a sandbox", "`curl`", 1.3),
            ("file.out", "`skiff cp` of a large file from a sandbox", "`curl`", 1.3),
            ("tree.in", "`skiff cp` of many small files to a sandbox", "`tar` and `curl`", 1.5),
            ("tree.out", "`skiff cp` of many small files from a sandbox", "`curl` and `tar`", 1.5))
    for name, title, against, most in ways:
        rows += [
            ratio("launcher", title, "ms", (f"skiff.{name}", "ms"), (f"curl.{name}", "ms"), against, most=most),
            figure("launcher", "its processor time", "ms", (f"skiff.{name}", "cpu_ms"), yardstick=(f"curl.{name}", "cpu_ms"),
                   against=against),
            figure("launcher", "its memory, at most", "MB", (f"skiff.{name}", "rss_mb"), 24, yardstick=(f"curl.{name}", "rss_mb"),
                   against=against, checked=True),
        ]
    for name, way in (("file.in", "to a sandbox"), ("file.out", "from a sandbox")):
        rows.append(figure("launcher", f"requests of `skiff cp` of a file {way}", "", (f"skiff.{name}", "requests"), 2, checked=True))
    rows += [
        figure("launcher", "bytes that the agent writes for each that comes", "", ("skiff.file.in", "agent_written"), 1.05, checked=True),
        figure("launcher", "bytes that it reads again", "", ("skiff.file.in", "agent_read"), 0.05, checked=True),
        figure("launcher", "bytes that `skiff cp` writes for each that it gets", "", ("skiff.file.out", "written"), 1.05, checked=True),
        figure("launcher", "calls of write(2) for each MiB", "", ("skiff.file.out", "write_calls_each"), 16, checked=True),
    ]
    return rows


def of(samples: Samples, place: tuple[str, str] | None) -> list[float | None]:
    """Returns one value per round; None for a failed round."""
    if place is None:
        return []
    return [entry.get(place[1]) for entry in samples.get(place[0], [])]


def median(values: list) -> float | None:
    present = [value for value in values if value is not None]
    return statistics.median(present) if present else None


def evaluate(row: Row, samples: Samples) -> dict:
    """Computes ratios per round, so that a slow round does not change them."""
    subject, yardstick = of(samples, row.subject), of(samples, row.yardstick)
    ratios = [a / b for a, b in zip(subject, yardstick) if a is not None and b]
    errors = [entry["error"] for place in (row.subject, row.yardstick) if place
              for entry in samples.get(place[0], []) if "error" in entry]
    judged = median(subject) if row.absolute else median(ratios)
    met = None
    if judged is not None and (row.most is not None or row.least is not None):
        met = (row.most is None or judged <= row.most) and (row.least is None or judged >= row.least) and not errors
    return {
        "group": row.group, "title": row.title, "unit": row.unit, "against": row.against,
        "skiff": median(subject), "yardstick": median(yardstick), "ratio": median(ratios),
        "ratio_low": min(ratios, default=None), "ratio_high": max(ratios, default=None),
        "most": row.most, "least": row.least, "absolute": row.absolute, "met": met,
        "note": errors[0] if errors else "",
    }
