// The same in short, for versions that create by other routes.
import assert from 'node:assert/strict'
import { Sandbox } from 'e2b'

const sandbox = await Sandbox.create({ timeoutMs: 120_000, metadata: { user: 'a/b & c' }, envs: { WHO: 'me' } })
assert.equal((await sandbox.commands.run('echo hello $WHO')).stdout, 'hello me\n')
await sandbox.files.write('notes.txt', 'kept')
await sandbox.setTimeout(300_000)
assert.deepEqual((await sandbox.getInfo()).metadata, { user: 'a/b & c' })
assert.equal(await (await Sandbox.connect(sandbox.sandboxId)).files.read('notes.txt'), 'kept')
await sandbox.kill()
console.log('done')
