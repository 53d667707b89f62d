// Works through a proxy that cuts connections at random, for SECONDS: each command runs once, each byte arrives once. SKIFF_URL is
// the proxy, DIRECT_URL the agent. It prints a line of JSON for each kind of work, with how often it was done.

import { createHash, randomBytes, randomInt } from 'node:crypto'
import { Sandbox } from 'skiff-sandbox'

const until = Date.now() + 1000 * Number(process.env.SECONDS)
const options = { retryFor: '5m' }
const box = await Sandbox.create(options)
const direct = await Sandbox.connect(box.id, { url: process.env.DIRECT_URL })
const digest = bytes => createHash('sha256').update(bytes).digest('hex')

function same (one, other, what) {
  if (one !== other) throw new Error(`${what}: ${one} is not ${other}`)
}

const works = {
  async commands_run_once (turn) {
    const done = await box.run(`echo ${turn} >> ran; echo out ${turn}; echo err >&2`)
    same(done.stdout + done.stderr, `out ${turn}\nerr\n`, 'run')
  },

  async long_commands_run_once (turn) {
    const done = await box.run(`echo ${turn} >> long; head -c ${300_000 + turn} /dev/zero | tr '\\0' x; sleep 0.1`)
    same(done.stdoutBytes.length, 300_000 + turn, 'long output')
    same(done.truncated, false, 'truncated')
  },

  async output_arrives_once (turn) {
    const count = randomInt(1, 60_000)
    const job = await box.start(`seq ${count}`, { id: `seq-${turn}` })
    const hash = createHash('sha256')
    let next = 0
    for await (const event of job) {
      if (event.type === 'exit') continue
      same(event.offset, next, `the offset of a ${event.type}`)
      same(event.type, 'output', 'an event')
      hash.update(event.bytes)
      next = event.next
    }
    const wanted = Array.from({ length: count }, (_, index) => `${index + 1}\n`).join('')
    same(hash.digest('hex'), digest(wanted), `the output of seq ${count}`)
  },

  async input_arrives_once () {
    const job = await box.start('sha256sum', { stdin: true })
    const pieces = Array.from({ length: randomInt(1, 8) }, () => randomBytes(randomInt(1, 100_000)))
    for (const piece of pieces) await job.write(piece)
    await job.closeStdin()
    same((await job.wait()).exitCode, 0, 'sha256sum')
    const texts = []
    for await (const event of job) if (event.type === 'output') texts.push(event.text)
    same(texts.join('').slice(0, 64), digest(Buffer.concat(pieces)), 'the input')
  },

  async files_are_whole (turn) {
    const bytes = randomBytes(randomInt(0, 500_000))
    await box.files.write(`file-${turn % 5}`, bytes)
    same(digest(await box.files.read(`file-${turn % 5}`)), digest(bytes), 'a file')
  },

  async appends_are_made_once (turn) {
    await box.files.append('appended', `${turn}\n`)
  },

  async terminals_go_on () {
    const terminal = await box.terminal({ command: 'stty -echo; echo set; while read word; do echo "<$word>"; done' })
    await terminal.readUntil('set', { timeout: '2m' })
    for (let n = 0; n < 5; ++n) await terminal.write(`${n}\n`)
    const seen = await terminal.readUntil('<4>', { timeout: '2m' })
    same(seen.match(/<\d>/g).join(''), '<0><1><2><3><4>', 'the terminal')
    await terminal.close()
  },

  async kills_are_complete () {
    const job = await box.start('sleep 1000 & sleep 1000')
    same((await job.kill()).killLevel, 'tree', 'a kill')
  }
}

const turns = {}
for (const [name, work] of Object.entries(works)) turns[name] = { done: 0, failure: null, work }
await Promise.all(Object.values(turns).map(async one => {
  try {
    do await one.work(one.done++); while (Date.now() < until)
  } catch (error) {
    one.failure = String(error?.stack ?? error)
  }
}))
for (const [name, file] of [['commands_run_once', 'ran'], ['long_commands_run_once', 'long'], ['appends_are_made_once', 'appended']]) {
  const wanted = Array.from({ length: turns[name].done }, (_, index) => `${index}\n`).join('')
  if (!turns[name].failure && await direct.files.readText(file) !== wanted) turns[name].failure = `${file} has not each line once`
}
await box.remove()
for (const [name, { done, failure }] of Object.entries(turns)) console.log(JSON.stringify({ case: name, failure, done }))
