// Runs the JavaScript of one context with the sandbox's own node: see worker.py, whose requests and frames these are.
'use strict'
const fs = require('fs')
const util = require('util')
const vm = require('vm')

let id = 0
let count = 0
let interrupt = () => {}
const send = frame => {
  const line = Buffer.from(JSON.stringify({ id, ...frame }) + '\n')
  for (let at = 0; at < line.length;) at += fs.writeSync(5, line, at)
}
const failure = error => error instanceof Error
  ? { name: error.name, value: error.message, traceback: error.stack || '' }
  : { name: 'Error', value: util.inspect(error), traceback: '' }
const compiled = code => {
  const filename = `<cell ${count}>`
  try {
    return new vm.Script(code, { filename })
  } catch (error) {
    if (!(error instanceof SyntaxError) || !/\bawait\b/.test(code)) throw error
  }
  try {
    return new vm.Script(`(async () => (${code}\n))()`, { filename })
  } catch {
    return new vm.Script(`(async () => {${code}\n})()`, { filename })
  }
}
const answer = async ({ code, env }) => {
  const before = { ...process.env }
  Object.assign(process.env, env)
  try {
    const stopped = new Promise((_, reject) => { interrupt = () => reject(new Error('interrupted')) })
    stopped.catch(() => {})
    const value = await Promise.race([compiled(code).runInThisContext({ breakOnSigint: true }), stopped])
    if (value !== undefined) send({ result: { text: util.inspect(value), is_main_result: true } })
  } catch (error) {
    send({ error: failure(error) })
  } finally {
    interrupt = () => {}
    if (env && Object.keys(env).length) {
      for (const name of Object.keys(process.env)) delete process.env[name]
      Object.assign(process.env, before)
    }
  }
  send({ end: count })
}
Object.assign(globalThis, { require: require('module').createRequire(process.cwd() + '/'), module: undefined, exports: undefined })
process.on('SIGINT', () => interrupt())
process.on('uncaughtException', error => send({ error: failure(error) }))
process.on('unhandledRejection', error => send({ error: failure(error) }))
require('readline').createInterface({ input: fs.createReadStream(null, { fd: 4 }), crlfDelay: Infinity }).on('line', line => {
  const request = JSON.parse(line)
  turn = turn.then(() => { id = request.id; ++count; return answer(request) })
})
let turn = Promise.resolve()
