"""Files of any size, which a command plants and a client with a reader's token asks about."""


def test_a_sparse_file_keeps_nobody_from_the_files(agent):
    agent.run("truncate -s 4T big; echo small > small")
    lines = agent.request("GET", "/v1/files/big?lines=5-6")
    assert (lines.status, lines.body) == (200, b"")
    other = agent.request("HEAD", "/v1/files/big", headers={"If-None-Match": f'"h-{"0" * 64}"'})
    assert other.status == 200
    assert agent.request("PUT", "/v1/files/big", body=b"x", headers={"If-Match": f'"h-{"0" * 64}"'}).status == 412
    assert agent.request("GET", "/v1/files/small").body == b"small\n"
