"""What the API server's audit log says of skiff's requests (tests/kubernetes/cluster/start_node.py --audit)."""

import collections
import json


class Audit:
    """The requests of skiff's processes since it was made, or since they were last asked for, without watches."""

    def __init__(self, cluster):
        self.path = cluster.folder / "audit.log"
        self.read = self.path.stat().st_size
        self.seen = set()

    def requests(self) -> collections.Counter:
        """Counts "VERB RESOURCE STATUS". A long request is written when it begins and when it ends, and counts once."""
        found = collections.Counter()
        with open(self.path, "rb") as log:
            log.seek(self.read)
            for line in log:
                if not line.endswith(b"\n"):
                    break  # it is being written
                self.read += len(line)
                one = json.loads(line)
                if one.get("userAgent") != "skiff" or one["verb"] == "watch" or one["auditID"] in self.seen:
                    continue
                self.seen.add(one["auditID"])
                what = one.get("objectRef", {})
                kind = "/".join(filter(None, (what.get("resource", "none"), what.get("subresource"))))
                found[f"{one['verb']} {kind} {one['responseStatus'].get('code', 0)}"] += 1
        return found


def costs(found: collections.Counter, sandboxes: int) -> dict:
    """A sandbox's share: all requests but the creations of Pods, which fill the pool again, its port-forwards among them, and how many of
    its Pods another process was faster to take."""
    made = sum(count for what, count in found.items() if what.startswith("create pods "))
    return {"requests_each": (found.total() - made) / sandboxes,
            "forwards_each": sum(count for what, count in found.items() if " pods/portforward " in what) / sandboxes,
            "conflicts_percent": 100 * found["patch pods 422"] / sandboxes}
