"""kwok in the cluster: nodes that are only objects, and pods on them that are Ready at once, run nothing and answer nothing.

A node is one of kwok's by the annotation `kwok.x-k8s.io/node: fake`; tests make them, with a taint, and pods that are meant
for them have a node selector and a toleration."""

import build
from part import Part, answers

STAGES = ("node/fast/node-initialize.yaml", "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
          "pod/fast/pod-complete.yaml", "pod/fast/pod-delete.yaml", "pod/fast/pod-ready.yaml")
STATUS_TEMPLATE = "    statusTemplate: |\n"

# In 0.8.0 this stage is a strategic merge. Played twice before the first one is seen, it adds to the pod's addresses, and
# the API server refuses that; a merge patch replaces them. A pod that is bound by its nodeName has no PodScheduled either.
MERGE = """    patches:
    - subresource: status
      root: status
      type: merge
      template: |
"""
SCHEDULED = """          - lastTransitionTime: {{ $now | Quote }}
            status: "True"
            type: PodScheduled
"""


def stages():
    folder = build.kwok() / "stages"
    *others, ready = [(folder / name).read_text() for name in STAGES]
    head, found, template = ready.partition(STATUS_TEMPLATE)
    indented = "".join(f"    {line}" if line.strip() else line for line in template.splitlines(keepends=True))
    conditions = "          conditions:\n"
    if not found or conditions not in indented:
        raise ValueError("kwok's stage pod-ready is another one than this module mends")
    return "\n---\n".join([*others, head + MERGE + indented.replace(conditions, conditions + SCHEDULED, 1)])


def kwok(folder, _kube):
    config = folder / "stages.yaml"
    config.write_text(stages())
    return Part(folder, build.kwok() / "kwok", [
        f"--kubeconfig={folder}/admin.conf", f"--config={config}", "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        "--cidr=10.128.0.0/9", "--server-address=127.0.0.1:10247",
    ], lambda: answers("http://127.0.0.1:10247/healthz"))
