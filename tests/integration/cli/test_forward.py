"""`skiff forward`: ports of a sandbox on this machine."""

import signal
import socket

from networks import listening


def test_ports_are_forwarded(skiff):
    skiff.up()
    with listening(skiff.network()) as server:
        process = skiff.start("forward", "box", f":{server.getsockname()[1]}")
        line = process.stdout.readline().decode()
        port = int(line.split(" -> ")[0].rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port)) as client:
            peer, _ = server.accept()
            with peer:
                client.sendall(b"there")
                assert peer.recv(100) == b"there"
                peer.sendall(b"back")
                assert client.recv(100) == b"back"
                client.shutdown(socket.SHUT_WR)
                assert peer.recv(100) == b""
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        process.communicate()


def test_ports_are_forwarded_from_the_addresses_that_are_named(skiff):
    skiff.up()
    with listening(skiff.network()) as server:
        process = skiff.start("port-forward", "--address", "127.0.0.2", "--address", "127.0.0.1", "box", f":{server.getsockname()[1]}")
        places = [process.stdout.readline().decode().split(" -> ")[0] for _ in range(2)]
        assert [place.rsplit(":", 1)[0] for place in places] == ["127.0.0.2", "127.0.0.1"]
        for place in places:
            host, port = place.rsplit(":", 1)
            with socket.create_connection((host, int(port))) as client:
                peer, _ = server.accept()
                with peer:
                    client.sendall(b"there")
                    assert peer.recv(100) == b"there"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        process.communicate()
    assert "--address" in skiff("forward", "--address", "nowhere", "box", "80", status=125)[1]


def test_it_ends_when_the_reader_of_its_output_has_ended(skiff):
    """A program that was killed leaves nothing that holds its pipes and ports."""
    skiff.up()
    process = skiff.start("forward", "box", ":8000", ":8001")
    assert [process.stdout.readline().split()[2] for _ in range(2)] == [b"box:8000", b"box:8001"]
    process.stdout.close()
    assert process.wait(60) == 0
    process.stderr.close()
