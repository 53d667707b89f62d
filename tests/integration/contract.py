"""The contract: contract.txt as data."""

import dataclasses
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SESSION = "/v1/sessions/{sid}"


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
                getattr(route, first).update(one for one in rest if not one.startswith("("))
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
