"""The code in the reference of k8s-agent-sandbox's client, unchanged. Its SandboxClient() looks for a router by
kubectl; here it goes straight to the runtime."""

import contextlib
import functools

import cases
import documented
import k8s_agent_sandbox.sandbox_client
from k8s_agent_sandbox.models import SandboxDirectConnectionConfig

DIRECT = functools.partial(k8s_agent_sandbox.sandbox_client.SandboxClient,
                           connection_config=SandboxDirectConnectionConfig(api_url=cases.URL))


@contextlib.contextmanager
def nothing():
    yield


def run(code, **names):
    return documented.run(code, SandboxClient=DIRECT, **names)


def case_create(_):
    _, names = run('''
        client = SandboxClient()
        sandbox = client.create_sandbox(template="python-sandbox-template")
        result = sandbox.commands.run("echo 'Hello World'")
        ''')
    assert (names["result"].stdout, names["result"].stderr, names["result"].exit_code) == ("Hello World\n", "", 0)


def case_create_with_all_that_is_listed(_):
    _, names = run('''
        client = SandboxClient(cleanup=False)
        sandbox = client.create_sandbox("python-sandbox-template", namespace="default", sandbox_ready_timeout=180,
                                        labels={"team": "a"}, shutdown_after_seconds=60)
        ''')
    assert names["sandbox"].commands.run("pwd").stdout == cases.ROOT + "\n"


def case_get(_):
    made = DIRECT().create_sandbox(template="python-sandbox-template")
    _, names = run(f'''
        client = SandboxClient()
        sandbox = client.get_sandbox("{made.claim_name}")
        result = sandbox.commands.run("ls -la")
        ''')
    assert names["result"].exit_code == 0 and names["result"].stdout.startswith("total ")


def case_list(_):
    _, names = run('''
        client = SandboxClient()
        client.create_sandbox("python-sandbox-template")
        print(client.list_active_sandboxes())
        print(client.list_all_sandboxes(namespace="default"))
        ''')
    ((namespace, name),) = names["client"].list_active_sandboxes()
    assert namespace == "default" and name in names["client"].list_all_sandboxes(namespace="default")


def case_delete(_):
    _, names = run('''
        client = SandboxClient()
        sandbox = client.create_sandbox("python-sandbox-template")
        client.delete_sandbox(sandbox.claim_name)
        client.create_sandbox("python-sandbox-template")
        client.create_sandbox("python-sandbox-template")
        client.delete_all()
        ''')
    assert names["client"].list_active_sandboxes() == []


def case_files_have_what_is_listed(_):
    sandbox = DIRECT().create_sandbox(template="python-sandbox-template")
    sandbox.files.write("listed.txt", "12345")
    (entry,) = [one for one in sandbox.files.list(".") if one.name == "listed.txt"]
    assert (entry.size, entry.type) == (5, "file") and entry.mod_time > 0


if __name__ == "__main__":
    cases.main(nothing)
