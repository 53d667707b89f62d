"""A request with two credentials, or two origins, is none that anybody can judge: what stands in front of the agent could go
by the other one."""

import itertools

import pytest

from wire import parse


def asked(agent, path, *fields):
    lines = [f"GET {path} HTTP/1.1", f"Host: {agent.host}", "Connection: close", *fields, "", ""]
    return parse(agent.exchange("\r\n".join(lines).encode()))


@pytest.mark.parametrize("path", ["/v1/version", "/healthz"])
def test_two_authorization_fields_are_refused_whatever_they_say(agent, path):
    values = (f"Bearer {agent.token}", "Bearer wrong", "Basic dXNlcjpwYXNz")
    for first, second in itertools.product(values, repeat=2):
        asked(agent, path, f"Authorization: {first}", f"authorization: {second}").problem(400, "invalid_request")


def test_two_origins_are_refused(agent):
    credential = f"Authorization: Bearer {agent.token}"
    own = f"Origin: {agent.address}"
    for first, second in itertools.product((own, "Origin: https://evil.example"), repeat=2):
        asked(agent, "/v1/connect", credential, first, second, "Upgrade: websocket",
              "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==").problem(400, "invalid_request")


def test_two_tokens_in_the_header_for_proxies_are_refused(agent):
    for first, second in itertools.product((agent.token, "wrong"), repeat=2):
        asked(agent, "/v1/version", f"X-Skiff-Token: {first}", f"X-Skiff-Token: {second}").problem(
            400, "invalid_request")
