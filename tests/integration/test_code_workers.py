"""The workers by themselves, without skiffd: runtime/api/code/worker.py and its neighbours."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "runtime/api/code"


class Worker:
    """A worker on its descriptors 3 to 5, as skiffd starts it."""

    def __init__(self, *command, source):
        requests, self.requests = os.pipe()
        frames, writes = os.pipe()
        with open(SOURCES / source, "rb") as text:
            files = [os.dup2(os.dup(one), to, inheritable=False) for one, to in ((text.fileno(), 203), (requests, 204), (writes, 205))]
            self.process = subprocess.Popen(
                [sys.executable, "-c", "import os, sys\nfor n in 3, 4, 5: os.dup2(n + 200, n)\nos.execvp(sys.argv[1], sys.argv[1:])", *command],
                pass_fds=files, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": ""})
            for one in (*files, requests, writes):
                os.close(one)
        self.frames, self.id = os.fdopen(frames), 0

    def run(self, code, **more):
        """The frames of one request, without their ids."""
        self.id += 1
        os.write(self.requests, (json.dumps({"id": self.id, "code": code, "env": {}, **more}) + "\n").encode())
        told = []
        while not told or "end" not in told[-1]:
            line = self.frames.readline()
            assert line, self.process.communicate()
            told.append(json.loads(line))
            assert told[-1].pop("id") == self.id
        return told[:-1]

    def end(self):
        """Ends it; all that it has printed."""
        os.close(self.requests)
        out, err = self.process.communicate(timeout=30)
        self.frames.close()
        assert self.process.returncode == 0, err
        return out.decode(), err.decode()


def python(command):
    return Worker(command, "-c", "exec(compile(open(3).read(), 'skiff', 'exec'))", source="worker.py")


@pytest.fixture
def worker():
    return python(sys.executable)


def text(frames):
    return [frame["result"]["text"] for frame in frames]


def test_code_is_run_step_by_step(worker):
    assert worker.run("x = 1") == []
    assert text(worker.run("x + 1")) == ["2"]
    assert text(worker.run("x;")) == [] and text(worker.run("None")) == []
    assert worker.run("print('é\\ud800')") == []
    assert text(worker.run("_")) == ["2"]
    assert worker.end() == ("é\\ud800\n", "")


def test_results_that_fail_are_errors(worker):
    (frame,) = worker.run("class A:\n def __repr__(self): raise ValueError('no repr')\nA()")
    assert frame["error"]["name"] == "ValueError"
    (frame,) = worker.run("class E(Exception):\n def __str__(self): raise ValueError\nraise E")
    assert frame["error"]["name"] == "E" and frame["error"]["value"]
    (frame,) = worker.run("class Any:\n def __getattr__(self, name): return lambda *a, **k: 1\n def __repr__(self): return 'any'\nAny()")
    assert frame["error"]["name"] == "TypeError" or frame["result"]["text"] == "any"
    worker.end()


def test_a_large_result_says_that_it_is(worker):
    (frame,) = worker.run("'x' * (7 << 20)")
    assert frame["result"]["is_main_result"] and "too large" in frame["result"]["text"]
    worker.end()


def test_threads_and_forks_answer_nothing_that_is_not_asked(worker):
    assert text(worker.run("import threading\nt = threading.Thread(target=lambda: display(1))\nt.start(); t.join()\n2")) == ["1", "2"]
    assert text(worker.run("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\n3")) == ["3"]
    worker.end()


def test_what_is_in_the_style_of_notebooks_is_understood(worker):
    assert worker.run("!echo from a shell\nif True:\n    !echo indented\n%matplotlib inline") == []
    assert text(worker.run("%cd /\nimport os; os.getcwd()")) == ["'/'"]
    assert text(worker.run("'''\n!not a command\n'''")) == ["'\\n!not a command\\n'"]
    assert worker.run("%magic")[0]["error"]["name"] == "SyntaxError"
    assert worker.end()[0] == "from a shell\nindented\n"


def test_an_interrupt_ends_the_code_alone(worker):
    worker.run("x = 1")
    out = worker.process.stdout
    threading.Thread(target=lambda: (out.readline(), worker.process.send_signal(signal.SIGINT))).start()
    (frame,) = worker.run("print('begun')\nimport time\ntime.sleep(1000)")
    assert frame["error"]["name"] == "KeyboardInterrupt"
    worker.process.send_signal(signal.SIGINT)  # while nothing runs
    assert text(worker.run("x")) == ["1"]
    worker.end()


def test_interrupts_at_any_moment_leave_each_frame_whole_and_each_end_once(worker):
    worker.run("1")  # it has begun
    over = threading.Event()

    def interrupt():
        while not over.wait(0.0002):
            worker.process.send_signal(signal.SIGINT)

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    try:
        told = [worker.run("for n in range(5): display(n)") for _ in range(2000)]
    finally:
        over.set()
        interrupting.join()
    names = {frame["error"]["name"] for frames in told for frame in frames if "error" in frame}
    assert names == {"KeyboardInterrupt"} and [] not in told
    assert text(worker.run("6 * 7")) == ["42"]
    worker.end()
