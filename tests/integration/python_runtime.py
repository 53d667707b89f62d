"""Helpers that the tests of the dialect python-runtime share."""

import urllib.parse

import pytest

from dialect import Door

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def start_door(start_agent):
    def start(*arguments, **options):
        return Door(start_agent("--dialect", "python-runtime=127.0.0.1:0", *arguments, **options))

    return start


@pytest.fixture
def door(start_door):
    return start_door()


def run(door, command, headers=None, **fields):
    answer = door.request("POST", "/execute", json={"command": command, **fields}, headers=headers)
    assert answer.status == 200, answer
    assert answer.headers["Content-Type"] == "application/json"
    return answer.json()


def multipart(filename, content, name="file", boundary=b"b0undary", more=b""):
    head = f'--{boundary.decode()}\r\nContent-Disposition: form-data; name="{name}"; filename="'.encode()
    return head + filename + b'"\r\n' + more + b"\r\n" + content + b"\r\n--" + boundary + b"--\r\n"


MULTIPART = {"Content-Type": "multipart/form-data; boundary=b0undary"}


def upload(door, filename, content=b"x"):
    return door.request("POST", "/upload", body=multipart(filename, content), headers=MULTIPART)


def path_of(name):
    return urllib.parse.quote(name, safe="")
