"""The official clients and the conformance suite against the real binaries. SKIFFD and SKIFF name these."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from client_fixtures import *  # noqa: E402,F403
