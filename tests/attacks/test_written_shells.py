"""An isolated command writes the shell of the next session: it is tried, as it is used, with the session's isolation."""

import pytest

SHELL = """#!/bin/sh
(: > {outside}) 2>/dev/null
grep NoNewPrivs /proc/self/status > {root}/told
exec sh "$@"
"""


@pytest.mark.parametrize("shell", [{"stateful": True}, {"login": True}], ids=["stateful", "login"])
@pytest.mark.parametrize("level", ["protect", "landlock"])
def test_a_shell_is_tried_under_the_level_of_its_session(agent, level, shell):
    if level not in agent.request("GET", "/v1/capabilities").json()["isolation"]:
        pytest.skip("this kernel has no Landlock scopes")
    outside = agent.folder / "outside"
    probe = agent.run(argv=["sh", "-c", ': > "$1"', "sh", str(outside)], session=agent.session(isolation=level))
    may_write = probe["exit_code"] == 0
    outside.unlink(missing_ok=True)
    written = agent.run(argv=["sh", "-c", 'printf %s "$1" > shell && chmod 755 shell', "sh", SHELL.format(outside=outside, root=agent.root)],
                        session=agent.session(isolation=level))
    assert written["exit_code"] == 0, written
    made = agent.request("POST", "/v1/sessions", json={"isolation": level, "shell": {"path": str(agent.root / "shell"), **shell}})
    assert made.status in (201, 422), made
    assert (agent.root / "told").read_text().split() == ["NoNewPrivs:", "1"]
    assert may_write or not outside.exists()
