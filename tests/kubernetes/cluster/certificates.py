"""The certificates of a test's cluster, made by openssl(1): EC keys, so that all of them take a moment."""

import subprocess

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE, check=True)


def sign(folder, name, subject, usage="clientAuth", names=""):
    """A key, and a certificate of our authority for it."""
    extensions = folder / f"{name}.ext"
    extensions.write_text(f"extendedKeyUsage={usage}\n" + (f"subjectAltName={names}\n" if names else ""))
    openssl("req", *CURVE, "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr", "-subj", subject)
    openssl("x509", "-req", "-in", folder / f"{name}.csr", "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key",
            "-CAcreateserial", "-days", "2", "-extfile", extensions, "-out", folder / f"{name}.crt")


def make(folder, server_addresses):
    """ca, apiserver, admin (system:masters), and the key pair that signs service accounts' tokens."""
    folder.mkdir()
    openssl("req", "-x509", *CURVE, "-days", "2", "-subj", "/CN=skiff-test-ca", "-keyout", folder / "ca.key", "-out", folder / "ca.crt")
    names = [f"IP:{address}" for address in server_addresses]
    sign(folder, "apiserver", "/CN=kube-apiserver", "serverAuth", ",".join([*names, "DNS:localhost", "DNS:kubernetes.default.svc"]))
    sign(folder, "admin", "/O=system:masters/CN=admin")
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", folder / "accounts.key")
    openssl("ec", "-in", folder / "accounts.key", "-pubout", "-out", folder / "accounts.pub")
    return folder


def make_for_node(folder, node, addresses):
    """Creates the certificates of a node's kubelet, of the scheduler and of kube-proxy, beside the others."""
    sign(folder, "kubelet", f"/O=system:nodes/CN=system:node:{node}")
    sign(folder, "kubelet-server", f"/CN={node}", "serverAuth", ",".join([*(f"IP:{address}" for address in addresses), f"DNS:{node}"]))
    sign(folder, "kube-scheduler", "/CN=system:kube-scheduler")
    sign(folder, "kube-proxy", "/CN=system:kube-proxy")
