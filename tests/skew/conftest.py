"""Tests of version skew have the fixtures of the integration tests."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

from fixtures import *  # noqa: E402,F403
