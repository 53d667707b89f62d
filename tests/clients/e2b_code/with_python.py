"""Users of e2b-code-interpreter do this, by the package as PyPI has it."""

import asyncio
import importlib.metadata
import os
import sys

from e2b.exceptions import NotFoundException, SandboxException, TimeoutException
from e2b_code_interpreter import AsyncSandbox, Sandbox

# The sandbox's own python3 is the one of this environment, which has matplotlib and pandas.
ENVS = {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}", "MPLCONFIGDIR": os.environ["HOME"]}
sandbox = Sandbox.create(timeout=300, envs=ENVS)

# The quick start.
sandbox.run_code("x = 1")
execution = sandbox.run_code("x+=1; x")
assert execution.text == "2", execution
assert execution.error is None and execution.execution_count == 2

# Output as it comes, results, errors.
outs, errs, results, errors = [], [], [], []
execution = sandbox.run_code("import sys\nprint('out')\nprint('err', file=sys.stderr)\ndisplay(3)\n'text'",
                             on_stdout=outs.append, on_stderr=errs.append, on_result=results.append, on_error=errors.append)
assert "".join(one.line for one in outs) == "out\n" and "".join(one.line for one in errs) == "err\n"
assert [one.text for one in results] == ["3", "text"] and not errors
assert execution.text == "text" and execution.logs.stdout == ["out\n"]
failed = sandbox.run_code("def f():\n    return missing\nf()", on_error=errors.append)
assert failed.error.name == "NameError" and "missing" in failed.error.value and "line 2, in f" in failed.error.traceback
assert errors == [failed.error]
assert sandbox.run_code("import os; os.environ['WHO']", envs={"WHO": "me"}).text == "me"
assert sandbox.run_code("!echo from a shell").logs.stdout == ["from a shell\n"]

# Tables and charts.
table = sandbox.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})").results[0]
assert "<table" in table.html and "a  b" in table.text and table.data == {"a": [1, 2], "b": ["x", "y"]}
plotted = sandbox.run_code("""
import matplotlib.pyplot as plt
plt.plot([1, 2, 3], [1, 4, 9], label='squares')
plt.title('Squares'); plt.xlabel('n'); plt.ylabel('n * n')
plt.show()
""")
(chart,) = plotted.results
assert plotted.logs.stderr == [] and chart.png.startswith("iVBOR") and not chart.is_main_result
assert (chart.chart.type.value, chart.chart.title, chart.chart.x_label) == ("line", "Squares", "n")
assert [tuple(point) for point in chart.chart.elements[0].points] == [(1, 1), (2, 4), (3, 9)]
bars = sandbox.run_code("plt.bar(['a', 'b'], [3, 5]); _ = plt.title('Bars')").results[-1]
assert [(one.label, one.value) for one in bars.chart.elements] == [("a", 3), ("b", 5)]

# Contexts.
context = sandbox.create_code_context(cwd="/tmp")
assert (context.language, context.cwd) == ("python", "/tmp")
sandbox.run_code("x = 'of the context'", context=context)
assert sandbox.run_code("x", context=context).text == "of the context" and sandbox.run_code("x").text == "2"
assert sandbox.run_code("import os; os.getcwd()", context=context).text == "/tmp"
assert context.id in [one.id for one in sandbox.list_code_contexts()]
sandbox.restart_code_context(context)
assert sandbox.run_code("x", context=context).error.name == "NameError"
sandbox.remove_code_context(context)
try:
    sandbox.run_code("1", context=context)
    raise AssertionError("the context is gone")
except NotFoundException:
    pass

# Languages.
assert sandbox.run_code("echo $((20 + 22))", language="bash").logs.stdout == ["42\n"]
try:
    sandbox.run_code("1", language="r")
    raise AssertionError("there is no R")
except SandboxException as error:
    assert "python, javascript" in str(error), error

# A time limit of the client interrupts the code, and the variables stay.
try:
    sandbox.run_code("import time\ntime.sleep(600)", timeout=2)
    raise AssertionError("it took too long")
except TimeoutException:
    pass
assert sandbox.run_code("x").text == "2"

# A process that ends is told.
assert sandbox.run_code("os._exit(3)").error.name == "ContextEnded"
assert sandbox.run_code("1 + 1").text == "2"


async def many():
    box = await AsyncSandbox.connect(sandbox.sandbox_id)
    contexts = await asyncio.gather(*(box.create_code_context() for _ in range(5)))
    ran = await asyncio.gather(*(box.run_code(f"{n} * 2", context=one) for n, one in enumerate(contexts)))
    assert [one.text for one in ran] == ["0", "2", "4", "6", "8"]

asyncio.run(many())
sandbox.kill()
print("done with", importlib.metadata.version("e2b-code-interpreter"))
