"""`skiff doctor`: it finds what is wrong and gives advice that helps."""

import json
import os
import shutil


def test_the_doctor_and_the_version_tell(skiff):
    assert skiff.json("doctor")["passed"] is True
    assert skiff("version")[0].startswith("skiff ")
    skiff.up()
    assert "skiffd " in skiff("version", "box")[0]


def remedies(skiff, **options):
    out, _ = skiff("doctor", "-o", "json", status=125, **options)
    return {check["what"]: check["remedy"] for check in json.loads(out)["items"] if not check["passed"]}


def test_the_doctors_advice_helps_where_there_is_no_skiffd(skiff, tmp_path):
    beside = tmp_path / "skiff"
    shutil.copy(skiff.program, beside)
    skiff.command[-1] = str(beside)
    alone = {"PATH": str(tmp_path)}
    advice = remedies(skiff, env=alone)
    assert list(advice) == ["skiffd"] and "install it beside skiff" in advice["skiffd"]
    shutil.copy(os.environ["SKIFFD"], tmp_path / "skiffd")
    assert skiff.json("doctor", env=alone)["passed"]


def test_the_doctors_advice_helps_where_the_key_is_damaged(skiff):
    skiff("doctor")
    (key,) = skiff.state.rglob("signing-key.pem")
    key.write_text("no key")
    advice = remedies(skiff)
    assert list(advice) == ["signing key"] and "remove it" in advice["signing key"]
    key.unlink()
    assert skiff.json("doctor")["passed"]


def test_a_profile_for_apparmor_is_printed_for_a_program_of_root_alone(skiff, tmp_path):
    """A profile for a program that somebody can replace would hold for every program that is put there."""
    beside = tmp_path / "skiff"
    shutil.copy(skiff.program, beside)
    skiff.command[-1] = str(beside)
    out, err = skiff("doctor", "--apparmor", status=125)
    assert out == "" and "can be written to by others than root" in err and f"`sudo install {beside} {tmp_path}/skiffd /usr/local/bin`" in err


def test_doctor_asks_the_agents_that_run(skiff):
    agents = lambda: [item for item in skiff.json("doctor")["items"] if item["what"] == "agents"]
    assert agents()[0]["detail"].startswith("0 asked")
    skiff.up()
    assert agents()[0]["detail"].startswith("1 asked") and agents()[0]["passed"]
