"""Files that the kernel makes as they are read, under /proc and /sys: what they say of their size is not true."""

FILES = "/v1/files"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def same_before_and_after(path, ask):
    """The result of `ask`, and the file's contents: asks again if they changed meanwhile, as others mount file systems."""
    while True:
        content = read(path)
        answer = ask()
        if read(path) == content:
            return answer, content


def test_files_that_the_kernel_generates_arrive_whole(start_agent):
    agent = start_agent("--root", "/")
    for path in ("/proc/version", "/proc/sys/kernel/ostype", "/sys/class/net/lo/mtu", "/proc/mounts"):
        answer, content = same_before_and_after(path, lambda path=path: agent.request("GET", FILES + "/" + path))
        assert (answer.status, answer.body) == (200, content), path
        head, content = same_before_and_after(path, lambda path=path: agent.request("HEAD", FILES + "/" + path))
        assert head.headers["Content-Length"] == str(len(content)), path
    version = FILES + "//proc/version"
    assert agent.request("GET", version, headers={"Range": "bytes=0-4"}).body == b"Linux"
    assert agent.request("GET", version + "?lines=1").body == read("/proc/version")
    tag = agent.request("GET", version).headers["ETag"]
    assert agent.request("GET", version, headers={"If-None-Match": tag}).status == 304
