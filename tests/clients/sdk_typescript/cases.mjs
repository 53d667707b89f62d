// What people do with skiff-sandbox, at the place that the variables name: an agent, a server or the program skiff. It prints a
// line of JSON for each case. PLACE says which of them; the package is found beside the copy of this file.

import { Sandbox, SkiffError } from 'skiff-sandbox'

const place = process.env.PLACE
const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)

function assert (is, message) {
  if (!is) throw new Error(message ?? 'it is not so')
}

function same (one, other) {
  const [a, b] = [one, other].map(value => JSON.stringify(value instanceof Uint8Array ? [...value] : value))
  assert(a === b, `${a} is not ${b}`)
}

async function refusal (work) {
  try {
    await work
  } catch (error) {
    assert(error instanceof SkiffError, `${error?.stack}`)
    return error
  }
  throw new Error('it was not refused')
}

async function collected (pieces) {
  const all = []
  for await (const piece of pieces) all.push(piece)
  return all
}

const cases = {
  async runs_a_line_and_a_program (box) {
    const done = await box.run('echo out; echo err >&2; exit 3')
    same([done.stdout, done.stderr, done.exitCode, done.ok, done.cause], ['out\n', 'err\n', 3, false, 'exited'])
    same((await box.run(['printf', '%s', 'a b'])).stdout, 'a b')
    same((await box.run('printf "\\377\\000"')).stdoutBytes, new Uint8Array([255, 0]))
  },

  async checks (box) {
    const error = await refusal(box.run('echo oops >&2; exit 4', { check: true }))
    same([error.code, error.result.exitCode], ['command_failed', 4])
    assert(error.message.includes('oops'))
    assert((await box.run('true', { check: true })).ok)
  },

  async sets_variables_and_the_directory (box) {
    await box.files.mkdir('sub')
    same((await box.run('echo $A; basename $PWD', { env: { A: 'b c' }, cwd: 'sub' })).stdout, 'b c\nsub\n')
    same((await box.run('echo $WHO')).stdout, 'me\n')
  },

  async copies_trees (box) {
    const fs = await import('node:fs/promises')
    const folder = await fs.mkdtemp(`${process.env.TMPDIR ?? '.'}/trees-`)
    const long = `${'long/'.repeat(30)}${'n'.repeat(200)}`
    await fs.mkdir(`${folder}/from/${long}`, { recursive: true })
    await fs.writeFile(`${folder}/from/ünï.bin`, bytes, { mode: 0o640 })
    await fs.writeFile(`${folder}/from/${long}/empty`, '')
    await fs.writeFile(`${folder}/from/large`, 'x'.repeat(3_000_000))
    await fs.symlink('large', `${folder}/from/link`)
    await fs.symlink('/etc/passwd', `${folder}/from/outside`)
    await fs.utimes(`${folder}/from/large`, 1_700_000_000, 1_700_000_000)

    await box.files.upload(`${folder}/from`, 'trees')
    const told = await box.run('cd trees; stat -c "%a %Y" ünï.bin large; readlink link outside; find . -type f | wc -l', { check: true })
    same(told.stdout.split('\n').map(line => line.split(' ')[0]), ['640', '644', 'large', '/etc/passwd', '3', ''])
    assert(told.stdout.includes('644 1700000000'))
    same(await box.files.read('trees/ünï.bin'), bytes)

    // A link that leads out of the directory is refused, before something is written behind it.
    same((await refusal(box.files.download('trees', `${folder}/refused`))).code, 'path_escapes_root')
    await box.run('rm trees/outside; chmod 755 trees/ünï.bin; ln trees/large trees/hard', { check: true })
    await fs.mkdir(`${folder}/to`)
    await fs.symlink('/nowhere', `${folder}/to/large`)
    for (let times = 0; times < 2; ++times) await box.files.download('trees', `${folder}/to`)
    same(new Uint8Array(await fs.readFile(`${folder}/to/ünï.bin`)), bytes)
    same(await fs.readFile(`${folder}/to/link`, 'utf8'), 'x'.repeat(3_000_000))
    same(await fs.readlink(`${folder}/to/link`), 'large')
    same([(await fs.stat(`${folder}/to/ünï.bin`)).mode & 0o777, (await fs.stat(`${folder}/to/hard`)).nlink], [0o755, 2])
    same((await fs.stat(`${folder}/to/${long}/empty`)).size, 0)
    same((await fs.stat(`${folder}/to/large`)).mtimeMs, 1_700_000_000_000)

    await box.files.upload(`${folder}/from/large`)
    same((await box.files.stat('large')).size, 3_000_000)
    await box.files.download('large', `${folder}/one`)
    same(await fs.readdir(`${folder}/one`), ['large'])
    same((await refusal(box.files.download('nope', `${folder}/none`))).code, 'path_not_found')
    await box.files.upload(`${folder}/nope`).then(() => assert(false), error => same(error.code, 'ENOENT'))
    await fs.rm(folder, { recursive: true })
  },

  async gives_input (box) {
    same((await box.run('cat', { stdin: 'täxt' })).stdout, 'täxt')
    same((await box.run('cat', { stdin: bytes })).stdoutBytes, bytes)
    same((await box.run('wc -c', { stdin: 'x'.repeat(3_000_000) })).stdout.trim(), '3000000')
    same((await box.run('head -c 1', { stdin: 'y'.repeat(3_000_000) })).stdout, 'y')
  },

  async keeps_much_output_and_says_when_it_is_cut (box) {
    const whole = await box.run('head -c 5000000 /dev/zero; echo end >&2')
    same([whole.stdoutBytes.length, whole.stderr, whole.truncated], [5_000_000, 'end\n', false])
    const cut = await box.run('head -c 5000 /dev/zero', { maxOutputBytes: 1000 })
    same([cut.stdoutBytes.length, cut.truncated], [1000, true])
  },

  async ends_at_its_time (box) {
    const done = await box.run('sleep 100', { timeout: '100ms' })
    same([done.cause, done.ok], ['timeout', false])
  },

  async ends_what_is_aborted (box) {
    const controller = new AbortController()
    const id = `aborted-${crypto.randomUUID()}`
    const run = box.run('touch begun; sleep 100', { id, signal: controller.signal })
    run.catch(() => undefined)
    await box.waitFor({ path: 'begun' })
    controller.abort(new Error('enough'))
    const told = await run.catch(error => error.message)
    same(told, 'enough')
    same((await (await box.command(id)).wait({ timeout: '20s' })).cause, 'killed_by_client')
  },

  async starts_reads_writes_and_kills (box) {
    const id = `train-${crypto.randomUUID()}`
    const job = await box.start('echo ready; read answer; echo got $answer; sleep 100 & sleep 100', { id, stdin: true })
    const texts = []
    for await (const event of job.events()) {
      if (event.type === 'output') texts.push(event.text)
      if (event.type === 'output' && texts.join('').endsWith('ready\n')) await job.write('yes\n')
      if (event.type === 'output' && texts.join('').endsWith('yes\n')) await job.kill()
    }
    same(texts.join(''), 'ready\ngot yes\n')
    same([job.exit.killLevel, job.exit.cause, job.exit.signal], ['tree', 'killed_by_client', 'SIGKILL'])
    same((await job.kill()).killLevel, 'tree')
    const again = await box.start('echo ready; read answer; echo got $answer; sleep 100 & sleep 100', { id, stdin: true })
    same((await again.details()).state, 'ended')
    same((await refusal(box.start('echo another', { id }))).code, 'command_conflict')
    const later = await box.command(id)
    const rest = await collected(later.events({ offset: 6 }))
    same(rest.map(event => event.type === 'exit' ? event.type : event.text), ['got yes\n', 'exit'])
  },

  async closes_the_input (box) {
    const job = await box.start('cat', { stdin: true })
    for (const word of ['a', 'b', 'c']) job.write(word)
    await job.closeStdin()
    await job.closeStdin()
    same((await job.wait()).exitCode, 0)
    same((await collected(job)).map(event => event.text ?? '').join(''), 'abc')
    same((await refusal(job.write('d'))).code, 'stdin_closed')
  },

  async sends_signals_and_lists_commands (box) {
    const job = await box.start('trap "echo hup" HUP; echo set; while :; do sleep 0.05; done')
    await box.waitFor({ output: { command: job.id, pattern: 'set' } })
    assert((await box.commands({ state: 'running' })).some(one => one.id === job.id))
    await job.signal('HUP')
    same(await box.waitFor({ output: { command: job.id, pattern: 'h.p' } }), 'hup')
    same((await job.kill({ grace: '5s' })).signal, 'SIGTERM')
    await job.remove()
    await job.remove()
  },

  async waits_have_an_end (box) {
    const job = await box.start('sleep 100')
    same((await refusal(job.wait({ timeout: 10 }))).code, 'timeout')
    same((await refusal(box.waitFor({ path: 'nowhere' }, { timeout: 10 }))).code, 'timeout')
    same(await job.wait({ signal: AbortSignal.timeout(50) }).catch(error => error.name), 'TimeoutError')
    await job.kill()
    same((await refusal(box.waitFor({ output: { command: job.id, pattern: 'x' } }))).code, 'command_ended')
  },

  async writes_and_reads_bytes (box) {
    const entry = await box.files.write('a b/c%2Fd.bin', bytes)
    same([entry.size, entry.type], [256, 'file'])
    same(await box.files.read('a b/c%2Fd.bin'), bytes)
    for (const data of [bytes.buffer, new Blob([bytes]), new Blob([bytes]).stream(), [bytes.slice(0, 9), bytes.slice(9)]]) {
      await box.files.write('d', data)
      same(await box.files.read('d'), bytes)
    }
    await box.files.write('text', (async function * () { yield 'one\n'; yield 'two\n' })())
    same(await box.files.readText('text'), 'one\ntwo\n')
    await box.files.write('empty', '')
    same((await box.files.read('empty')).length, 0)
  },

  async changes_files (box) {
    await box.files.append('log', 'one\n')
    await box.files.append('log', 'two\n')
    assert((await box.files.edit('log', 'two', 'three')).diff.includes('+three'))
    same(await box.files.readText('log'), 'one\nthree\n')
    same((await refusal(box.files.edit('log', 'four', 'five'))).code, 'edit_not_found')
    await box.files.copy('log', 'copied')
    await box.files.move('copied', 'moved')
    same([await box.files.exists('copied'), await box.files.exists('moved')], [false, true])
    same((await box.files.chmod('moved', '0600')).mode, '0600')
    await box.files.symlink('link', 'moved')
    same((await box.files.stat('link')).target, 'moved')
    const { etag } = await box.files.stat('log')
    await box.files.write('log', 'new', { ifMatch: etag })
    same((await refusal(box.files.write('log', 'newer', { ifMatch: etag }))).code, 'precondition_failed')
    same((await refusal(box.files.write('log', 'newer', { create: true }))).code, 'precondition_failed')
    await box.files.remove('moved')
    same((await refusal(box.files.read('moved'))).code, 'path_not_found')
    same((await refusal(box.files.read('../../../etc/passwd'))).code, 'path_escapes_root')
  },

  async appends_beside_others (box) {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index % 2}\n`)
    await Promise.all(lines.map(line => box.files.append('shared', line)))
    same((await box.files.readText('shared')).split('\n').sort().join('\n'), ['', ...lines.map(line => line.trim())].sort().join('\n'))
  },

  async finds_files (box) {
    await box.files.write('tree/one.txt', 'a,b\n1,2\n')
    await box.files.write('tree/deep/two.md', 'nothing\n')
    const [match, ...others] = await box.files.grep('a,b', { path: 'tree' })
    same([match.path, match.lineNumber, match.column, match.text, others.length], ['tree/one.txt', 1, 1, 'a,b', 0])
    const found = await box.files.glob('**/*.md', { path: 'tree' })
    same([...found, found.truncated], ['tree/deep/two.md', false])
    const paths = (await box.files.list('tree', { recursive: true })).map(entry => entry.path)
    same(paths.sort(), ['tree/deep', 'tree/deep/two.md', 'tree/one.txt'])
    assert((await box.files.grep('.', { path: 'tree', limit: 1 })).truncated)
    const archive = await collected(box.files.archive('tree', { format: 'tar.gz' }))
    await box.files.unpack(new Blob(archive), 'unpacked')
    same(await box.files.readText('unpacked/one.txt'), 'a,b\n1,2\n')
    await box.files.remove('tree', { recursive: true })
  },

  async watches (box) {
    await box.files.mkdir('watched')
    const watch = box.files.watch('watched')
    await watch.ready()
    await box.files.write('watched/new', '1')
    for await (const change of watch) {
      if (change.type !== 'created') continue
      same(change.path, 'watched/new')
      break
    }
    same(await collected(box.files.watch('watched', { for: 10 })), [])
    same((await refusal(box.files.watch('nowhere').ready())).code, 'path_not_found')
  },

  async opens_a_terminal (box) {
    const pieces = []
    const terminal = await box.terminal({ cols: 100, rows: 30, onData: piece => pieces.push(...piece) })
    await terminal.write('stty size; exit 7\n')
    same((await terminal.wait()).exitCode, 7)
    assert(new TextDecoder().decode(new Uint8Array(pieces)).includes('30 100'))
    const other = await box.terminal({ command: 'echo first; read x; stty size; cat' })
    assert((await other.readUntil('first')).endsWith('first'))
    await other.resize(111, 22)
    await other.write('go\n')
    await other.readUntil('22 111')
    await other.close()
    same((await refusal(other.readUntil('more'))).code, 'command_ended')
    same(other.command.exit.killLevel, 'tree')
  },

  async keeps_the_state_of_a_session (box) {
    const session = await box.session({ stateful: true, env: { B: '1' }, labels: { of: 'test' } })
    await session.run('mkdir -p down && cd down && A=$B')
    same((await session.run('basename $PWD; echo $A')).stdout, 'down\n1\n')
    same((await session.run('A=2', { check: true })).stateSaved, 'saved')
    await session.end()
    await session.end()
    same((await refusal(session.run('true'))).code, 'session_not_found')
  },

  async reaches_ports (box) {
    const job = await box.start(['python3', '-u', '-m', 'http.server', '0', '--bind', '127.0.0.1'])
    const port = Number((await box.waitFor({ output: { command: job.id, pattern: 'port [0-9]+' } })).slice(5))
    await box.waitFor({ port })
    assert((await box.ports()).some(one => one.port === port))
    await box.files.write('page.txt', 'served')
    const answer = await box.fetch(port, '/page.txt')
    same([answer.status, await answer.text()], [200, 'served'])
    same((await box.fetch(port, 'nowhere')).status, 404)
    if (place === 'launcher') same(await (await fetch(`${await box.preview(port)}page.txt`)).text(), 'served')
    else same((await refusal(box.preview(port))).code, 'not_supported')
    await job.kill()
  },

  async names_what_it_reaches () {
    // Neither an agent nor the driver `local` has egress by name.
    same((await refusal(Sandbox.create({ egress: ['pypi.org'] }))).code, place === 'launcher' ? 'invalid_field' : 'not_supported')
  },

  async is_found_again (box) {
    const other = await Sandbox.connect(box.id)
    await other.files.write('from-the-other', 'x')
    await other[Symbol.asyncDispose]()
    same(await box.files.readText('from-the-other'), 'x')
    same((await box.details()).state, 'running')
    const unknown = await refusal(Sandbox.connect('nobody'))
    same(unknown.code, { agent: 'session_not_found', server: 'sandbox_not_found', launcher: 'sandbox_not_found' }[place])
    if (place === 'agent') same((await refusal(Sandbox.list())).code, 'not_supported')
    else same((await Sandbox.list({ labels: { of: 'cases' } })).map(one => one.id), [box.id])
  },

  async watches_the_list (box) {
    if (place !== 'server') return same(await refusal(Promise.resolve().then(() => Sandbox.watch())).then(error => error.code), 'not_supported')
    const until = async (events, type, id) => {
      for (;;) {
        const { value } = await events.next()
        if (value.type === type && value.sandbox?.id === id) return value.cursor
      }
    }
    const events = Sandbox.watch()
    const first = (await events.next()).value
    same(first.type, 'snapshot')
    same(first.sandboxes.filter(one => one.id === box.id).map(one => one.state), ['running'])
    const other = await Sandbox.create({ labels })
    const cursor = await until(events, 'added', other.id)
    await events.return()
    await other.remove()
    const again = Sandbox.watch({ cursor })
    await until(again, 'removed', other.id)
    await again.return()
    const strange = Sandbox.watch({ cursor: 'another' })
    same([(await strange.next()).value.type, (await strange.next()).value.type], ['gap', 'snapshot'])
    await strange.return()
  },

  async undoes_a_creation_that_is_aborted (box) {
    for (const ms of [0, 5, 40]) {
      const signal = AbortSignal.timeout(ms)
      const made = await Sandbox.create({ labels, signal }).catch(error => error)
      if (made instanceof Sandbox) await made.remove()
      else same(made.name, 'TimeoutError')
    }
    if (place === 'server') same((await Sandbox.list({ labels })).map(one => one.id), [box.id])
  },

  async has_a_name_and_an_end (box) {
    const name = `named-${crypto.randomUUID().slice(0, 8)}`
    const one = await Sandbox.create({ name })
    same(one.id, name)
    const taken = await refusal(Sandbox.create({ name }))
    assert(['sandbox_conflict', 'session_conflict'].includes(taken.code), taken.message)
    const found = await Sandbox.create({ name, getOrCreate: true })
    await found[Symbol.asyncDispose]()
    same([found.id, (await one.details()).state], [name, 'running'])
    if (place !== 'agent') {
      await one.extend('1h')
      assert((await one.details()).expiresAt > new Date())
      await one.files.write('kept', 'k')
      await one.stop()
      same(await (await Sandbox.connect(name)).files.readText('kept'), 'k')
    } else same((await refusal(Sandbox.create({ ttl: '1h' }))).code, 'not_supported')
    await one.remove()
    await one.remove()
    await refusal(Sandbox.connect(name))
  }
}

const labels = { of: 'cases' }
const box = await Sandbox.create({ env: { WHO: 'me' }, labels })
const only = process.env.ONLY
for (const [name, work] of Object.entries(cases)) {
  if (only && only !== name) continue
  let failure = null
  try {
    await work(box)
  } catch (error) {
    failure = String(error?.stack ?? error)
  }
  console.log(JSON.stringify({ case: name, failure }))
}
await box.remove()
