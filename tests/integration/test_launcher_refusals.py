"""What `skiff` says to what it does not do, and what its tokens are good for: real skiff, real skiffd, no cluster."""

import base64
import http.client
import json


def test_one_that_is_there_and_not_as_it_was_wanted_is_told(skiff):
    skiff.up("box", "--label", "team=a")
    err = skiff("up", "box", "--get-or-create", "--label", "team=b", "--ttl", "1h")[1]
    assert "box: its label team is a, not b" in err and "skiff extend box" in err
    assert "label" not in skiff("up", "box", "--get-or-create", "--label", "team=a")[1]


def test_variables_of_the_agent_are_no_sandboxes(skiff):
    err = skiff("up", "box", "--env", "SKIFF_LISTEN=0.0.0.0:1", status=125)[1]
    assert "--env SKIFF_LISTEN" in err and skiff.names() == []


def test_the_key_of_local_sandboxes_is_not_rotated(skiff):
    skiff.up("box")
    assert "needs a cluster" in skiff("key", "rotate", "--driver", "local", status=125)[1]


def test_a_token_allows_no_more_than_was_asked_for(skiff):
    skiff.up("box")

    def status(token, path):
        client = http.client.HTTPConnection("127.0.0.1", skiff.record("box")["port"], timeout=30)
        client.request("POST", path, headers={"Authorization": f"Bearer {token}"})
        try:
            return client.getresponse().status
        finally:
            client.close()

    usual = skiff("token", "box")[0].strip()
    claims = json.loads(base64.urlsafe_b64decode(usual.split(".")[1] + "=="))
    assert claims["scope"] == "read exec" and status(usual, "/v1/lease") == 403
    assert status(skiff("token", "box", "--scope", "admin")[0].strip(), "/v1/lease") == 200
