"""An executor for smolagents: the code that an agent writes runs in a sandbox of skiff.

    agent = CodeAgent(tools=[], model=model, executor=SkiffExecutor(["numpy"], logger))

Needs smolagents 1, and `python3` in the sandbox; `pip` there only for additional imports. Variables, functions and imports stay
from one piece of code to the next. Code that takes too long is ended with all of its processes; the next piece begins anew."""

from __future__ import annotations

import json
import secrets
from typing import Any, cast

from smolagents import AgentLogger, LogLevel  # type: ignore[import-untyped]
from smolagents.local_python_executor import CodeOutput  # type: ignore[import-untyped]
from smolagents.remote_executors import RemotePythonExecutor  # type: ignore[import-untyped]
from smolagents.utils import AgentError  # type: ignore[import-untyped]

from .. import Command, Exit, Output, Sandbox, SkiffError

# It answers each line of JSON with one that begins with the line's mark. Other output is from processes that the code has started.
WORKER = r"""
import ast, contextlib, io, json, sys, traceback

names = {"__name__": "__main__"}
for line in sys.stdin:
    asked, logs, answer = json.loads(line), io.StringIO(), {}
    with contextlib.redirect_stdout(logs), contextlib.redirect_stderr(logs):
        try:
            tree = ast.parse(asked["code"])
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<code>", "exec"), names)
            value = eval(compile(ast.Expression(last.value), "<code>", "eval"), names) if last else None
            answer["value"] = None if value is None else value if isinstance(value, (bool, int, float, str)) else repr(value)
        except BaseException as error:
            answer["error"] = [type(error).__name__, str(getattr(error, "value", error)), traceback.format_exc()]
    print("\n" + asked["mark"] + json.dumps({**answer, "logs": logs.getvalue()}), flush=True)
"""


class SkiffExecutor(RemotePythonExecutor):  # type: ignore[misc]
    """Runs code in a Python process of a sandbox, which it makes and removes, or in an open sandbox that is given."""

    def __init__(self, additional_imports: list[str], logger: AgentLogger, allow_pickle: bool = False, *,
                 sandbox: Sandbox | None = None, timeout: float = 600.0, **options: Any) -> None:
        """`additional_imports`: packages for pip to install. `allow_pickle`: see smolagents. `timeout`: seconds that a piece of code
        may take. `options`: for `Sandbox.create`, such as `template`."""
        super().__init__(additional_imports, logger, allow_pickle)
        self._is_mine, self._timeout = sandbox is None, timeout
        self.sandbox = sandbox or Sandbox.create(**options)
        self._worker: Command | None = None
        self._at = 0
        try:
            self.installed_packages = self.install_packages(additional_imports)
        except BaseException:
            self.cleanup()
            raise
        logger.log("A sandbox of skiff is running", level=LogLevel.INFO)

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        """Runs the code. Raises AgentError with its traceback if it fails, or takes too long."""
        answer, printed = self._asked(code)
        logs = printed + str(answer["logs"])
        if "error" in answer:
            name, value, traceback = answer["error"]
            if name == self.FINAL_ANSWER_EXCEPTION:
                return CodeOutput(output=self._deserialize_final_answer(value, self.allow_pickle), logs=logs, is_final_answer=True)
            raise AgentError(f"{logs}\nExecuting code yielded an error:\n{name}\n{value}\n{traceback}", self.logger)
        return CodeOutput(output=answer["value"], logs=logs, is_final_answer=False)

    def install_packages(self, additional_imports: list[str]) -> list[str]:
        """Installs packages into the sandbox. Raises AgentError with pip's message."""
        if additional_imports:
            done = self.sandbox.run(["python3", "-m", "pip", "install", "--quiet", *additional_imports])
            if not done.ok:
                raise AgentError(f"pip could not install {', '.join(additional_imports)}: {done.exit.error or done.stderr}", self.logger)
        return additional_imports

    def cleanup(self) -> None:
        """Ends the process, and removes the sandbox unless it was given."""
        if self._worker:
            self._worker.kill(grace=0)
            self._worker = None
        if self._is_mine:
            self.sandbox.remove()

    def _asked(self, code: str) -> tuple[dict[str, Any], str]:
        """The process's answer, and the output of what the code has started."""
        worker, mark, seen = self._running(), secrets.token_hex(16), b""
        try:
            worker.write(json.dumps({"code": code, "mark": mark}) + "\n", timeout=self._timeout)
            for event in worker.events(self._at, timeout=self._timeout):
                if isinstance(event, Exit):
                    self._worker = None
                    why = event.error or event.signal or f"exit code {event.exit_code}"
                    raise AgentError(f"{seen.decode(errors='replace')}\nThe Python process has ended ({why}); variables are lost", self.logger)
                self._at = event.next
                seen += event.data if isinstance(event, Output) else b""
                before, found, rest = seen.partition(b"\n" + mark.encode())
                if found and rest.endswith(b"\n"):
                    return cast(dict[str, Any], json.loads(rest)), before.decode(errors="replace")
        except SkiffError as error:
            if error.code != "timeout":
                raise
            worker.kill(grace=0)
            self._worker = None
            raise AgentError(f"The code did not end within {self._timeout:g} s; variables are lost", self.logger) from error
        raise AssertionError("events end with an Exit")

    def _running(self) -> Command:
        if self._worker is None:
            self._worker, self._at = self.sandbox.start(["python3", "-u", "-c", WORKER], stdin=True, wait_for_reader=True), 0
        return self._worker
