// What users of @e2b/code-interpreter do, by the package as npm has it.
import assert from 'node:assert/strict'
import { Sandbox } from '@e2b/code-interpreter'

const sandbox = await Sandbox.create({ timeoutMs: 300_000 })
await sandbox.runCode('x = 1')
const execution = await sandbox.runCode('x+=1; x')
assert.equal(execution.text, '2')
assert.equal(execution.executionCount, 2)

const outs = []
const results = []
const told = await sandbox.runCode("print('out')\ndisplay(3)\n'text'", {
  onStdout: (one) => outs.push(one.line), onResult: (one) => results.push(one.text)
})
assert.equal(outs.join(''), 'out\n')
assert.deepEqual(results, ['3', 'text'])
assert.equal(told.text, 'text')
const failed = await sandbox.runCode('1/0')
assert.equal(failed.error.name, 'ZeroDivisionError')

const context = await sandbox.createCodeContext({ cwd: '/tmp' })
assert.equal((await sandbox.runCode('import os; os.getcwd()', { context })).text, '/tmp')
assert.ok((await sandbox.listCodeContexts()).some((one) => one.id === context.id))
await sandbox.restartCodeContext(context)
await sandbox.removeCodeContext(context)
await assert.rejects(sandbox.runCode('1', { context }))

const javascript = await sandbox.runCode('const y = 20; await Promise.resolve(y + 22)', { language: 'js' })
assert.equal(javascript.error, undefined)
assert.equal((await sandbox.runCode('echo hi', { language: 'bash' })).logs.stdout.join(''), 'hi\n')
await assert.rejects(sandbox.runCode('import time\ntime.sleep(600)', { timeoutMs: 2_000 }))
assert.equal((await sandbox.runCode('x')).text, '2')
await sandbox.kill()
console.log('done')
