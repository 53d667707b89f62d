"""The rooms of the product, and what each of them may use: ARROWS is the plan that docs/map.md draws.

A file's room is its directory, or the next one above it that has a row here; `X/*` is a row for each directory in X that has none.
A room may use itself, the layers that its layer may use, and of its own layer the rooms in its row."""

import re

# Layers: what stands to the left of a layer, it may use.
LAYERS = {
    "base": (),
    "protocol": ("base",),
    "fs": ("base",),
    "sessions": ("base", "fs"),
    "runtime": ("base", "protocol", "fs", "sessions"),
    "container": ("base", "protocol", "fs"),
}
ALL = "all of its layer"

# Room -> (the rooms of its layer that it may use, what is in it). The top of a layer is the layer's own row.
ARROWS = {
    "base": ((ALL,), "errors, ids, clocks, descriptors, small files, metrics, licences, shares of what is limited"),
    "base/async": (("base", "base/log"), "tasks, events, timers, deadlines, channels, semaphores, pools of threads"),
    "base/bytes": (("base",), "hex, decimal numbers, SHA-2, gzip, slices of shared bytes, trimming"),
    "base/log": (("base", "base/bytes"), "the program's own log"),
    "base/link": (("base/log",), "what makes the static programs small and whole"),
    "base/settings": (("base",), "the settings engine: typed rows for flags, variables and files"),

    "protocol": ((), ""),
    "protocol/net": ((), "addresses, listeners, who may be connected, byte streams, TLS"),
    "protocol/net/trust": ((), "certificates as programs look for them: bundles, a trust store of Java, a policy of Chromium, and the variables that name them"),
    "protocol/json": ((), "JSON text, schemas, UTF-8, base64; problem documents, OpenAPI, server-sent events"),
    "protocol/http": (("protocol/net",), "HTTP/1.1: messages, targets, dates, the client, what a proxy passes on"),
    "protocol/http/server": (("protocol/net", "protocol/http"), "the HTTP/1.1 server: connections, exchanges, relays"),
    "protocol/http/multipart": (("protocol/http", "protocol/http/server"), "multipart/form-data: the parser, and a body read through it"),
    "protocol/http2": (("protocol/net", "protocol/http", "protocol/http/server"), "HTTP/2, the server"),
    "protocol/grpc": (("protocol/net", "protocol/http", "protocol/http2", "protocol/json"), "gRPC calls on HTTP/2"),
    "protocol/websocket": (("protocol/net", "protocol/http", "protocol/json"), "WebSocket: handshake, frames, socket"),
    "protocol/service": (("protocol/net", "protocol/http", "protocol/http/server", "protocol/json"), "a request's way through a route table: routes, router, dispatcher, request metrics, audit log"),
    "protocol/socket_io": (("protocol/json",), "Socket.IO: the packets in a WebSocket's frames"),

    "fs": ((), ""),
    "fs/path": ((), "a path becomes a descriptor, below a root and nowhere else; locks of names; holes of files"),
    "fs/content": (("fs/path",), "reading, writing, appending, editing one file; what is known of an entry"),
    "fs/tree": (("fs/path", "fs/content"), "listing, copying, moving and removing trees; batches of operations"),
    "fs/search": (("fs/path",), "walking a tree, ignore files, globs, grep"),
    "fs/archive": (("fs/path",), "tar archives and their compression"),
    "fs/watch": (("fs/path",), "what changes in directories, for any number of readers"),

    "sessions": ((ALL,), "commands and sessions: their start, ids that run once, life, end and retention; conditions to wait for"),
    "sessions/process": ((), "a process that runs: its tag, tree, cgroup, limits, exit status and end"),
    "sessions/spawn": (("sessions/process",), "starting a process and reaping it: its program, user, limits, environment, terminal, seccomp and Landlock"),
    "sessions/input": (("sessions/process",), "what a command reads: the queue of its standard input, and whether it waits for it"),
    "sessions/output": ((), "the log of a command: what is kept (store, spool), its readers (cursors) and the gaps that they are told, fairness among them"),
    "sessions/shell": (("sessions/process", "sessions/spawn"), "the stateful shell: its script, and the state between two commands"),
    "sessions/host": (("sessions/process",), "the machine or container around skiffd: memory guard, statistics, listening ports"),

    "runtime": ((ALL,), "skiffd: main, serving and the drain on SIGTERM, settings, activity (the lease and the idle time), the workload beside it, health, metrics"),
    "runtime/process": (("runtime", "runtime/egress"), "the agent as a process: signals, its own limits, self-defence, secrets that lie open, installing itself, a start with the settings of a file, its half of egress by name, a relay to its port, files that are read again, what its root directory lacks"),
    "runtime/auth": ((), "credentials, tokens, scopes, browser guard"),
    "runtime/egress": ((), "egress by name, from inside: the proxy on a loopback address that commands use, whose bytes go to the sandbox's egress proxy; the certificates that commands trust for it"),
    "runtime/egress/names": (("runtime/egress",), "egress by name for programs that know no proxy: the sandbox's name server, and its loopback addresses for names"),
    "runtime/reader": ((), "reading the log of a command for a client: its turn, its deadlines, the watch on the client; why a command did not start, and its exit code"),
    "runtime/api": (("runtime", "runtime/auth", "runtime/reader", "runtime/api/*", "runtime/api/files/search"), "the route table (files: `file_routes`, all others: `routes`), the way of a request through it, what handlers share; the handlers are in the rooms below"),
    "runtime/api/answers": (("runtime/api",), "what is answered: each row writes a JSON member and its schema"),
    "runtime/api/agent": (("runtime", "runtime/process", "runtime/auth", "runtime/api", "runtime/api/answers", "runtime/api/commands"), "routes about the agent: health, version, telemetry, `/v1/init` (which gives a prestarted sandbox its credentials, once), `/v1/lease`"),
    "runtime/api/commands": (("runtime", "runtime/auth", "runtime/reader", "runtime/api", "runtime/api/answers"), "routes of commands: start, output, input, signals, /v1/run"),
    "runtime/api/code": (("runtime", "runtime/auth", "runtime/reader", "runtime/api", "runtime/api/answers", "runtime/api/commands"), "code that runs: its contexts and their workers (with the sources of the workers), what they tell, the routes"),
    "runtime/api/sessions": (("runtime", "runtime/auth", "runtime/api", "runtime/api/answers", "runtime/api/commands"), "routes of sessions, and the wait for a condition"),
    "runtime/api/sockets": (("runtime", "runtime/auth", "runtime/reader", "runtime/api", "runtime/api/answers", "runtime/api/commands"), "WebSocket routes: messages and channels"),
    "runtime/api/files": (("runtime", "runtime/auth", "runtime/api", "runtime/api/answers", "runtime/api/sockets"), "routes of files, archives and watches"),
    "runtime/api/files/search": (("runtime/api", "runtime/api/answers", "runtime/api/files"), "routes of searches: glob and grep"),
    "runtime/api/ports": (("runtime", "runtime/auth", "runtime/api", "runtime/api/sockets"), "requests and connections that are passed on to servers on ports of the sandbox"),
    "runtime/api/openapi": (("runtime/auth", "runtime/api", "runtime/api/*", "runtime/api/files/search"), "what the OpenAPI document says of each route and event"),
    "runtime/mcp": (("runtime", "runtime/auth", "runtime/reader", "runtime/api", "runtime/api/*", "runtime/mcp/tools"), "the Model Context Protocol: sessions of clients, requests, jobs and their answers"),
    "runtime/mcp/tools": (("runtime", "runtime/auth", "runtime/reader", "runtime/api", "runtime/api/*", "runtime/api/files/search", "runtime/mcp"), "the tools and resources that models see"),
    "runtime/dialects": (("runtime", "runtime/process", "runtime/auth", "runtime/api", "runtime/api/*", "runtime/dialects/*"), "the table of the dialects, and what they have in common"),
    "runtime/dialects/kubebox": (("runtime", "runtime/process", "runtime/auth", "runtime/reader", "runtime/api", "runtime/api/*", "runtime/dialects"), "the protocol of kubebox's Python client, REST and Socket.IO"),
    "runtime/dialects/python_runtime": (("runtime", "runtime/process", "runtime/auth", "runtime/reader", "runtime/api", "runtime/api/*", "runtime/dialects"), "the runtime protocol of agent-sandbox's Python SDK"),
    "runtime/dialects/sandboxd": (("runtime", "runtime/process", "runtime/auth", "runtime/reader", "runtime/api", "runtime/api/*", "runtime/dialects"), "agent-sandbox's sandboxd: files by REST, processes by gRPC"),
    "runtime/dialects/e2b": (("runtime", "runtime/auth", "runtime/reader", "runtime/api", "runtime/api/*", "runtime/dialects", "runtime/dialects/e2b/files", "runtime/dialects/e2b/code"), "E2B's sandbox protocol, translated to sessions and commands"),
    "runtime/dialects/e2b/code": (("runtime", "runtime/auth", "runtime/api", "runtime/api/*", "runtime/dialects", "runtime/dialects/e2b", "runtime/dialects/e2b/files"), "E2B's code interpreter"),
    "runtime/dialects/e2b/files": (("runtime", "runtime/auth", "runtime/api", "runtime/api/*", "runtime/dialects", "runtime/dialects/e2b"), "E2B's files and watches"),

    "container": ((ALL,), "skiff: main"),
    "container/process": ((), "starting a program on this machine"),
    "container/net": ((), "URLs, proxies, names of hosts, times on the wire, when to try again"),
    "container/kube": (("container/process", "container/net", "container/kube/*"), "the Kubernetes client: requests, watches, logs, port-forwards"),
    "container/kube/auth": (("container/process", "container/net", "container/kube/objects"), "kubeconfig, credentials, and the way to the API server"),
    "container/kube/objects": (("container/net",), "objects as the API server writes them: fields, kinds, quantities, failures, YAML"),
    "container/trace": (("container/net",), "OpenTelemetry traces"),
    "container/agent": (("container/net", "container/trace", "container/agent/*"), "the client of skiffd: requests, commands, tokens"),
    "container/agent/copy": (("container/agent", "container/trace"), "copying files and trees in and out"),
    "container/agent/stream": (("container/agent", "container/trace"), "what lasts: the output of commands, events, connections to ports"),
    "container/sandbox": (("container/net", "container/agent", "container/agent/*", "container/trace"), "what a sandbox is and what it may be asked for: its specification and Pod options with their values, the driver's interface; what works with any driver"),
    "container/cluster": (("container/net", "container/kube", "container/kube/*", "container/agent", "container/agent/*", "container/sandbox", "container/trace", "container/cluster/pod"), "what the drivers of a cluster share: the ways to an agent, roles, keys, namespaces"),
    "container/cluster/pod": (("container/net", "container/kube", "container/kube/*", "container/sandbox", "container/trace", "container/cluster", "container/cluster/egress"), "a Pod and what is made with it: Service, network policy, volumes, quota, namespace; its way to ready, why it ended"),
    "container/cluster/egress": (("container/egress/terminate", "container/kube", "container/kube/*", "container/sandbox", "container/trace", "container/agent", "container/cluster"), "egress by name in a cluster: the objects of the proxy, of the fence and of secrets, the trial of the fence"),
    "container/drivers/pods/egress": (("container/egress", "container/egress/terminate", "container/kube", "container/kube/*", "container/agent", "container/sandbox", "container/trace", "container/cluster", "container/cluster/*", "container/drivers/pods"), "egress by name of a sandbox that is a Pod: its rules, its credential, its secrets, its log"),
    "container/drivers/pods": (("container/net", "container/kube", "container/kube/*", "container/agent", "container/sandbox", "container/trace", "container/cluster", "container/cluster/*", "container/drivers/pods/egress"), "the driver `pod`: records, creation, removal, pools"),
    "container/drivers/claims": (("container/net", "container/kube", "container/kube/*", "container/agent", "container/sandbox", "container/trace", "container/cluster", "container/cluster/pod"), "the driver `claim`, for the controller of agent-sandbox"),
    "container/drivers/direct": (("container/net", "container/agent", "container/sandbox", "container/trace"), "the driver `direct`, for an agent that somebody else runs"),
    "container/host": (("container/process", "container/agent", "container/sandbox", "container/trace"), "what the drivers of this machine share: the state directory, records and locks, processes, the life of a sandbox"),
    "container/drivers/local": (("container/process", "container/agent", "container/sandbox", "container/trace", "container/host"), "the driver `local`: agents on this machine, not isolated"),
    "container/egress": (("container/net", "container/host", "container/egress/terminate", "container/egress/names"), "egress by name, from outside: the policy, what it judges, the proxy of a sandbox as a program, its audit log"),
    "container/egress/rules": ((), "rules as users write them: the profiles, words that stand for the hosts of a tool"),
    "container/egress/names": (("container/egress",), "names that a sandbox asks for: on which ports it may reach one, how many there may be below a wildcard"),
    "container/egress/terminate": (("container/egress", "container/sandbox", "container/host"), "secrets that a sandbox never sees: TLS that ends in its proxy, the certificates for that, the secret in requests and masked in answers"),
    "container/egress/cluster": (("container/egress", "container/egress/terminate", "container/process", "container/net", "container/kube", "container/kube/*", "container/agent", "container/trace", "container/sandbox", "container/cluster", "container/cluster/egress"), "the egress proxy of a namespace in a cluster: whose connection it is, the Pods with their rules and the secrets from watches, the program"),
    "container/drivers/box": (("container/process", "container/egress", "container/agent", "container/agent/*", "container/sandbox", "container/trace", "container/host", "container/drivers/box/*"), "the driver `box`: the plan of a box, its namespaces, mounts and system calls, why a machine can have none"),
    "container/drivers/box/network": (("container/net", "container/agent", "container/sandbox", "container/trace", "container/host", "container/drivers/box"), "the network of a box: pasta, the link to it, what is barred"),
    "container/drivers/box/egress": (("container/egress", "container/egress/terminate", "container/process", "container/agent", "container/sandbox", "container/trace", "container/host", "container/drivers/box"), "the egress proxy of a box as a process: its start, its end, a new policy"),
    "container/drivers/box/limits": (("container/kube/objects", "container/agent", "container/sandbox", "container/trace", "container/host"), "limits of a box: what can be asked for, the control groups that hold it"),
    "container/drivers/box/remains": (("container/agent", "container/sandbox", "container/trace", "container/host", "container/drivers/box"), "boxes whose records are gone: what still runs of them, what is left of their files"),
    "container/changes": (("container/host", "container/sandbox"), "what a sandbox has changed in a directory of this machine: compared, shown and applied"),
    "container/drivers/docker": (("container/process", "container/kube/objects", "container/agent", "container/agent/*", "container/sandbox", "container/trace", "container/host"), "the driver `docker`: the command lines of container engines, what they answer, connections into containers without a network"),
    "container/mcp": (("container/agent", "container/agent/*", "container/sandbox", "container/trace"), "sandboxes for clients of the Model Context Protocol"),
    "container/serve": (("container/kube/objects", "container/agent", "container/sandbox", "container/trace", "container/serve/*"), "`skiff serve`: the server, who may do what, a request's way through it"),
    "container/serve/keys": (("container/agent", "container/sandbox", "container/trace", "container/serve", "container/serve/gateway"), "API keys, accounts of the cluster, what a credential permits, limits of a key"),
    "container/serve/fleet": (("container/net", "container/kube/objects", "container/agent", "container/sandbox", "container/trace", "container/serve", "container/serve/keys", "container/serve/gateway"), "the sandboxes of all tenants: creation, limits, templates, logs"),
    "container/serve/list": (("container/sandbox", "container/serve/fleet"), "the list of a tenant's sandboxes as clients follow it"),
    "container/serve/api": (("container/egress", "container/egress/rules", "container/kube/objects", "container/sandbox", "container/trace", "container/serve", "container/serve/e2b", "container/serve/fleet", "container/serve/keys", "container/serve/list"), "the server's own API and its OpenAPI document"),
    "container/serve/e2b": (("container/net", "container/agent", "container/egress", "container/sandbox", "container/trace", "container/serve", "container/serve/fleet"), "the API of E2B's control"),
    "container/serve/gateway": (("container/agent", "container/agent/*", "container/trace"), "the way of requests to sandboxes: which is meant, previews in browsers, waking, passing on"),
    "container/drivers/serve": (("container/net", "container/agent", "container/agent/*", "container/sandbox", "container/trace", "container/serve/api", "container/serve/fleet"), "the driver `serve`: sandboxes of a `skiff serve`, by its URL and an API key"),
    "container/console": (("container/sandbox", "container/serve", "container/serve/*"), "the page in a browser, by the link of `skiff console` or a session of `skiff serve`, in front of a server of sandboxes"),
    "container/cli": ((ALL,), "a run of the command line: its context, drivers, keys, signals, traces"),
    "container/cli/parse": ((ALL,), "words to a command with its flags: the table, completion, the file of settings"),
    "container/cli/flags": ((ALL,), "groups of flags that several commands have (rows alone; `sandbox/pod_options` parses the values)"),
    "container/cli/output": ((ALL,), "what is printed: tables, JSON, terminals, standard streams"),
    "container/cli/commands": ((ALL,), "one file for each subcommand"),
    "container/cli/commands/cluster": ((ALL,), "subcommands of operators: doctor, gc, keys, pools, roles, manifests, networks, serve"),
    "container/cli/commands/files": ((ALL,), "cp, changes, apply and the subcommands of `skiff files`"),
    "container/cli/commands/secrets": ((ALL,), "subcommands of `skiff secret`"),
    "container/cli/commands/mcp": ((ALL,), "`skiff mcp` and `skiff mcp config`"),
}

# (file, what it includes all the same): why.
EXCEPTIONS = {
    ("fs/archive/archive.cpp", "fs/search/walk.hpp"): "an archive holds what a walk finds",
    ("sessions/output/log.hpp", "sessions/process/exit_status.hpp"): "a log ends with how its command ended",
    ("runtime/auth/credentials.hpp", "runtime/settings.hpp"): "which credentials there are is set by settings",
    ("runtime/api/commands/run_routes.cpp", "runtime/api/sockets/socket_routes.hpp"): "/v1/shell is a command on a WebSocket",
    ("runtime/api/routes.cpp", "runtime/mcp/routes.hpp"): "/mcp is a row of the route table",
    ("container/sandbox/driver.hpp", "container/kube/objects/object.hpp"): "a driver's manifest is a list of objects",
    ("container/sandbox/pools.hpp", "container/kube/objects/object.hpp"): "the template of a pool is an object",
    ("container/cluster/namespaces.cpp", "container/drivers/claims/pools.hpp"): "which kinds the claims have depends on the version that is served",
}


def room_of(path):
    """The row of a file, by its path: the directory's own or that of the next one above; None outside of the product."""
    directory = path.rpartition("/")[0]
    while directory:
        above, _, _name = directory.rpartition("/")
        if directory in ARROWS or f"{above}/*" in ARROWS:
            return directory
        directory = above
    return None


def row_of(room):
    above, _, _name = room.rpartition("/")
    return ARROWS.get(room) or ARROWS[f"{above}/*"]


def is_one_of(room, patterns):
    return any(room == pattern or (pattern.endswith("/*") and re.fullmatch(re.escape(pattern[:-1]) + "[^/]+", room))
               for pattern in patterns)


def may_use(room, other):
    """Whether files of `room` may include files of `other`."""
    layer, other_layer = room.split("/")[0], other.split("/")[0]
    if room == other or (layer != other_layer and other_layer in LAYERS[layer]):
        return True
    return layer == other_layer and (ALL in row_of(room)[0] or is_one_of(other, row_of(room)[0]))
