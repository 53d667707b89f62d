// What the tests call in a page: runs, follows, writes bytes and meets errors. Returns "done", or how it failed.

import { Sandbox, SkiffError } from 'skiff-sandbox'

function same (one, other) {
  if (JSON.stringify(one) !== JSON.stringify(other)) throw new Error(`${JSON.stringify(one)} is not ${JSON.stringify(other)}`)
}

const code = work => work.then(() => 'none', error => error instanceof SkiffError ? error.code : String(error))

window.use = async (url, token) => {
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
  same(await code(Sandbox.create()), 'not_configured')
  const box = await Sandbox.create({ url, token, env: { WHO: 'page' } })
  same((await box.run('echo $WHO')).stdout, 'page\n')
  const job = await box.start('read x; echo got $x; sleep 100', { stdin: true })
  await job.write('y\n')
  const texts = []
  for await (const event of job) {
    if (event.type === 'output') texts.push(event.text)
    if (event.type === 'output') await job.kill()
  }
  same([texts.join(''), job.exit.killLevel], ['got y\n', 'tree'])
  await box.files.write('bytes', bytes)
  await box.files.write('stream', new Blob([bytes]).stream())
  for (const name of ['bytes', 'stream']) same([...await box.files.read(name)], [...bytes])
  await box.files.append('text', 'a')
  await box.files.append('text', 'b')
  same((await box.files.grep('ab$')).length, 1)
  const watch = box.files.watch()
  await watch.ready()
  await box.files.mkdir('new')
  for await (const change of watch) {
    same([change.type, change.path, change.isDirectory], ['created', 'new', true])
    break
  }
  const server = await box.start('exec python3 -u -m http.server 0 --bind 127.0.0.1')
  const port = Number((await box.waitFor({ output: { command: server.id, pattern: 'port \\d+' } })).match(/\d+/)[0])
  await box.waitFor({ port })
  same([(await box.fetch(port, '/text')).status, await (await box.fetch(port, '/text')).text()], [200, 'ab'])
  const terminal = await box.terminal({ cols: 90, rows: 20 })
  await terminal.write('stty size\n')
  await terminal.readUntil('20 90')
  await terminal.close()
  same(await code(box.files.read('missing')), 'path_not_found')
  same(await code(Sandbox.connect('default', { url, token: 'wrong' })), 'unauthenticated')
  await box.remove()
  return 'done'
}
