// The same by E2B's JavaScript SDK, as npm has it.
import assert from 'node:assert/strict'
import { ALL_TRAFFIC, Sandbox } from 'e2b'

const ask = `python3 -c 'import socket, sys; one = socket.create_connection(("127.0.0.1", 3128), 20)
one.sendall(b"CONNECT %s:443 HTTP/1.1\\r\\n\\r\\n" % sys.argv[1].encode()); print(one.recv(12).decode().split()[1])' `
const hosts = ['pypi.org', 'evil.org']

const seen = async () => (await Promise.all(hosts.map((host) => sandbox.commands.run(ask + host)))).map((one) => one.stdout.trim())

// The proxy hears of a change a moment later.
async function expect(...statuses) {
  const until = Date.now() + 30_000
  for (let now = await seen(); String(now) !== String(statuses); now = await seen()) assert(Date.now() < until, String(now))
}

const sandbox = await Sandbox.create({ timeoutMs: 300_000, network: { allowOut: ['pypi.org'], denyOut: [ALL_TRAFFIC] } })
await expect('200', '403')
await sandbox.updateNetwork({ allowOut: ['evil.org'], denyOut: [ALL_TRAFFIC] })
await expect('403', '200')
await sandbox.updateNetwork({ allowInternetAccess: false })
await expect('403', '403')
await sandbox.updateNetwork({})
await expect('200', '200')
await sandbox.files.write('a.txt', 'there')
assert.equal(await sandbox.files.read('a.txt'), 'there')
await sandbox.kill()
console.log('done')
