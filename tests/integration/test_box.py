"""The driver box: isolated sandboxes on this machine, as root and as an ordinary user, with the real binaries."""

import json
import os
import subprocess
import time
import urllib.request

import pytest

import boxes
import proc
from boxes import skiff  # noqa: F401
from waiting import until


def test_a_box_is_a_machine_of_its_own(skiff):
    made = skiff.up("demo")
    assert made["driver"] == "box" and made["address"].startswith("unix:") and made["details"]["network"] == "none"
    said = skiff.sh("id -un; id -u; hostname; pwd; echo $HOME; tr '\\0' ' ' < /proc/1/cmdline | cut -d' ' -f1", "demo")
    assert said.split() == ["user", "1000", "demo", "/workspace", "/home/user", "/.skiff/skiffd"]
    assert set(skiff.sh("ls /", "demo").split()) <= {"bin", "dev", "etc", "gnu", "home", "lib", "lib32", "lib64", "nix", "opt", "proc",
                                                     "run", "sbin", "sys", "tmp", "usr", "var", "workspace"}
    assert skiff.sh("ls -A ~ /workspace /tmp /var/tmp | grep -v :", "demo").split() == []


def test_its_agent_runs_as_a_user_without_rights(skiff):
    pid = int(skiff.up()["details"]["pid"])
    owner = os.stat(f"/proc/{pid}").st_uid if os.geteuid() == 0 else skiff.record()["user"]
    assert proc.status(pid, "NoNewPrivs") == "1" and int(proc.status(pid, "CapBnd"), 16) == 0
    assert proc.status(pid, "Uid").split()[0] == str(skiff.record()["user"]) != "0", owner
    if skiff.uid == 0:
        assert 2_010_000_000 <= skiff.record()["user"] < 2_100_000_000
    else:
        assert skiff.record()["user"] == skiff.uid


def test_what_a_box_shares_is_said_once(skiff):
    said = [skiff("up", name)[1] for name in ("first", "second")]
    assert ["shares this machine's kernel" in err for err in said] == [True, False], said


def test_two_boxes_of_root_have_different_users(skiff):
    skiff.up("one")
    skiff.up("two")
    assert (skiff.record("one")["user"] != skiff.record("two")["user"]) == (skiff.uid == 0)


def test_run_gives_output_and_status(skiff):
    out, _ = skiff("run", "-q", "--", "sh", "-c", "echo out; exit 7", status=7)
    assert out == "out\n" and skiff.names() == []


def test_the_tools_of_the_machine_work(skiff):
    skiff.up("box", "-e", "WHO=me")
    assert skiff.sh("echo $WHO") == "me\n"
    assert skiff.sh("cd /tmp && git init -q repo && cd repo && git config user.email a@b && git config user.name a && "
                    "echo x > f && git add f && git commit -qm x && git log --oneline | wc -l").strip() == "1"
    assert skiff.sh("python3 -c 'import os, ssl; print(os.getpid() > 1)'") == "True\n"
    assert skiff.sh("perl -e 'print 1 + 1'") == "2"
    assert skiff("exec", "-t", "box", "--", "sh", "-c", "tty; test -w $(tty) && echo ok")[0].split() == ["/dev/pts/0", "ok"]
    assert int(skiff.sh("nproc")) == os.cpu_count()


def test_files_are_copied_in_and_out(skiff):
    skiff.up()
    (skiff.work / "in").mkdir()
    (skiff.work / "in/file").write_text("in")
    skiff.own(skiff.work / "in")
    skiff("cp", "-q", "in", "box:")
    assert skiff.sh("cat in/file; echo out > in/out") == "in"
    skiff("cp", "-q", "box:in/out", "out")
    assert (skiff.work / "out").read_text() == "out\n"
    skiff("cp", "-q", "box:/etc/hostname", "name")
    assert (skiff.work / "name").read_text() == "box\n"


def test_a_link_in_the_box_leads_nowhere_on_the_host(skiff, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    secret.chmod(0o644)
    skiff.up()
    skiff.sh(f"ln -s {secret} link")
    _, err = skiff("cp", "-q", "-L", "box:link", "taken", status=125)
    assert err and not (skiff.work / "taken").exists()


def test_stop_keeps_the_files_and_start_goes_on(skiff):
    first = skiff.up("box", "-e", "WHO=me")
    skiff.sh("for d in . ~ /tmp /var/tmp; do echo kept > $d/file; done")
    skiff("stop", "box")
    assert not skiff.processes()
    assert skiff.json("ps")["items"][0]["state"] == "stopped"
    assert "is stopped" in skiff("exec", "box", "--", "true", status=125)[1]
    again = skiff.json("start", "box", "-q")
    assert again["id"] == first["id"]
    assert skiff.sh("cat file ~/file /tmp/file /var/tmp/file; echo $WHO") == 4 * "kept\n" + "me\n"
    assert skiff.json("start", "box", "-q")["details"]["pid"] == again["details"]["pid"]


def test_everything_in_it_ends_with_it(skiff):
    skiff.up()
    skiff("exec", "box", "--mode", "background", "--", "sh", "-c", "setsid setsid sleep 1000 & trap '' TERM; while :; do sleep 1; done")
    skiff("stop", "-t", "1", "box")
    assert not skiff.processes()


def test_a_killed_agent_takes_all_with_it_and_is_told(skiff):
    pid = int(skiff.up()["details"]["pid"])
    skiff("exec", "box", "--mode", "background", "--", "setsid", "sleep", "1000")
    os.kill(pid, 9) if os.geteuid() in (0, skiff.uid) else None
    until(lambda: skiff.json("ps")["items"][0]["state"] == "failed")
    until(lambda: not skiff.processes())
    assert skiff.json("start", "box", "-q")["state"] == "running"


def test_a_lease_ends_it(skiff):
    skiff.up("box", "--ttl", "1s")
    until(lambda: skiff.json("ps")["items"][0]["state"] == "ended")
    assert not skiff.processes()
    skiff("gc", "-q")
    assert skiff.names() == []


def test_its_log_can_be_read(skiff):
    skiff.up()
    assert skiff("logs", "--agent", "box")[1] == ""


def test_a_port_in_it_is_forwarded_and_not_open_outside(skiff):
    skiff.up()
    skiff.sh("echo hello > index.html")
    skiff("exec", "box", "--mode", "background", "--", "python3", "-m", "http.server", "8000", "--bind", "127.0.0.1")
    until(lambda: "200" in skiff.sh("python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8000').status)\" 2>&1 || true"))
    forwarding = skiff.start("forward", "box", ":8000")
    try:
        line = forwarding.stdout.readline().decode()
        found = next(word for word in line.replace(",", " ").split() if word.startswith("127.0.0.1:"))
        assert urllib.request.urlopen(f"http://{found}/index.html", timeout=30).read() == b"hello\n", line
    finally:
        forwarding.terminate()
        forwarding.communicate()


@pytest.mark.parametrize("dialect", ["e2b", "sandboxd"])
def test_a_dialect_listens_on_a_socket_of_its_own(skiff, dialect):
    made = skiff.up("box", "--dialect", dialect)
    addresses = [value for name, value in made["details"].items() if name.startswith(dialect)]
    assert addresses and all(one.startswith("unix:") and one.endswith(".sock") for one in addresses)
    if dialect == "e2b":
        answer = subprocess.run([*boxes.as_user(skiff.uid), "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket",
                                 addresses[0].removeprefix("unix:"), "http://localhost/health"], capture_output=True, text=True, timeout=30)
        assert answer.stdout in ("200", "204"), answer


def test_what_a_box_has_not_is_refused(skiff):
    for words, what in ((("--image", "x"), "takes no image"), (("--run-as", "5"), "--run-as is for sandboxes in a cluster"),
                        (("--network", "cidr=10.0.0.0/8"), "open and deny in this version"),
                        (("--mount", "nowhere"), "--mount"), (("--mount", "/etc/passwd"), "is not a directory"),
                        (("--mount", skiff.state), "contains skiff's own files"), (("--mount", "/"), "contains skiff's own files")):
        err = skiff("up", "box", *words, status=125)[1]
        assert what in err, (words, err)
        assert skiff.names() == []
    skiff.up("box", "--network", "deny")


def test_only_a_box_takes_a_directory_of_this_machine(skiff):
    err = skiff("up", "other", "--driver", "local", "--mount", ".", status=125)[1]
    assert "--mount" in err and "driver box" in err


# --- a directory of this machine ---

@pytest.fixture
def project(skiff):
    folder = skiff.work / "project,with:signs"
    (folder / "sub").mkdir(parents=True)
    (folder / "a").write_text("a\n")
    (folder / "sub/b").write_text("b\n")
    (folder / "private").write_text("p\n")
    (folder / "private").chmod(0o600)
    for path in (folder, *folder.rglob("*")):
        skiff.own(path)
    return folder


def contents(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_mounted_directory_is_written_over_and_stays_as_it_is(skiff, project):
    before = contents(project)
    skiff.up("box", "--mount", project)
    assert skiff.sh("ls; cat a sub/b private").split() == ["a", "private", "sub", "a", "b", "p"]
    skiff.sh("set -e; echo more >> a; rm sub/b; mv sub sub2; echo new > new; rm private")
    assert contents(project) == before
    skiff("stop", "box")
    skiff("start", "box", "-q")
    assert skiff.sh("cat a new; ls") == "a\nmore\nnew\na\nnew\nsub2\n"
    assert contents(project) == before


def test_a_read_only_mount_is_only_read(skiff, project):
    skiff.up("box", "--mount", f"{project}:ro")
    assert skiff.sh("cat a; echo x > a || echo refused; touch n || echo refused") == "a\nrefused\nrefused\n"
    assert contents(project)["a"] == "a\n"


def test_what_takes_the_place_of_a_mounted_directory_is_not_mounted(skiff, project, tmp_path):
    skiff.up("box", "--mount", project)
    skiff("stop", "box")
    secret = tmp_path / "elsewhere"
    secret.mkdir()
    skiff.own(secret)
    away = project.with_name("away")
    project.rename(away)
    for put, remove in ((lambda: project.symlink_to(secret), project.unlink), (project.mkdir, project.rmdir)):
        put()
        os.chown(project, skiff.uid, -1, follow_symlinks=False)
        err = skiff("start", "box", "-q", status=125)[1]
        assert "another directory has taken the place" in err, err
        remove()
    away.rename(project)
    assert skiff.json("start", "box", "-q")["state"] == "running"


def test_files_of_another_group_are_only_read(skiff, project):
    if os.geteuid() != 0:
        pytest.skip("not run: only root can give a file to another group")
    os.chown(project / "a", skiff.uid, boxes.ORDINARY + 7)
    skiff.up("box", "--mount", project)
    assert skiff.sh("cat a; echo x 2>/dev/null >> a || echo refused").splitlines()[0] == "a"
    assert contents(project)["a"] == "a\n"


# --- what others on this machine can reach ---

def test_no_other_user_reaches_its_socket(skiff):
    if os.geteuid() != 0:
        pytest.skip("not run: only root can act as another user")
    skiff.up()
    done = subprocess.run([*boxes.as_user(boxes.ORDINARY + 1), "curl", "-sS", "-m", "10", "--unix-socket",
                           skiff.record()["socket"], "http://localhost/healthz"], capture_output=True, text=True, timeout=30)
    assert done.returncode != 0 and "denied" in done.stderr.lower() + "denied" * (done.returncode == 7), done


def test_fifty_at_once_come_up(skiff):
    started = time.monotonic()
    running = [skiff.start("up", f"box{number}", "-q", "-o", "json") for number in range(50)]
    failed = []
    for process in running:
        out, err = process.communicate(timeout=170)
        if process.returncode:
            failed.append(err)
        else:
            skiff.users.add(skiff.record(json.loads(out)["name"])["user"])
    assert not failed, failed[:3]
    assert len(skiff.json("ps")["items"]) == 50
    print(f"50 boxes in {time.monotonic() - started:.1f} s")
    skiff("rm", "--all", "-q", "-f")
    assert skiff.names() == [] and not skiff.processes()
