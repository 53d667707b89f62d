"""Tools for LangChain and LangGraph: what a model calls runs in a sandbox of skiff.

    with Sandbox.create() as box:
        agent = create_agent(model, tools=skiff_tools(box))

Needs langchain-core 1. A refusal is an answer that the model can read; a broken connection is an exception. Asynchronous agents
call the tools in threads. Any number of tools may run at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from .. import Result, Session, SkiffError

P = ParamSpec("P")
MOST_OUTPUT_BYTES = 30_000  # of each stream, for a model
MOST_FILE_BYTES = 100_000
MOST_MATCHES = 200


def skiff_tools(session: Session, *, timeout: float = 600.0) -> list[BaseTool]:
    """Tools that run commands, and read, write, edit and search files, in a session of an open sandbox. `timeout`: seconds that a
    command may take unless the model says otherwise."""
    files = session.files

    def run_command(command: str, timeout_seconds: float | None = None) -> str:
        """Run a shell command in the sandbox and return its output and exit code. State such as `cd` is not kept."""
        return _told(session.run(command, timeout=timeout_seconds or timeout, max_output=2 * MOST_OUTPUT_BYTES))

    def read_file(path: str, first_line: int = 1, last_line: int | None = None) -> str:
        """Read a text file of the sandbox, or some of its lines, which are counted from 1."""
        data, truncated = files.read_lines(path, first_line, last_line, max_bytes=MOST_FILE_BYTES)
        return data.decode(errors="replace") + ("\n[cut: read the rest by line numbers]" if truncated else "")

    def write_file(path: str, content: str) -> str:
        """Write a whole file of the sandbox. Missing directories are made; an existing file is replaced."""
        return f"wrote {files.write(path, content).size} bytes to {path}"

    def edit_file(path: str, old: str, new: str, count: int = 1) -> str:
        """Replace a text in a file of the sandbox, which must occur `count` times. Returns the change as a diff."""
        return files.edit(path, old, new, count=count).diff or "no difference"

    def list_files(path: str = ".") -> str:
        """List a directory of the sandbox. Directories end with a slash."""
        entries = sorted(files.list(path), key=lambda one: one.name)
        return "\n".join(one.name + ("/" if one.type == "directory" else f"  {one.size}") for one in entries) or "empty"

    def find_files(pattern: str) -> str:
        """Find files of the sandbox by a glob such as **/*.py."""
        found = files.glob(pattern, limit=MOST_MATCHES)
        return "\n".join(one.path for one in found) + ("\n[there are more]" if found.truncated else "") or "no match"

    def search_files(pattern: str, path: str = ".", glob: str | None = None) -> str:
        """Search the files below a directory of the sandbox for a regular expression. Returns path:line: text."""
        found = files.grep(pattern, path=path, glob=glob, limit=MOST_MATCHES)
        lines = [f"{one.path}:{one.line_number}: {one.text}" for one in found]
        return "\n".join(lines) + ("\n[there are more]" if found.truncated else "") or "no match"

    wanted: list[Callable[..., str]] = [run_command, read_file, write_file, edit_file, list_files, find_files, search_files]
    return [StructuredTool.from_function(_answering(each), handle_tool_error=True) for each in wanted]


def _answering(work: Callable[P, str]) -> Callable[P, str]:
    """The same function, whose refusals are for the model."""
    @wraps(work)
    def answered(*arguments: P.args, **named: P.kwargs) -> str:
        try:
            return work(*arguments, **named)
        except SkiffError as error:
            if error.status in (0, 401) or error.status >= 500:
                raise
            raise ToolException(f"Error: {error}") from error
    return answered


def _told(result: Result) -> str:
    """The result of a command as a text."""
    exit = result.exit
    ending = exit.error or (f"ended by {exit.signal}" if exit.signal else f"exit code {exit.exit_code}")
    if exit.cause == "timeout":
        ending = "ended at its time limit"
    parts = [result.stdout, f"[stderr]\n{result.stderr}" if result.stderr else "", "[the middle of the output was cut]" if result.truncated
             else "", f"[{ending}]"]
    return "\n".join(part.rstrip("\n") for part in parts if part)
