"""Waits on conditions, each with a deadline: nothing in this suite sleeps and hopes."""

import datetime
import time


def until(condition, seconds=15.0, what=None, every=0.005):
    """Asks `condition()` until it answers something true, and returns that; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what or getattr(condition, '__name__', 'condition')}")
        time.sleep(every)


def with_time(run, enough, least=0.2):
    """The answer of `run(seconds)`, which has that limit of time. `enough` sees in the answer whether the limit sufficed;
    if not, it runs again with more time, as a busy machine needs it. The test looks at the last answer."""
    for factor in (1, 5, 25):
        answer = run(least * factor)
        if enough(answer):
            break
    return answer


def until_still(value, same=8, seconds=30.0, every=0.03):
    """Asks `value()` until it gave the same answer `same` times in a row, and returns that answer."""
    deadline = time.monotonic() + seconds
    last, count = value(), 1
    while count < same:
        if time.monotonic() > deadline:
            raise AssertionError(f"still changing after {seconds} s: {last!r}")
        time.sleep(every)
        now = value()
        count = count + 1 if now == last else 1
        last = now
    return last


def is_same_moment(one, other):
    """Whether two texts of a time mean the same moment. The agent reads two clocks to tell one: they differ by microseconds, and
    so may the last digit."""
    moments = [datetime.datetime.fromisoformat(text) for text in (one, other)]
    return abs(moments[0] - moments[1]) <= datetime.timedelta(milliseconds=1)
