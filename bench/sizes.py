#!/usr/bin/env python3
"""The size of each library in the static binary: the linker's map, summed. `bench/sizes.py [MAP]` prints a Markdown table."""

import collections
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
# VMA LMA size align, then an input section, indented by eight: `file.o:(.text)` or `libx.a(file.o):(.text)`, or the linker's own.
INPUT = re.compile(r"^\s*[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s+\d+ {9}(\S.*)$")
OUTPUT = re.compile(r"^\s*[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s+\d+ (\.\S+)$")
NOT_IN_THE_FILE = {".bss", ".tbss", ".bss.rel.ro", ".symtab", ".strtab", ".shstrtab", ".comment"}
KINDS = {".text": "code", ".rodata": "constants", ".eh_frame": "unwinding", ".eh_frame_hdr": "unwinding", ".gcc_except_table": "unwinding"}
COLUMNS = ("code", "constants", "unwinding", "other")
LIBRARIES = {
    "libcrypto": "OpenSSL, libcrypto", "libssl": "OpenSSL, libssl", "libc": "glibc", "libstdc++": "libstdc++", "libgcc_eh": "libgcc", "libgcc": "libgcc",
    "libzstd": "zstd", "libz": "zlib", "libm-2.36": "glibc", "libre2": "RE2", "libskiff_base": "skiff, base", "libskiff_protocol": "skiff, protocol", "libskiff_fs": "skiff, fs",
    "libskiff_sessions": "skiff, sessions", "libskiff_runtime": "skiff, runtime",
}


def owner(place: str) -> str:
    archive = re.match(r"(?:.*/)?(lib[^/]*?)\.a\(", place)
    if archive:
        return LIBRARIES.get(archive.group(1), archive.group(1))
    if "skiffd.dir" in place:
        return "skiff, runtime"
    return "glibc" if re.search(r"crt\w*\.o", place) else "the linker (merged strings, tables)"


def read(path: Path) -> dict[str, collections.Counter]:
    found: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    section = ""
    for line in path.read_text(errors="replace").splitlines():
        if output := OUTPUT.match(line):
            section = output.group(2)
        elif (one := INPUT.match(line)) and section and section not in NOT_IN_THE_FILE and not section.startswith(".debug"):
            found[owner(one.group(2))][KINDS.get(section, "other")] += int(one.group(1), 16)
    return found


def table(found: dict[str, collections.Counter]) -> str:
    total = collections.Counter()
    for sizes in found.values():
        total.update(sizes)
    lines = ["| KB | " + " | ".join(COLUMNS) + " | in all |", "|---" * (len(COLUMNS) + 2) + "|"]
    for name, sizes in [*sorted(found.items(), key=lambda one: -one[1].total()), ("in all", total)]:
        lines.append(f"| {name} | " + " | ".join(f"{sizes[column] / 1000:,.0f}" for column in COLUMNS) + f" | {sizes.total() / 1000:,.0f} |")
    return "\n".join(lines)


def main() -> int:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else TOP / "build" / "release" / "skiffd.map"
    if not path.exists():
        sys.exit(f"{path} is not there: cmake --preset release && cmake --build build/release --target skiffd")
    print(table(read(path)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
