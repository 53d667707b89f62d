"""HTTP of the dialect python-runtime as FastAPI's clients know it: the fields that routers add, forms of bodies."""

import pytest

from python_runtime import JSON, MULTIPART, door, multipart, run, start_door, upload  # noqa: F401

FIELDS = {"X-Sandbox-ID": "sandbox-1", "X-Sandbox-Namespace": "default", "X-Sandbox-Port": "8888", "X-Sandbox-Timeout": "60",
          "X-Sandbox-Pod-IP": "10.0.0.7", "X-Forwarded-For": "203.0.113.9, 10.0.0.1", "X-Forwarded-Host": "sandboxes.example.com",
          "X-Forwarded-Proto": "https", "X-Request-ID": "0f0e1d", "Authorization": "Bearer of-a-router", "Via": "1.1 gateway",
          "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Accept-Encoding": "gzip, deflate, br, zstd"}
ODD_FIELDS = {
    "none of them right": {"X-Sandbox-ID": "../..", "X-Sandbox-Namespace": "", "X-Sandbox-Port": "99999999999",
                           "X-Sandbox-Pod-IP": "169.254.169.254", "X-Request-ID": "x" * 300, "traceparent": "00-0-0-0"},
    **{f"a timeout of {text}": {"X-Sandbox-Timeout": text} for text in ("", "soon", "0", "-1", "nan", "inf", "1e999", "60s", "6 0")},
}


@pytest.mark.parametrize("what", ["those of the SDK and its routers", *ODD_FIELDS])
def test_fields_of_routers_change_nothing(door, what):
    fields = ODD_FIELDS.get(what, FIELDS)
    assert run(door, "echo here; env | grep -i -e sandbox- -e of-a-router -e 203.0.113", headers=fields) == {
        "stdout": "here\n", "stderr": "", "exit_code": 1}
    uploaded = door.request("POST", "/upload", body=multipart(b"f", b"here"), headers={**MULTIPART, **fields})
    assert uploaded.json() == {"message": "File 'f' uploaded successfully."}
    answer = door.request("GET", "/download/f", headers=fields)
    assert answer.body == b"here" and "Content-Encoding" not in answer.headers
    assert [one["name"] for one in door.request("GET", "/list/", headers=fields).json()] == ["f"]
    assert door.request("GET", "/exists/f", headers=fields).json() == {"path": "f", "exists": True}
    assert door.request("GET", "/", headers=fields).status == 200


def test_a_query_is_not_a_part_of_the_path(door):
    (door.agent.root / "f").write_text("here")
    assert door.request("GET", "/download/f?x=1&path=%2Fetc%2Fpasswd").body == b"here"
    assert door.request("GET", "/exists/f?").json() == {"path": "f", "exists": True}
    assert door.request("GET", "/exists/f%3Fx").json() == {"path": "f?x", "exists": False}
    assert door.request("GET", "/?probe").status == 200


@pytest.mark.parametrize("kind, runs", [
    ("application/json", True), ("application/json; charset=utf-8", True), ("APPLICATION/JSON", True),
    ("application/vnd.api+json", True), ("", True), ("text/json", False), ("text/plain", False), ("application/jsonp", False),
    ("application/x-www-form-urlencoded", False), ("multipart/form-data; boundary=b", False), ("json", False),
])
def test_content_types_decide_whether_a_body_is_json(door, kind, runs):
    answer = door.request("POST", "/execute", body=b'{"command":"echo x"}', headers={"Content-Type": kind})
    if runs:
        assert answer.json() == {"stdout": "x\n", "stderr": "", "exit_code": 0}
    else:
        assert answer.status == 422 and "application/json" in answer.json()["detail"]


def test_forms_of_a_request_that_python_takes(door):
    for body in (b'\xef\xbb\xbf{"command":"echo x"}', b'{"command":"exit 1","command":"echo x"}',
                 b' \r\n\t{ "command" : "echo x" }\n', b'{"command":"ec\\u0068o x","more":[{"deep":null}],"timeout_seconds":null}',
                 b'{"command":"echo x","timeout_seconds":" 1e1 "}', b'{"command":"echo x","timeout_seconds":true}'):
        answer = door.request("POST", "/execute", body=body, headers=JSON)
        assert (answer.status, answer.json()["stdout"]) == (200, "x\n"), body
    chunked = door.request("POST", "/execute", body=iter([b'{"comm', b'and":"echo', b' x"}']), headers=JSON)
    assert chunked.json()["stdout"] == "x\n"
    assert run(door, "\n  printf '%s' -n \n")["stdout"] == "-n"


def test_bodies_that_break_parsers_are_the_clients_fault(door):
    for body, status in ((b"[" * 100_000, 422), (b'{"command":' * 10_000, 422), (b'{"command":"\\ud800"}', 422),
                         (b'{"command":"x","timeout_seconds":NaN}', 422), (b'{"command":"x","timeout_seconds":1e999}', 422),
                         (b'{"command":"x","n":' + b"9" * 10_000 + b"}", 422), (b"\0", 422), (b'{"command":"a\nb"}', 422),
                         ('{"command":"x"}'.encode("utf-16"), 422)):
        answer = door.request("POST", "/execute", body=body, headers=JSON)
        assert answer.status == status and answer.json()["detail"], body[:40]
    assert run(door, "echo on")["stdout"] == "on\n"


def test_output_of_any_kind_is_a_json_text(door):
    every = bytes(range(1, 128))
    (door.agent.root / "every").write_bytes(every)
    assert run(door, "cat every; cat every >&2") == {"stdout": every.decode(), "stderr": every.decode(), "exit_code": 0}
    text = "\u2028\u2029\ufeff\U0001f600e\u0301 </script>\\u0041"
    assert run(door, f"printf '%s' '{text}'")["stdout"] == text
    answer = door.request("POST", "/execute", json={"command": "printf x"})
    assert answer.body == b'{"stdout":"x","stderr":"","exit_code":0}'


def test_a_command_has_no_terminal_and_its_own_group(door):
    assert run(door, "test -t 0 || test -t 1 || test -t 2 || echo none; kill -0 0 && echo alone")["stdout"] == "none\nalone\n"
    # A signal to the group ends the command, and no other process.
    assert run(door, "kill -9 0")["exit_code"] == -9
    assert run(door, "trap 'exit 7' TERM; kill $$; sleep 9")["exit_code"] == 7
    assert run(door, "sh -c 'kill -9 $$'; echo $?")["stdout"] == "137\n"


def test_names_that_do_not_name_files_are_refused(door):
    (door.agent.root / "file").write_text("stays")
    for name in (b".", b"..", b"/", b"./", b"a/..", b"file/", b"file/x", b"x" * 256, b"d/" * 3000 + b"x"):
        answer = upload(door, name)
        assert 400 <= answer.status < 500 and answer.json()["message"], name[:20]
    assert [one.name for one in door.agent.root.iterdir()] == ["file"]
    for name in ("x" * 256, "d/" * 2500, "file/x"):
        assert door.request("GET", f"/exists/{name}").json() == {"path": name, "exists": False}
        assert door.request("GET", f"/download/{name}").status == door.request("GET", f"/list/{name}").status == 404


def test_forms_of_a_part(door):
    heads = [b'Content-Disposition: form-data; name="file"; filename="a"', b"content-disposition:form-data;filename=a;name=file",
             b'Content-Type: text/plain; charset=x\r\nContent-Disposition: form-data; filename="a"; name="file"; more="1"',
             b'Content-Disposition: form-data; name="file"; filename="a"\r\nContent-Transfer-Encoding: binary\r\nX-More: 1']
    for boundary, given in ((b"b", "b"), (b"b" * 70, '"' + "b" * 70 + '"'), (b"'()+_,-./:=?", "\"'()+_,-./:=?\"")):
        for head in heads:
            for before, after in ((b"", b""), (b"preamble\r\n", b"\r\nepilogue")):
                body = before + b"--" + boundary + b"\r\n" + head + b"\r\n\r\n\r\n-- x\r\n--" + boundary + b"--\r\n" + after
                kind = {"Content-Type": f"multipart/form-data; charset=utf-8; boundary={given}"}
                answer = door.request("POST", "/upload", body=body, headers=kind)
                assert (answer.status, answer.json()) == (200, {"message": "File 'a' uploaded successfully."}), (given, head)
                assert (door.agent.root / "a").read_bytes() == b"\r\n-- x"
    # Fields around it are passed by.
    fields = b'--b\r\nContent-Disposition: form-data; name="%b"\r\n\r\nx\r\n'
    file = b'--b\r\nContent-Disposition: form-data; name="file"; filename="c"\r\n\r\n1\r\n'
    body = fields % b"path" + file + fields % b"mode" + b"--b--\r\n"
    assert door.request("POST", "/upload", body=body, headers={"Content-Type": "multipart/form-data; boundary=b"}).status == 200
    assert (door.agent.root / "c").read_bytes() == b"1"
