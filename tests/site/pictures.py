"""The pictures of README.md that are made from facts: a recording of a terminal, and badges. `SKIFF_UPDATE_DOCS=1` with
test_pictures.py writes them into docs/pictures."""

import html
import pathlib
import re

TREE = pathlib.Path(__file__).resolve().parents[2]
PICTURES = TREE / "docs/pictures"
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")

# The lines that are typed: a comment is shown, a command runs, and all that it prints is shown.
SESSION = """\
export SKIFF_DRIVER=box
skiff up demo
skiff cp train.sh demo:
skiff exec demo --mode background --id train -- ./train.sh
# The connection may break: the command runs on, and its output is kept.
skiff logs demo train
# A request that is sent twice runs once.
skiff exec demo --mode background --id train -- ./train.sh
# Kill ends the whole process tree, daemons too, and says so.
skiff kill demo train
skiff rm demo""".splitlines()

# Prints three lines, leaves a daemon behind and goes on for long.
TRAIN = """\
#!/bin/sh
setsid sleep 1000 &
echo 'epoch 1  loss 0.91'
echo 'epoch 2  loss 0.48'
echo 'epoch 3  loss 0.25'
exec sleep 1000
"""

COLUMN, ROW, EDGE, TOP = 7.8, 19, 16, 40
SECONDS = 1.0  # between two lines that are typed

SCREEN = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">
<style>
  text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d7dae0; white-space: pre; }}
  .typed {{ fill: #ffffff; }} .prompt {{ fill: #6fc38d; }} .comment {{ fill: #8b93a1; }}
  g {{ animation-name: appear; animation-timing-function: step-end; animation-fill-mode: backwards; }}
  @keyframes appear {{ from {{ opacity: 0; }} to {{ opacity: 1; }} }}
  @media (prefers-reduced-motion: reduce) {{ g {{ animation: none; }} }}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#20242c"/>
<circle cx="20" cy="18" r="5" fill="#4a505c"/><circle cx="38" cy="18" r="5" fill="#4a505c"/><circle cx="56" cy="18" r="5" fill="#4a505c"/>
{lines}
</svg>
"""


def screen(blocks):
    """The recording: each block is a line that is typed and the lines that it printed. They appear one after the other."""
    lines, row = [], 0
    for number, (typed, printed) in enumerate(blocks):
        begun = f'<g style="animation-duration: {number * SECONDS:.1f}s">'
        comment = typed.startswith("#")
        shown = f'<tspan class="comment">{html.escape(typed)}</tspan>' if comment else f'<tspan class="prompt">$ </tspan><tspan class="typed">{html.escape(typed)}</tspan>'
        texts = [shown, *map(html.escape, printed)]
        lines.append(begun + "".join(f'<text x="{EDGE}" y="{TOP + ROW * (row + line)}">{text}</text>' for line, text in enumerate(texts)) + "</g>")
        row += len(texts)
    widest = max(len(line) + 2 for typed, printed in blocks for line in (typed, *printed))
    return SCREEN.format(width=round(2 * EDGE + COLUMN * widest), height=TOP + ROW * row, lines="\n".join(lines),
                         label="A terminal: a sandbox is made, a command runs in the background, its output is read, it is killed")


def texts(svg):
    """The lines of a recording, without what differs from run to run."""
    return [ADDRESS.sub("http://127.0.0.1:...", html.unescape(re.sub(r"<[^>]*>", "", line))) for line in re.findall(r"<text[^>]*>(.*?)</text>", svg)]


def badge(name, value):
    left, right = (round(6.6 * len(word)) + 14 for word in (name, value))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{name}: {value}">'
            f'<rect width="{left + right}" height="20" rx="3" fill="#4a5568"/><path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right - 3}z" fill="#2b6cb0"/>'
            f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
            f'<text x="{left / 2}" y="14">{name}</text><text x="{left + right / 2}" y="14">{value}</text></g></svg>\n')


def badges():
    """{file: picture} of what is true of the tree."""
    license_text = (TREE / "LICENSE").read_text()
    assert "Apache License" in license_text and "Version 2.0" in license_text
    released = re.search(r"^## \[(\d+\.\d+\.\d+)\]", (TREE / "CHANGELOG.md").read_text(), re.M)
    architectures = re.search(r"set -- ([a-z0-9 ]+)$", (TREE / ".ci/release").read_text(), re.M)[1].split()
    facts = {"license": "Apache-2.0", "release": f"v{released[1]}" if released else "none yet", "linux": " | ".join(architectures)}
    return {f"{name}.svg": badge(name, value) for name, value in facts.items()}
