import assert from 'node:assert/strict'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'

import { allowed, content, editor, filesOf, here, holds, isSaved, item, linesOf, opened, put, run, shows, skiff, terminalOf,
  up } from '../person.mjs'

export default {
  async runs_no_script_of_a_sandbox({ page, context }) {
    up('demo')
    const script = 'window.isBroken = true; document.title = "broken"'
    fs.writeFileSync(path.join(here.root, 'evil.html'), `<!doctype html><script>${script}</script>`)
    fs.writeFileSync(path.join(here.root, 'evil.js'), script)
    await opened(page)
    const file = name => `${here.origin}/s/demo/7070/v1/sessions/default/files/${name}`
    // The page's script reads it as data.
    assert.equal(await page.evaluate(async address => (await fetch(address)).text(), file('evil.js')), script)
    const broken = () => page.evaluate(() => window.isBroken === true || document.title === 'broken')
    await page.evaluate(address => new Promise(resolve => {
      const element = document.createElement('script')
      element.src = address
      element.onload = element.onerror = resolve
      document.head.append(element)
    }), file('evil.js'))
    assert.equal(await broken(), false, 'a script of the sandbox ran')
    for (const name of ['evil.js', 'evil.html']) {
      assert.equal(await page.evaluate(address => navigator.serviceWorker.register(address).then(() => true, () => false), file(name)), false)
      assert.equal(await page.evaluate(address => { try { new Worker(address); return true } catch { return false } }, file(name)).then(() => broken()), false)
      // As a link from the page, and as an address that somebody has typed.
      for (const go of [address => page.goto(address), address => page.evaluate(to => { location.href = to }, address).then(() => page.waitForURL(address))]) {
        await page.goto(here.origin)
        await go(file(name))
        assert.equal(await broken(), false)
        assert.ok(!(await page.content()).includes('isBroken'), 'the sandbox answered a document')
      }
    }
    for (const address of [`${here.origin}/s/demo/3000/`, `${here.origin}/s/demo/7070/v1/ports/3000/`, `${here.origin}/s/demo/49983/files?path=evil.html&signature=v1_x`]) {
      assert.equal((await page.goto(address)).status(), 404)
    }
    assert.equal((await context.cookies()).length, 1)
    allowed.add('script-src-elem').add('worker-src')
  },

  async shows_hostile_texts_as_text({ page }) {
    up('demo', '--label', 'x=<img src=x onerror=alert(1)>')
    const evil = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
    await opened(page)
    await terminalOf(page, 'demo')
    await run(page, `printf '\\033]0;%s\\007' '${evil}'; printf '%s\\n' '${evil}'`)
    await page.getByRole('tab', { name: '<img src=x' }).waitFor()
    await shows(page, evil)
    await run(page, `printf '\\033]8;;javascript:alert(1)\\007click\\033]8;;\\007\\n'; printf '\\033]52;c;aGk=\\007\\033[21t\\033[6n'`)
    await shows(page, 'click')
    skiff('exec', 'demo', '--', 'echo', evil)
    await page.goto(`${here.origin}/#/sandboxes/demo/commands`)
    await page.getByRole('button', { name: /alert\(1\)/ }).first().click()
    await shows(page, evil)
    await page.goto(`${here.origin}/#/sandboxes/${encodeURIComponent(evil)}`)
    await page.getByRole('heading', { name: /There is no sandbox <img/ }).waitFor()
    assert.equal(await page.locator('img, script:not([src="/console.js"])').count(), 0)
  },

  async refuses_other_origins_and_frames({ page, context }) {
    up('demo')
    await opened(page)
    const server = http.createServer((request, answer) => {
      answer.setHeader('Content-Type', 'text/html')
      answer.end(`<!doctype html><title>foreign</title><iframe src="${here.origin}/"></iframe>`)
    })
    await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
    const foreign = await context.newPage()
    const seen = []
    server.on('request', request => seen.push(request.headers.cookie))
    for (const name of ['127.0.0.1', new URL(here.link).hostname]) {
      await foreign.goto(`http://${name}:${server.address().port}/`)
      const outcome = await foreign.evaluate(async to => {
        const tries = {
          read: () => fetch(`${to}/v1/sandboxes`, { credentials: 'include' }).then(answer => answer.text()),
          stop: () => fetch(`${to}/v1/sandboxes/demo/stop`, { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' }).then(answer => answer.text()),
          socket: () => new Promise((resolve, reject) => {
            const socket = new WebSocket(`${to.replace('http', 'ws')}/s/demo/7070/v1/connect`, ['skiff.v1.binary'])
            socket.onopen = () => resolve('open')
            socket.onerror = () => reject(new Error('refused'))
          })
        }
        const told = {}
        for (const [name, go] of Object.entries(tries)) told[name] = await go().catch(() => 'refused')
        return told
      }, here.origin)
      assert.deepEqual(outcome, { read: 'refused', stop: 'refused', socket: 'refused' })
      const frame = foreign.frames().find(one => one !== foreign.mainFrame())
      assert.ok(!(await frame.content()).includes('console.js'), 'the console is in a frame')
    }
    assert.equal(seen[0], undefined, 'a server on another port of this machine sees the cookie')
    assert.match(skiff('ps'), /running/)
    await foreign.close()
    server.close()
  },

  async survives_hostile_output({ page, context }) {
    up('demo')
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    put('hostile.py', String.raw`import random, sys
out = sys.stdout.buffer
out.write(b"\x1b]0;" + b"t" * 100000 + b"<img src=x onerror=alert(1)>\x07")
out.write(b"\x1b]52;c;ZXZpbA==\x07\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07")
out.write(b"\x1b[99999999999;99999999999H\x1b[" + b"1;" * 50000 + b"m\x1b[2147483647X\x1b[2147483647bx\x1b[2147483647b" + b"".join(b"\x1b[2147483647" + one for one in [b"L", b"M", b"S", b"T", b"I", b"Z", b"@", b"P", b" @", b" A", b"'}", b"'~"]) + b"\x1b[8;9999;9999t")
out.write(b"\x1bP" + b"q" * 200000 + b"\x1b\\" + b"\x1b_" + b"a" * 200000 + b"\x1b\\" + b"\x1b[?1049h\x1b[?1000h\x1b[?2004h\x1b#8")
out.write(random.Random(7).randbytes(300000))
out.write(b"\x18\x1b\\\x1bc\x1b[!p")
out.flush()
print("end-" + str(1 + 1))
`)
    await opened(page)
    await page.evaluate(() => navigator.clipboard.writeText('mine'))
    await terminalOf(page, 'demo')
    await run(page, 'stty -echo; python3 hostile.py; stty sane')
    await shows(page, 'end-2')
    await page.keyboard.press('Control+c')
    await run(page, 'clear; echo alive-$((1 + 1))')
    await shows(page, 'alive-2')
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'mine')
    assert.ok((await page.getByRole('tab').textContent()).length < 60)
    assert.equal(await page.locator('img, script:not([src="/console.js"])').count(), 0)
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
  },

  async shows_hostile_files_as_text({ page }) {
    up('demo')
    const names = ['<b onmouseover=alert(1)>.py', 'a\u202etxt.exe', 'two\nlines.md', '..%2f..%2fetc', '__proto__', 'constructor', '-rf', ' blank ', '#?&=%00.json',
      'ü'.repeat(127), 'javascript:alert(1).js']
    for (const name of names) put(name, `content of it\n`)
    fs.writeFileSync(Buffer.concat([Buffer.from(here.root + '/'), Buffer.from([0xff, 0xfe, 0x2e, 0x6d, 0x64])]), 'not UTF-8\n')
    await opened(page)
    await filesOf(page, 'demo')
    for (const name of names) {
      await page.getByRole('treeitem').filter({ has: page.locator('.name', { hasText: name.trim() }) }).last().click()
      await editor(page, name).waitFor()
      assert.equal(await linesOf(editor(page, name)), 'content of it\n')
    }
    await item(page, /\uFFFD/).click()
    await page.getByText('not UTF-8').waitFor()
    await page.keyboard.press('Tab')
    // Nonsense in every language is shown, and harms nothing. Characters that change the direction of text are marked.
    const ends = ['py', 'ts', 'json', 'yaml', 'md', 'sh', 'cpp', 'go', 'rs', 'html', 'css', 'xml', 'toml', 'cmake', 'diff', 'ini', 'dockerfile', 'java']
    const letters = '(){}[]<>"\'`\\/*#$%&;:=,.-+!?@^|~ \t\nabz019\u202e\u{1F600}'
    let state = 1
    const next = () => (state = (state * 48271) % 2147483647)
    const nonsense = Array.from({ length: 20_000 }, () => [...letters][next() % [...letters].length]).join('')
    for (const end of ends) put(`nonsense/one.${end}`, nonsense + '\n' + '('.repeat(5_000) + '"'.repeat(5_001) + '\n<script>alert(1)</script><img src=x onerror=alert(1)>\n')
    await item(page, /^nonsense/).click()
    for (const end of ends) {
      await item(page, `one.${end}`).click()
      await editor(page, `nonsense/one.${end}`).waitFor()
      await page.keyboard.press('Tab')
    }
    await page.locator('.cm-specialChar').first().waitFor()
    await editor(page, 'nonsense/one.java').focus()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('}\n')
    await page.keyboard.press('Control+s')
    await isSaved(page)
    // CodeMirror puts images without a source beside its marks.
    assert.equal(await page.locator('img:not(.cm-widgetBuffer), img[src], script:not([src="/console.js"])').count(), 0)
  },

  async distrusts_what_an_agent_tells_of_changes({ page }) {
    up('demo')
    put('note', 'text\n')
    const told = ['null', '{"type":"created","path":{"name":1}}', '{"type":"watching","cursor":"high"}', Buffer.from([0x7b])]
    let connections = 0
    await page.routeWebSocket(/files:watch/, socket => {
      for (let times = 0; times < 1000; ++times) socket.send('{"type":"created","path":"../<img src=x onerror=alert(1)>"}')
      socket.send(told[connections++ % told.length])
    })
    await opened(page)
    await filesOf(page, 'demo')
    await page.getByText('What others change is not shown now.').waitFor()
    await item(page, /^note/).click()
    await holds(editor(page, 'note'), 'text\n')
    while (connections <= told.length) await page.waitForTimeout(50)
    put('late', '')
    await page.getByRole('button', { name: 'Refresh' }).click()
    await item(page, /^late/).waitFor()
    assert.equal(await page.getByRole('treeitem').count(), 3)
  }
}
