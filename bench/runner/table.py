"""The table, for a terminal and for docs/figures.md."""


def number(value: float | None) -> str:
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def with_unit(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{number(value)}{unit if unit.startswith('/') else ' ' + unit}".strip()


def target(row: dict) -> str:
    if row["most"] is None and row["least"] is None:
        return ""
    sign, value = ("<=", row["most"]) if row["most"] is not None else (">=", row["least"])
    return f"{sign} {with_unit(value, row['unit'])}" if row["absolute"] else f"{sign} {value:g}x"


def cells(row: dict) -> list[str]:
    spread = ""
    if row["ratio"] is not None:
        spread = f"{row['ratio']:.2f}x"
        if row["ratio_low"] is not None:  # else it was kept by hand
            spread += f" ({row['ratio_low']:.2f}-{row['ratio_high']:.2f})"
    yardstick = f"{with_unit(row['yardstick'], row['unit'])} {row['against']}" if row["against"] else ""
    met = {True: "yes", False: "no", None: ""}[row["met"]]
    return [row["title"], with_unit(row["skiff"], row["unit"]), yardstick, spread, target(row), met]


HEADS = ["what", "skiff", "yardstick", "ratio (spread)", "target", "met"]


def machine_line(machine: dict | str) -> str:
    if isinstance(machine, str):
        return machine  # of a run whose figures were kept by hand
    return (f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, kernel {machine['kernel']}; "
            f"{machine['files']}; {machine['rounds']} rounds, {machine['date']}")


def first_line(row: dict) -> str:
    """Returns the first line of the error."""
    return row["note"].splitlines()[0][:110]


def text(result: dict) -> str:
    table = [HEADS] + [cells(row) for row in result["rows"]]
    widths = [max(len(line[i]) for line in table) for i in range(len(HEADS))]
    shown, group = [], None
    for line, row in zip(table, [None] + result["rows"]):
        if row is not None and row["group"] != group:
            group = row["group"]
            shown.append("-- " + group)
        note = f"  [{first_line(row)}]" if row is not None and row["note"] else ""
        shown.append("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() + note)
    return "\n".join(shown)


def markdown(result: dict) -> str:
    where = machine_line(result["machine"])
    lines = ([f"Machine: {where}.", ""] if where else []) + [
             "| " + " | ".join(HEADS) + " |", "|" + "---|" * len(HEADS)]
    for row in result["rows"]:
        *shown, met = cells(row)
        shown.append(f"{met} ({first_line(row)})".strip() if row["note"] else met)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in shown) + " |")
    return "\n".join(lines)
