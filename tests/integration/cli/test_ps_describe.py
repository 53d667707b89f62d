"""`skiff ps` and `skiff describe`: what they print of the sandboxes of the local driver."""

import signal


def test_sandboxes_belong_to_an_owner_and_have_labels(skiff):
    skiff.up("mine", "-l", "team=a")
    skiff.up("yours", "--owner", "you", "-l", "team=b")
    assert [item["name"] for item in skiff.json("ps")["items"]] == ["mine"]
    assert skiff("ps", "--everyone", "-o", "name")[0] == "mine\nyours\n"
    assert skiff("ps", "--everyone", "--label", "team=b", "-o", "name")[0] == "yours\n"
    assert skiff("ps", "--status", "stopped", "-o", "name")[0] == ""
    skiff("rm", "--all")
    assert skiff.names() == ["yours"]


def test_lists_have_the_forms_of_kubectl(skiff):
    skiff.up("one", "-l", "n=2")
    skiff.up("two", "-l", "n=1")
    assert skiff("ps", "-q")[0] == "one\ntwo\n"
    assert skiff("ps", env={"SKIFF_QUIET": "1"})[0].startswith("NAME"), "that variable is for all commands"
    assert skiff("ps", "--no-headers")[0].split()[0] == "one"
    assert skiff("ps", "-q", "--sort-by", ".labels.n")[0] == "two\none\n"
    assert skiff("ps", "-o", "jsonpath={range .items[*]}{.name}:{.labels.n}{'\\n'}{end}")[0] == "one:2\ntwo:1\n"
    assert "jsonpath" in skiff("ps", "-o", "jsonpath={.items[}", status=125)[1]
    waited = ("exec", "one", "--mode", "wait", "-o", "jsonpath={.exit_code} {.stdout}", "--", "sh", "-c", "echo out; exit 3")
    assert skiff(*waited, status=3)[0] == "3 out\n"
    assert skiff("rbac", "ps", "-o", "wide") == skiff("rbac", "ps")
    heads, first, _ = skiff("ps", "-o", "wide")[0].splitlines()
    assert heads.split()[5:] == ["LAST", "USED", "IMAGE", "OWNER", "NODE", "POOL"] and " ago " in first
    assert skiff.json("ps", "two")["name"] == "two"
    assert [item["name"] for item in skiff.json("get", "two", "one")["items"]] == ["two", "one"]
    assert "there is no sandbox" in skiff("ps", "none", status=125)[1]
    assert "namespaces" in skiff("ps", "-A", status=125)[1]


def test_a_watch_tells_what_changes(skiff):
    skiff.up()
    process = skiff.start("ps", "-w", "--no-headers")
    assert process.stdout.readline().split()[:2] == [b"box", b"running"]
    skiff("stop", "box")
    while (line := process.stdout.readline().split()[:2]) != [b"box", b"stopped"]:
        assert line[0] == b"box", line
    skiff("rm", "box")
    assert b"removed" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.communicate()


def test_describe_has_sections_and_takes_several_names(skiff):
    skiff.up("one", "-l", "team=a", "--ttl", "1h")
    skiff.up("two")
    page = skiff("describe", "one", "two")[0]
    lines = page.splitlines()
    assert lines[0].split() == ["name:", "one"] and any(line.split() == ["labels:", "team=a"] for line in lines)
    assert any(line.split() == ["workspace:", skiff.workdir("one")] for line in lines)
    for heading in ("details:", "agent:", "activity:", "reached:"):
        assert lines.count(heading) == 2, page
    assert [item["name"] for item in skiff.json("describe", "one", "two")["items"]] == ["one", "two"]
    assert skiff.json("describe", "one")["workspace"] == skiff.workdir("one")
    assert skiff.json("describe", "one")["default_timeout_ms"] is None
