"""How the cost of one thing grows with how many there are: the agent's own processor time and memory, which other work on the
machine changes little, not the time on the clock."""

import json
import math
import statistics
from pathlib import Path
from typing import Callable

from .files import ROUTE
from .memory import Client
from .processes import Failed, Folder, Server
from .readers import SPARE
from .svg import Line, Plot, svg

COUNTS = (1, 10, 100, 1000)
STEEPEST = 1.15  # of log(cost) over log(count) between the two largest: 1 is linear, the rest is for the noise
COMMANDS = "/v1/sessions/default/commands"


class Measured:
    """A fresh agent, and what it has used since it had done everything once."""

    def __init__(self, folder: Folder, *more: str):
        self.server = Server(folder, "skiff", "--max-commands", "1100", "--max-sessions", "1100", "--max-connections", "1300",
                             "--max-ended-commands", "1100", "--warm-shells", "0", *more)
        self.client = Client(self.server)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()
        self.server.stop()

    def cpu_us(self) -> float:
        """Of its threads (the first number of schedstat, in nanoseconds)."""
        tasks = Path(f"/proc/{self.server.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1000

    def cost(self, work: Callable[[], object]) -> dict:
        cpu, rss = self.cpu_us(), self.server.rss_bytes()
        work()
        return {"cpu_us": self.cpu_us() - cpu, "rss_kib": max(0, self.server.rss_bytes() - rss) / 1024}


def sessions(folder: Folder, count: int) -> dict:
    with Measured(folder) as one:
        one.client.send("POST", "/v1/sessions", {"id": "first"}, 201)
        return one.cost(lambda: [one.client.send("POST", "/v1/sessions", {"id": f"s-{i}"}, 201) for i in range(count)])


def commands(folder: Folder, count: int) -> dict:
    body = {"argv": [folder.program("tiny")]}
    with Measured(folder) as one:
        one.client.send("POST", COMMANDS, body, 200)
        return one.cost(lambda: [one.client.send("POST", COMMANDS, body, 200) for _ in range(count)])


def live_commands(folder: Folder, count: int) -> dict:
    body = {"argv": ["/bin/sleep", "60"], "mode": "background"}
    with Measured(folder) as one:
        one.client.send("POST", COMMANDS, {"argv": [folder.program("tiny")]}, 200)
        return one.cost(lambda: [one.client.send("POST", COMMANDS, body, 202) for _ in range(count)])


def readers(folder: Folder, count: int) -> dict:
    """All of them read one megabyte of one command."""
    size = 1 << 20
    script = f"read line; exec {folder.program('writer')} bytes {size} timed"
    body = json.dumps({"argv": ["/bin/sh", "-c", script], "mode": "background", "stdin_open": True,
                       "output": {"keep_bytes": 2 * size}}, separators=(",", ":"))
    with Measured(folder, "--max-connections", str(count + SPARE)) as one:
        one.client.send("POST", COMMANDS, {"argv": [folder.program("tiny")]}, 200)
        return one.cost(lambda: one.server.load("readers", form="octet", clients=count, pattern="bytes", bytes=size,
                                                pid=one.server.process.pid, body=body))


def listing(folder: Folder, count: int) -> dict:
    place = folder.files / f"entries-{count}"
    place.mkdir(exist_ok=True)
    for number in range(count):
        (place / f"{number:04}").touch()
    with Measured(folder) as one:
        ask = f"{ROUTE}:list?path={place.name}&limit=1000"
        one.client.get(ask)
        used = one.cost(lambda: [one.client.get(ask) for _ in range(20)])
        return {"cpu_us": used["cpu_us"] / 20, "rss_kib": used["rss_kib"]}


def stream(folder: Folder, count: int) -> dict:
    size = count << 20
    body = json.dumps({"argv": [folder.program("writer"), "bytes", str(size)], "mode": "stream"}, separators=(",", ":"))
    with Measured(folder) as one:
        one.client.send("POST", COMMANDS, {"argv": [folder.program("tiny")]}, 200)
        return one.cost(lambda: one.server.load("bulk", form="octet", pattern="bytes", bytes=size, body=body))


def log_length(folder: Folder, count: int) -> dict:
    """A log of COUNT times 8 KiB is read from its beginning."""
    size = count * 8192
    with Measured(folder) as one:
        one.client.send("POST", COMMANDS, {"argv": [folder.program("writer"), "bytes", str(size)], "id": "log",
                                           "output": {"keep_bytes": 16 << 20}}, 200)
        ask = f"{COMMANDS}/log/output?from=0"
        one.client.get(ask)
        used = one.cost(lambda: [one.client.get(ask) for _ in range(5)])
        return {"cpu_us": used["cpu_us"] / 5, "rss_kib": used["rss_kib"]}


SWEEPS: dict[str, tuple[str, str, Callable[[Folder, int], dict]]] = {
    "sessions": ("Sessions are made", "sessions", sessions),
    "commands": ("Commands run, one after the other", "commands", commands),
    "live": ("Commands that live at the same time", "commands", live_commands),
    "readers": ("Readers of one command's megabyte", "readers", readers),
    "files": ("A folder is listed", "files in it", listing),
    "megabytes": ("Megabytes are streamed", "MiB", stream),
    "log": ("A log is read from its beginning", "of 8 KiB in the log", log_length),
}


def slope(costs: dict[int, float]) -> float | None:
    """Of the last decade, in logarithms; None when there was next to nothing to measure."""
    before, after = costs[COUNTS[-2]], costs[COUNTS[-1]]
    return math.log10(after / before) if before > 0 and after > 0 else None


def measure(folder: Folder, rounds: int, say: Callable[[str], None]) -> list[dict]:
    found = []
    for name, (title, unit, sweep) in SWEEPS.items():
        say(f"growth: {name}")
        samples = {count: [] for count in COUNTS}
        for _ in range(rounds):
            for count in COUNTS:
                samples[count].append(sweep(folder, count))
        medians = {figure: {count: statistics.median(one[figure] for one in samples[count]) for count in COUNTS}
                   for figure in ("cpu_us", "rss_kib")}
        steep = slope(medians["cpu_us"])
        found.append({"name": name, "title": title, "unit": unit, **medians, "slope": steep,
                      "met": steep is not None and steep <= STEEPEST})
    if not found:
        raise Failed("no sweep")
    return found


def write(found: list[dict], folder: Path, page: Path, where: str):
    """The plots, and the page that shows them."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# How cost grows", "",
             "Made by `bench/run --growth`: the agent's own processor time and memory for 1, 10, 100 and 1,000 of everything, on", where + ".",
             "The slope is that of the last decade in logarithms: 1 is linear. Dashed: linear from the largest.", "",
             "| what | time each, at 100 | at 1,000 | slope | memory each, at 1,000 |", "|---|---|---|---|---|"]
    for one in found:
        cpu, rss = one["cpu_us"], one["rss_kib"]
        last = COUNTS[-1]
        lines.append(f"| {one['title']} | {cpu[100] / 100:.1f} us | {cpu[last] / last:.1f} us | {one['slope']:.2f} | {rss[last] / last:.2f} KiB |")
        plot = Plot(one["title"], one["unit"], "us of the agent's processor time",
                    [Line("time", [(count, cpu[count]) for count in COUNTS]),
                     Line("linear", [(count, cpu[last] * count / last) for count in COUNTS], dashed=True)])
        (folder / f"{one['name']}.svg").write_text(svg(plot))
    lines += [""] + [f"![{one['title']}]({folder.name}/{one['name']}.svg)" for one in found]
    page.write_text("\n".join(lines) + "\n")
