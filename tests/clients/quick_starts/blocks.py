"""The blocks of code in the README that an installed package brings."""

import re
import subprocess


def blocks(text, languages):
    """The code of the blocks in one of these languages."""
    found = re.findall(rf"^```(?:{languages})\n(.*?)^```", text, re.M | re.S)
    assert found, text
    return found


def of_python(python, package):
    """The blocks of a package in this Python's environment."""
    asked = f"import importlib.metadata as m; d = m.metadata({package!r}); print(d.get_payload() or d['Description'])"
    return blocks(subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout, "py|python")


def of_npm(modules, package):
    """The blocks of a package below node_modules."""
    return blocks((modules / package / "README.md").read_text(), "ts|typescript")


def the_one_with(found, *texts):
    """The one block that contains all of these texts."""
    chosen = [code for code in found if all(text in code for text in texts)]
    assert len(chosen) == 1, (texts, chosen)
    return chosen[0]
