"""What `rm` and `stop` take, and how gently: real skiff, real skiffd, the local driver."""


def test_several_are_removed_by_their_label(skiff):
    skiff.up("one", "-l", "team=a")
    skiff.up("two", "-l", "team=a")
    skiff.up("other", "-l", "team=b")
    skiff.up("theirs", "--owner", "somebody", "-l", "team=a")
    assert skiff("rm", "--dry-run", "-l", "team=a")[0] == "one\ntwo\n"
    assert skiff("rm", "-f", "-l", "team=a")[0] == "one\ntwo\n"
    assert skiff.names() == ["other", "theirs"]
    assert skiff("rm", "-l", "team=c") == ("", "")
    for words in (("-l", "team=b", "other"), ("--all", "other"), ()):
        skiff("rm", *words, status=125)
    assert skiff.names() == ["other", "theirs"]


def test_an_end_is_as_gentle_as_it_was_asked_to_be(skiff):
    deaf = ("exec", "box", "--mode", "background", "--", "sh", "-c", "trap '' TERM; while :; do sleep 1; done")
    for words in (("stop", "-t", "1"), ("stop", "--force"), ("rm", "--grace-period", "1"), ("rm", "-f")):
        if not skiff.names():
            skiff.up("box")
        skiff("start", "box", "-q")
        skiff(*deaf)
        skiff(words[0], "box", *words[1:], "--wait=false")
        assert not skiff.processes()
    err = skiff("rm", "box", "--wait", "soon", status=125)[1]
    assert "--wait" in err and "or false" in err
