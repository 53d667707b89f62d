"""Clients that are generated from the running agent's own documents, compiled, and used against it."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from client_fixtures import *  # noqa: E402,F403
