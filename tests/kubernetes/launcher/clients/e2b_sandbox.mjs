// The same in short, by the SDK as npm has it.
import assert from 'node:assert/strict'
import { Sandbox } from 'e2b'

const sandbox = await Sandbox.create('kept', { timeoutMs: 600_000, metadata: { user: 'js' }, envs: { WHO: 'me' } })
assert.equal((await sandbox.commands.run('echo hello $WHO')).stdout, 'hello me\n')
await sandbox.files.write('notes/a.txt', 'kept')
const listed = await Sandbox.list({ query: { metadata: { user: 'js' } } }).nextItems()
assert.deepEqual(listed.map((one) => one.sandboxId), [sandbox.sandboxId])
await sandbox.pause()
assert.equal((await Sandbox.getInfo(sandbox.sandboxId)).state, 'paused')
const woken = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 600_000 })
assert.equal(await woken.files.read('notes/a.txt'), 'kept')
assert.ok(await woken.kill())
assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
console.log('done')
