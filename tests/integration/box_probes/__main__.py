"""Attempts to leave a box, or to harm what is outside of it. It runs inside, as a command: `python3 box_probes JSON`, where JSON
says what is outside. It prints {name: what was reached}; an empty answer means that nothing was.

Outside of a box the probes would do what they try, so they do not begin there."""

import json
import os
import sys


def is_in_box():
    with open("/proc/1/cmdline", "rb") as file:
        is_agent = file.read().startswith(b"/.skiff/skiffd\0")
    return is_agent and os.getuid() == 1000 and not os.access("/", os.W_OK) and os.path.ismount("/.skiff/skiffd")


if not is_in_box():
    sys.exit("the probes run in a box alone: outside they would do what they try")

import probing  # noqa: E402

probing.note_descriptors()

import files  # noqa: E402
import kernel  # noqa: E402
import others  # noqa: E402

assert files and kernel and others


def run():
    reached_by = {}
    for name, function in probing.PROBES.items():
        try:
            found = function()
        except Exception as error:  # a probe that breaks proves nothing
            found = f"broken: {error!r}"
        if found:
            reached_by[name] = str(found)
    print(json.dumps({"probes": len(probing.PROBES), "reached": reached_by}))


run()
