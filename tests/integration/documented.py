"""Runs code as a document shows it: also with `await` outside of a function, as in a notebook."""

import ast
import asyncio
import contextlib
import inspect
import io
import sys
import textwrap
import types


@contextlib.contextmanager
def modules(**named):
    """Modules by name, `a__b` for `a.b`, as long as it lasts: what the document imports, by what stands for it."""
    made = {}
    for name, contents in named.items():
        parts = name.split("__")
        for depth in range(1, len(parts) + 1):
            made.setdefault(".".join(parts[:depth]), types.ModuleType(".".join(parts[:depth])))
        vars(made[".".join(parts)]).update(contents)
    before = {name: sys.modules.get(name) for name in made}
    sys.modules.update(made)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def run(code, **names):
    """(what it prints, its names). `names`: those that the document takes for granted."""
    names = {"__name__": "documented", **names}
    compiled = compile(textwrap.dedent(code), "<document>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        waits = eval(compiled, names)  # a code object of statements: None, or what is to be awaited
        if inspect.isawaitable(waits):
            asyncio.run(finished(waits))
    return printed.getvalue(), names


async def finished(awaitable):
    await awaitable
