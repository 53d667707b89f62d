"""Runs the Python of one context (docs/code.md). skiffd starts it with the sandbox's own python3. It reads requests from
descriptor 4 and writes frames to descriptor 5, both a JSON object a line; descriptors 1 and 2 belong to the user's code.
Only the standard library, and any Python from 3.7 on."""

import ast
import base64
import builtins
import json
import linecache
import os
import signal
import sys
import threading
import traceback
import types

REQUESTS, FRAMES = 4, 5
MOST = 6 << 20  # bytes of one frame; skiffd takes 8 MiB
MOST_VALUES = 400_000  # skiffd takes 500,000
OWNER = os.getpid()
NAMES = {"text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg", "image/png": "png",
         "image/jpeg": "jpeg", "application/pdf": "pdf", "text/latex": "latex", "application/json": "json",
         "application/javascript": "javascript"}
METHODS = {"_repr_%s_" % name: name for name in NAMES.values() if name != "text"}
OBJECTS = ("json", "data", "chart", "extra")

lock = threading.Lock()
request_id = 0
main = types.ModuleType("__main__")
main.__builtins__ = builtins
loop = None
is_interrupted = False


def is_of_code(frame):
    """True while the user's code runs, but for the writing of a frame, which an interrupt would cut."""
    while frame:
        if frame.f_code is write.__code__:
            return False
        if frame.f_code in (run.__code__, show_figures.__code__):
            return True
        frame = frame.f_back
    return False


def interrupt(number, frame):
    """SIGINT is for code that runs."""
    global is_interrupted
    if is_of_code(frame):
        raise KeyboardInterrupt
    is_interrupted = True


def write(line):
    with lock:
        while line:
            line = line[os.write(FRAMES, line):]


def send(**frame):
    """Writes one frame. A process that the user's code has forked writes none."""
    if os.getpid() != OWNER:
        return
    line = json.dumps({"id": request_id, **frame}, default=repr, skipkeys=True).encode("utf-8", "replace") + b"\n"
    if "result" in frame and (len(line) > MOST or sum(map(line.count, (b",", b"[", b"{"))) > MOST_VALUES):
        return send(result={"text": "a result of %d bytes is too large to be shown" % len(line),
                            "is_main_result": frame["result"]["is_main_result"]})
    global is_interrupted
    if threading.current_thread() is not threading.main_thread():
        return write(line)
    is_interrupted = False
    write(line)
    if is_interrupted and is_of_code(sys._getframe()):
        raise KeyboardInterrupt


def as_text(value):
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def is_figure(value):
    return type(value).__module__.startswith("matplotlib.figure") and hasattr(value, "savefig")


def png_of(figure):
    import io
    file = io.BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    return as_text(file.getvalue())


def forms_of(value):
    """What the value offers to be shown as: {name of a form: content}."""
    forms, bundle = {}, {}
    if not isinstance(value, type):
        if hasattr(value, "_repr_mimebundle_"):
            bundle = value._repr_mimebundle_() or {}
            bundle = bundle[0] if isinstance(bundle, tuple) else bundle
        for method, name in METHODS.items():
            # An object that makes up every attribute has none of these.
            if callable(getattr(type(value), method, None)):
                shown = getattr(value, method)()
                forms[name] = as_text(shown[0] if isinstance(shown, tuple) else shown)
    for kind, content in dict(bundle).items():
        if kind in NAMES:
            forms[NAMES[kind]] = as_text(content)
        else:
            forms.setdefault("extra", {})[kind] = as_text(content)
    if is_figure(value):
        forms["png"], forms["chart"] = png_of(value), chart_of(value)
    pandas = sys.modules.get("pandas")
    if pandas and isinstance(value, getattr(pandas, "DataFrame", ())):
        forms["data"] = json.loads(value.head(1000).to_json(orient="split", date_format="iso"))
        forms["data"] = dict(zip(map(str, forms["data"]["columns"]), map(list, zip(*forms["data"]["data"]))))
    forms.setdefault("text", repr(value))
    return {name: shown if name in OBJECTS else str(shown) for name, shown in forms.items()
            if shown is not None and (name not in OBJECTS or isinstance(shown, dict))}


def chart_of(figure):
    """The numbers of a figure with one plot, in the form of E2B's charts; None for kinds that it does not tell apart."""
    if len(figure.axes) != 1:
        return None
    axes, points, kind = figure.axes[0], [], None
    number = lambda value: value.item() if hasattr(value, "item") else value
    pairs = lambda xs, ys: [[number(x), number(y)] for x, y in zip(xs, ys)]
    if axes.lines:
        kind = "line"
        points = [{"label": line.get_label(), "points": pairs(line.get_xdata(), line.get_ydata())} for line in axes.lines]
    elif axes.collections and hasattr(axes.collections[0], "get_offsets"):
        kind = "scatter"
        points = [{"label": one.get_label(), "points": pairs(*one.get_offsets().T)} for one in axes.collections]
    elif axes.containers:
        kind = "bar"
        ticks = {number(at): label.get_text() for at, label in zip(axes.get_xticks(), axes.get_xticklabels())}
        points = [{"label": ticks.get(bar.get_x() + bar.get_width() / 2) or str(number(bar.get_x() + bar.get_width() / 2)),
                   "value": number(bar.get_height()), "group": str(bars.get_label())} for bars in axes.containers for bar in bars]
    elif axes.patches and all(hasattr(patch, "theta1") for patch in axes.patches):
        return {"type": "pie", "title": axes.get_title() or None, "elements": [
            {"label": patch.get_label(), "angle": patch.theta2 - patch.theta1, "radius": patch.r} for patch in axes.patches]}
    if kind is None:
        return None
    chart = {"type": kind, "title": axes.get_title() or None, "elements": points}
    for one, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        chart[one + "_label"], chart[one + "_unit"] = axis.get_label().get_text() or None, None
        if kind != "bar":
            chart[one + "_ticks"] = [number(tick) for tick in axis.get_ticklocs()]
            chart[one + "_tick_labels"] = [label.get_text() for label in axis.get_ticklabels()]
            chart[one + "_scale"] = axis.get_scale()
    return chart


def display(*values, **_):
    """Shows values at once. The user's code has this function."""
    for value in values:
        flush()
        send(result={**forms_of(value), "is_main_result": False})


def show_figures(*_, **__):
    """Shows the figures of pyplot that are open, and closes them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums() if pyplot else ():
        figure = pyplot.figure(number)
        pyplot.close(figure)
        display(figure)


class Figures:
    """Finds and loads a backend of matplotlib whose show() gives figures to the client, when matplotlib asks for it."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "skiff_figures":
            from importlib.machinery import ModuleSpec
            return ModuleSpec(name, Figures)

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        module.FigureCanvas, module.show = FigureCanvasAgg, show_figures


def no_input(*_):
    raise RuntimeError("input() has nobody to ask here: write the value in the code")


def shell(line):
    """What `!line` does."""
    import subprocess
    flush()
    subprocess.call(line, shell=True)


def python_line(line):
    """A line in the style of IPython as Python."""
    bare = line.lstrip()
    indent = line[:len(line) - len(bare)]
    if bare.startswith("!"):
        return "%s__skiff_shell(%r)" % (indent, bare[1:])
    if bare.startswith("%pip "):
        return "%s__skiff_shell(%r)" % (indent, "'%s' -m pip %s" % (sys.executable, bare[5:]))
    if bare.startswith("%cd "):
        return "%s__import__('os').chdir(%r)" % (indent, os.path.expanduser(bare[4:].strip()))
    return indent + "pass" if bare.startswith("%matplotlib") else line


def parsed(code, name):
    """The tree of the code. Lines in the style of IPython are looked for where it is not Python."""
    try:
        return compile(code, name, "exec", ast.PyCF_ONLY_AST | FLAGS)
    except SyntaxError:
        other = "\n".join(map(python_line, code.split("\n")))
        if other == code:
            raise
        return compile(other, name, "exec", ast.PyCF_ONLY_AST | FLAGS)


FLAGS, COROUTINE = getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0), 0x80


def evaluate(tree, name, mode):
    """Runs a part of the tree; code with `await` on one loop that all calls share."""
    global loop
    code = compile(tree, name, mode, FLAGS)
    if not code.co_flags & COROUTINE:
        return eval(code, main.__dict__)
    import asyncio
    if loop is None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
    return loop.run_until_complete(eval(code, main.__dict__))


def run(code, count):
    """Runs the code of one request, and shows the value of a last expression."""
    name = "<cell %d>" % count
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    tree = parsed(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    evaluate(tree, name, "exec")
    if last is None:
        return
    value = evaluate(ast.Expression(last.value), name, "eval")
    # As in notebooks, a semicolon hides the value.
    if value is None or code.rstrip().endswith(";") or os.getpid() != OWNER:
        return
    main._ = value
    flush()
    send(result={**forms_of(value), "is_main_result": True})
    if is_figure(value) and "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(value)


def failure(error):
    """An error as the client gets it, without the frames of this file."""
    trace = error.__traceback__
    while trace and not trace.tb_frame.f_code.co_filename.startswith("<cell "):
        trace = trace.tb_next
    try:
        value = str(error)
    except Exception:
        value = "(its text could not be made)"
    lines = traceback.format_exception(type(error), error, trace)
    return {"name": type(error).__name__, "value": value[:1 << 16], "traceback": "".join(lines)[-1 << 18:]}


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # the user's code has closed or replaced it


def answer(request, count):
    before = dict(os.environ)
    os.environ.update(request.get("env") or {})
    try:
        run(request["code"], count)
        show_figures()
    except BaseException as error:
        if os.getpid() == OWNER:
            flush()
            send(error=failure(error))
    finally:
        if request.get("env"):
            os.environ.clear()
            os.environ.update(before)
    flush()
    if os.getpid() != OWNER:
        os._exit(0)  # a process that the code has forked ends where the code ends
    send(end=count)


def serve():
    global request_id
    for descriptor in (REQUESTS, FRAMES):
        os.set_inheritable(descriptor, False)
    # PYTHONUNBUFFERED would write each piece of a line by itself.
    sys.stdout, sys.stderr = (open(file, "w", 1, "utf-8", "backslashreplace", closefd=False) for file in (1, 2))
    sys.modules["__main__"] = main
    sys.meta_path.append(Figures)
    os.environ.setdefault("MPLBACKEND", "module://skiff_figures")
    builtins.display, builtins.input, builtins.__skiff_shell = display, no_input, shell
    sys.argv = [""]
    count = 0
    with os.fdopen(REQUESTS, "rb", closefd=False) as requests:
        while True:
            # The code of the call before may have set another handler.
            signal.signal(signal.SIGINT, interrupt)
            line = requests.readline()
            if not line:
                break
            request = json.loads(line)
            request_id, count = request["id"], count + 1
            answer(request, count)


serve()
