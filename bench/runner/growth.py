"""The growth of the cost of one object with their number: the agent's own processor time and memory, which depend little on other work
on the machine, not the elapsed time."""

import json
import math
import statistics
from pathlib import Path
from typing import Callable

from .files import ROUTE
from .memory import Client
from .processes import Failed, Folder, Server, run_tool
from .readers import SPARE
from .svg import Line, Plot, svg

COUNTS = (1, 10, 100, 1000)
STEEPEST = 1.15  # largest slope of log(cost) over log(count) between the two largest: 1 is linear, the rest allows for noise
READ_BYTES = 1 << 20
COMMANDS = "/v1/sessions/default/commands"


class Measured:
    """A fresh agent, and its use of resources after a warm-up."""

    def __init__(self, folder: Folder, *more: str):
        self.server = Server(folder, "skiff", "--max-commands", "1100", "--max-sessions", "1100", "--max-connections", "1300",
                             "--max-ended-commands", "1100", *more)
        self.client = Client(self.server)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()
        self.server.stop()

    def cpu_us(self) -> float:
        """The processor time of its threads (the first number of schedstat, in nanoseconds)."""
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
    script = f"read line; exec {folder.program('writer')} bytes {READ_BYTES} timed"
    body = json.dumps({"argv": ["/bin/sh", "-c", script], "mode": "background", "stdin_open": True,
                       "output": {"keep_bytes": 2 * READ_BYTES}}, separators=(",", ":"))
    with Measured(folder, "--max-connections", str(count + SPARE)) as one:
        one.client.send("POST", COMMANDS, {"argv": [folder.program("tiny")]}, 200)
        return one.cost(lambda: one.server.load("readers", form="octet", clients=count, pattern="bytes", bytes=READ_BYTES,
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
    """Reads a log of COUNT times 8 KiB from its beginning."""
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
    "files": ("A directory is listed", "files in it", listing),
    "megabytes": ("Megabytes are streamed", "MiB", stream),
    "log": ("A log is read from its beginning", "of 8 KiB in the log", log_length),
}


# The cost of the bare system calls for the same work, where their cost per object grows with the number of objects.
BARE: dict[str, Callable[[Folder, int], dict]] = {
    "readers": lambda folder, count: run_tool(folder, "bare_readers", "--clients", count, "--bytes", READ_BYTES),
}


def slope(costs: dict[int, float]) -> float | None:
    """Returns the slope of the last decade, in logarithms; None when the costs are too small."""
    before, after = costs[COUNTS[-2]], costs[COUNTS[-1]]
    return math.log10(after / before) if before > 0 and after > 0 else None


def judge(steep: float | None, bare: float | None) -> bool:
    """Checks that the cost grows at most linearly, or like that of its bare system calls."""
    return steep is not None and steep <= STEEPEST + max(0, (bare or 1) - 1)


def measure(folder: Folder, rounds: int, say: Callable[[str], None]) -> list[dict]:
    found = []
    for name, (title, unit, sweep) in SWEEPS.items():
        say(f"growth: {name}")
        bare = BARE.get(name)
        samples = {count: [] for count in COUNTS}
        for _ in range(rounds):
            for count in COUNTS:
                yardstick = {"bare_us": bare(folder, count)["cpu_us"]} if bare else {}
                samples[count].append(sweep(folder, count) | yardstick)
        one = {figure: {count: statistics.median(sample[figure] for sample in samples[count]) for count in COUNTS}
               for figure in samples[COUNTS[0]][0]}
        steep, bare_steep = slope(one["cpu_us"]), slope(one["bare_us"]) if bare else None
        found.append(one | {"name": name, "title": title, "unit": unit, "slope": steep, "bare_slope": bare_steep,
                            "met": judge(steep, bare_steep)})
    if not found:
        raise Failed("no sweep")
    return found


def write(found: list[dict], folder: Path, page: Path, where: str):
    """The plots, and the page that shows them."""
    folder.mkdir(parents=True, exist_ok=True)
    last = COUNTS[-1]
    lines = ["# How cost grows", "",
             "Made by `bench/run --growth`: the agent's own processor time and memory for 1, 10, 100 and 1,000 of everything, on", where + ".",
             "The slope is that of the last decade in logarithms: 1 is linear. Dashed: linear from the largest.", "",
             "| what | time each, at 100 | at 1,000 | slope | memory each, at 100 | at 1,000 |", "|---|---|---|---|---|---|"]
    for one in found:
        cpu, rss = one["cpu_us"], one["rss_kib"]
        lines.append(f"| {one['title']} | {cpu[100] / 100:.1f} us | {cpu[last] / last:.1f} us | {one['slope']:.2f} | "
                     f"{rss[100] / 100:.2f} KiB | {rss[last] / last:.2f} KiB |")
        curves = [Line("skiffd", list(cpu.items()))]
        if bare := one.get("bare_us"):
            lines.append(f"| the same by bare system calls | {bare[100] / 100:.1f} us | {bare[last] / last:.1f} us | {one['bare_slope']:.2f} | | |")
            curves.append(Line("system calls", list(bare.items())))
        curves.append(Line("linear", [(count, cpu[last] * count / last) for count in COUNTS], dashed=True))
        plot = Plot(one["title"], one["unit"], "us of the agent's processor time", curves)
        (folder / f"{one['name']}.svg").write_text(svg(plot))
    lines += [""] + [f"![{one['title']}]({folder.name}/{one['name']}.svg)" for one in found]
    page.write_text("\n".join(lines) + "\n")
