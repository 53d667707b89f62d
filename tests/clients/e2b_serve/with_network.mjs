// E2B's JavaScript SDK, as npm has it, names what a sandbox may reach, and changes it while it runs.
import assert from 'node:assert'
import { ALL_TRAFFIC, Sandbox } from 'e2b'

const answer = async (sandbox, host) =>
  (await sandbox.commands.run(`curl -s -o /dev/null -w '%{http_connect}' https://${host}/ || true`)).stdout

const sandbox = await Sandbox.create({ timeoutMs: 120_000, network: { allowOut: ['one.invalid'], denyOut: [ALL_TRAFFIC] } })
assert.deepEqual([await answer(sandbox, 'one.invalid'), await answer(sandbox, 'two.invalid')], ['502', '403'])
await sandbox.updateNetwork({ allowOut: ['two.invalid'], denyOut: [ALL_TRAFFIC] })
assert.deepEqual([await answer(sandbox, 'one.invalid'), await answer(sandbox, 'two.invalid')], ['403', '502'])
await sandbox.updateNetwork({ allowInternetAccess: false })
assert.equal(await answer(sandbox, 'two.invalid'), '403')
await assert.rejects(sandbox.updateNetwork({ allowOut: ['one.invalid'] }))
await sandbox.kill()
console.log('done')
