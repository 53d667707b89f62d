"""Files that the kernel makes as they are read, under /proc and /sys: what they say of their size is not true."""

FILES = "/v1/files"


def test_what_the_kernel_makes_as_it_is_read_arrives_whole(start_agent):
    agent = start_agent("--root", "/")
    for path in ("/proc/version", "/proc/sys/kernel/ostype", "/sys/class/net/lo/mtu", "/proc/mounts"):
        content = open(path, "rb").read()
        answer = agent.request("GET", FILES + "/" + path)
        assert (answer.status, answer.body) == (200, content), path
        assert agent.request("HEAD", FILES + "/" + path).headers["Content-Length"] == str(len(content))
    version = FILES + "//proc/version"
    assert agent.request("GET", version, headers={"Range": "bytes=0-4"}).body == b"Linux"
    assert agent.request("GET", version + "?lines=1").body == open("/proc/version", "rb").read()
    tag = agent.request("GET", version).headers["ETag"]
    assert agent.request("GET", version, headers={"If-None-Match": tag}).status == 304
