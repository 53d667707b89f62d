"""Sandboxes for AI agents: commands, files, terminals and ports of skiff.

    from skiff_sandbox import Sandbox

    with Sandbox.create() as box:
        print(box.run("uname -a", check=True).stdout)

`AsyncSandbox` has the same words with `await`. docs/sdk-python.md shows complete programs."""

from ._async.code import AsyncCodeContext
from ._async.command import AsyncCommand, AsyncTerminal
from ._async.files import AsyncFiles
from ._async.listing import AsyncSandboxWatch
from ._async.sandbox import AsyncSandbox
from ._async.session import AsyncSession
from ._async.watch import AsyncWatch
from ._code import CodeError, CodeResult, CodeRun
from ._errors import SkiffError
from ._events import Event, Exit, Gap, Output, Result
from ._found import Change, Found, GlobMatch, GrepMatch
from ._listed import ListedSandbox, SandboxEvent
from ._settings import Duration
from ._sync.code import CodeContext
from ._sync.command import Command, Terminal
from ._sync.files import Files
from ._sync.listing import SandboxWatch
from ._sync.sandbox import Sandbox
from ._sync.session import Session
from ._sync.watch import Watch
from ._types import AgentVersion, EditedFile, FileEntry, Port
from ._types import Command as CommandDetails
from ._types import Session as SessionDetails

__all__ = [
    "AgentVersion", "AsyncCodeContext", "AsyncCommand", "AsyncFiles", "AsyncSandbox", "AsyncSandboxWatch", "AsyncSession",
    "AsyncTerminal", "AsyncWatch", "Change", "CodeContext", "CodeError", "CodeResult", "CodeRun", "Command", "CommandDetails",
    "Duration", "EditedFile", "Event", "Exit", "FileEntry", "Files", "Found", "Gap", "GlobMatch", "GrepMatch", "ListedSandbox",
    "Output", "Port", "Result", "Sandbox", "SandboxEvent", "SandboxWatch", "Session", "SessionDetails", "SkiffError", "Terminal",
    "Watch",
]
