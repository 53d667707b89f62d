"""The console's page in a browser. SKIFFD and SKIFF name the binaries."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from client_fixtures import *  # noqa: E402,F403
