"""The contract: contract.txt as data, and what the team's document names, where that lies beside the checkout."""

import dataclasses
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SESSION = "/v1/sessions/{sid}"
# `GET/HEAD .../files/{path}`, `:copy` (as the one before it), `/healthz` (GET), with a query or the form of a body behind.
ROUTE = re.compile(r"(?:([A-Z]+)(?:/HEAD)? )?(\.\.\.|/v1|/healthz|/readyz|/metrics|:)([^\s{?]*(?:\{\w+\}[^\s{?]*)*)"
                   r"(?:\?(\S*))?(?: \{.*)?")


@dataclasses.dataclass
class Route:
    method: str
    path: str
    scope: str | None
    query: set = dataclasses.field(default_factory=set)
    takes: set = dataclasses.field(default_factory=set)
    answers: dict = dataclasses.field(default_factory=dict)  # status: media types
    problems: dict = dataclasses.field(default_factory=dict)  # (status, code): whether it is asked for

    @property
    def name(self):
        return f"{self.method} {self.path}"


class Contract:
    def __init__(self, text):
        self.routes, self.words, self.asked, self.anywhere = {}, {}, {}, set()
        for line in text.splitlines():
            first, *rest = line.split() or ["#"]
            if first.startswith("#"):
                continue
            if first == "words":
                self.words[rest[0]] = [word.strip("()") for word in rest[1:]]
                self.asked[rest[0]] = [word for word in rest[1:] if not word.startswith("(")]
            elif first == "any":
                self.anywhere.add((int(rest[0]), rest[1]))
            elif not line.startswith(" "):
                route = Route(first, rest[0], None if rest[1] == "-" else rest[1])
                assert route.name not in self.routes, f"{route.name} stands there twice"
                self.routes[route.name] = route
            elif first in ("query", "takes"):
                getattr(route, first).update(rest)
            elif int(first) < 400:
                route.answers[int(first)] = set(rest)
            else:
                route.problems.update({(int(first), code.strip("()")): not code.startswith("(") for code in rest})

    def problems(self):
        """Every (status, code) that it names."""
        return self.anywhere.union(*(route.problems for route in self.routes.values()))


def read():
    return Contract((HERE / "contract.txt").read_text())


def error_table():
    """{code: status} of docs/errors.md, which a unit test holds to the tables in the code."""
    rows = re.findall(r"^\| `(\w+)` *\| (\d+) ", (ROOT / "docs/errors.md").read_text(), re.M)
    return {code: int(status) for code, status in rows}


class Document:
    """What api.md names, by its sections; empty where it isn't there."""

    def __init__(self):
        found = [parent / "shared/api.md" for parent in ROOT.parents if (parent / "shared/api.md").exists()]
        text = found[0].read_text() if found else ""
        parts = re.split(r"^## (\d+)\..*$", text, flags=re.M)
        self.sections = dict(zip(map(int, parts[1::2]), parts[2::2]))

    def section(self, number):
        return self.sections.get(number, "")

    def routes(self):
        """Of each line of sections 2 to 7 that names some: ({"METHOD path": query names}, further query names of these)."""
        for line in "\n".join(map(self.section, range(2, 8))).splitlines():
            first, _, rest = line.partition(" | ")
            named, method = {}, None
            for code in re.findall(r"`([^`]+)`", first):
                match = ROUTE.fullmatch(code)
                if not match or code.endswith(("/v1", "/commands...", "/files...")):
                    continue
                method = match[1] or (method if match[2] == ":" else "GET")
                start = {"...": SESSION, ":": SESSION + "/files:"}.get(match[2], match[2])
                named[f"{method} {start}{match[3]}"] = set(re.findall(r"(\w+)=", match[4] or ""))
            if named:
                queries = re.findall(r"`\?([^`]*)`", rest) if line.startswith("|") else []
                yield named, {name for query in queries for name in re.findall(r"(\w+)=", query)}

    def fields(self):
        """{field of a command: fields in it} of the table in section 4."""
        fields = {}
        for first, second in re.findall(r"^\| ([^|]*) \| (.*) \|$", self.section(4), re.M):
            names = re.findall(r"`(\w+)`", first)
            if not names or "/" in first.replace(" / ", ""):
                continue
            inner = re.match(r"`\{([^}]*)\}`", second)
            fields.update({name: re.findall(r"(\w+)(?:,|:|$)", inner[1]) if inner else [] for name in names})
        return fields

    def problems(self):
        """(status, code) wherever it says so."""
        text = "".join(self.sections.values())
        return {(int(status), code) for status, code in re.findall(r"\b([45]\d\d) `([a-z]+(?:_[a-z]+)+|draining)`", text)}

    def causes(self):
        return re.findall(r"\w+", "".join(re.findall(r"^`cause`: `([^`]+)`", self.section(4), re.M)))

    def close_codes(self):
        text = "".join(re.findall(r"^\*\*WebSocket\.\*\*.*\n.*$", self.section(8), re.M))
        return set(re.findall(r"\b(1\d{3}|4\d{3})\b", text))
