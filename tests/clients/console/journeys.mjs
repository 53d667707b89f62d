// `node journeys.mjs JOURNEY LINK DIRECTORY`: opens the console's link in Chromium, and uses the page as a person does. It prints
// "done". MODULES names the node_modules with Playwright and axe-core; the browser keeps all of its files below DIRECTORY. With
// PICTURES, a directory, it leaves screenshots there.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import net from 'node:net'
import path from 'node:path'

const require = createRequire(path.join(process.env.MODULES, 'x'))
const { chromium } = require('playwright-core')
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')
const [journey, link, directory] = process.argv.slice(2)
const origin = new URL(link).origin
const port = Number(new URL(link).port)
const ROOT = process.env.ROOT

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync']

/** Runs skiff to its end. */
function skiff(...words) {
  const [program, ...before] = JSON.parse(process.env.SKIFF)
  return execFileSync(program, [...before, ...words], { env: JSON.parse(process.env.SKIFF_ENVIRONMENT), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

const children = []
/** Starts skiff: its exit status, when it has ended. Its input stays open. */
function begin(...words) {
  const [program, ...before] = JSON.parse(process.env.SKIFF)
  const child = spawn(program, [...before, ...words], { env: JSON.parse(process.env.SKIFF_ENVIRONMENT), stdio: ['pipe', 'ignore', 'inherit'] })
  children.push(child)
  return new Promise(resolve => child.on('exit', resolve))
}

const up = (name, ...words) => skiff('up', name, '-q', ...words)

/** A way to the console on a port of its own, which can be cut. */
async function tunnel() {
  const open = new Set()
  let isCut = false
  let passed = 0
  const server = net.createServer(client => {
    if (isCut) return client.destroy()
    const behind = net.connect(port, '127.0.0.1')
    for (const one of [client, behind]) {
      open.add(one)
      one.on('error', () => undefined)
      one.on('close', () => { open.delete(one); client.destroy(); behind.destroy() })
    }
    client.pipe(behind)
    behind.on('data', bytes => { passed += bytes.length; if (!client.write(bytes)) behind.pause() })
    client.on('drain', () => behind.resume())
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://${new URL(link).hostname}:${server.address().port}`,
    passed: () => passed,
    cut() { isCut = true; for (const one of open) one.destroy() },
    mend() { isCut = false },
    close() { server.close(); for (const one of open) one.destroy() }
  }
}

async function opened(page, at = origin) {
  await page.goto(link.replace(origin, at))
  await page.getByRole('heading', { name: /Sandboxes/ }).waitFor()
}

/** The row of a sandbox. */
const row = (page, name) => page.getByRole('row', { name: new RegExp(`^${name}\\b`) })

async function terminalOf(page, name, at = origin) {
  await page.goto(`${at}/#/sandboxes/${name}`)
  await page.locator('.xterm-screen').waitFor()
}

/** The lines on the screen. */
const screen = page => page.evaluate(() => [...document.querySelectorAll('.xterm-rows > div')].map(row => row.textContent.replaceAll('\u00a0', ' ').trimEnd()))
const shows = (page, text) => page.waitForFunction(
  wanted => [...document.querySelectorAll('.xterm-rows > div')].some(row => row.textContent.replaceAll('\u00a0', ' ').includes(wanted)), text)

async function run(page, line) {
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.type(line + '\n')
}

/** The numbered lines of the scrollback, page by page: of the last so many pages, by default from the top. */
async function numbers(page, last = 300) {
  await page.locator('.xterm-helper-textarea').focus()
  const all = []
  for (let pages = 0; pages < last; ++pages) await page.keyboard.press('Shift+PageUp')
  let before = ''
  for (;;) {
    await page.waitForTimeout(60)  // a frame, in which the screen is drawn
    const lines = await screen(page)
    if (lines.join('\n') === before) return all
    before = lines.join('\n')
    const found = lines.filter(line => /^n\d+$/.test(line)).map(line => Number(line.slice(1)))
    // Neighbours on a screen are neighbours: none is missing, none is there twice.
    found.forEach((one, index) => assert.ok(index === 0 || one === found[index - 1] + 1, `${one} after ${found[index - 1]}`))
    if (found.length && all.length) assert.ok(found[0] <= all.at(-1) + 1, `${found[0]} after ${all.at(-1)}`)
    all.push(...found.filter(one => all.length === 0 || one > all.at(-1)))
    await page.keyboard.press('Shift+PageDown')
  }
}

function isComplete(found, count) {
  assert.equal(found[0], 1)
  assert.equal(found.at(-1), count)
  assert.equal(found.length, count)
}

/** No finding of axe-core in either theme. */
async function accessible(page, name) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme })
    await page.evaluate(axe)
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
    const told = violations.map(one => `${one.id}: ${one.nodes.map(node => `${node.html}\n    ${node.failureSummary}`).join('\n')}`)
    if (told.length > 0) console.error(told.join('\n'))
    assert.deepEqual(told, [], `${name}, ${colorScheme}`)
    if (!process.env.PICTURES) continue
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 })
      await page.waitForTimeout(200)
      await page.screenshot({ path: path.join(process.env.PICTURES, `${name}-${colorScheme}-${width}.png`) })
    }
  }
  await page.setViewportSize({ width: 360, height: 800 })
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: 360 px are too narrow`)
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.emulateMedia({ colorScheme: 'light' })
}

const journeys = {
  async opens_by_a_link_that_works_once({ page, context }) {
    await opened(page)
    assert.equal(page.url(), `${origin}/`)
    await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
    await page.getByText('skiff up demo').waitFor()
    await accessible(page, 'empty')
    assert.equal(await page.evaluate(() => document.cookie), '', 'a script sees the cookie')
    const other = await context.browser().newContext()
    const stranger = await other.newPage()
    const answer = await stranger.goto(link)
    assert.equal(answer.status(), 401)
    await stranger.getByText('works only once').waitFor()
    await stranger.goto(origin)
    await stranger.getByRole('heading', { name: 'This browser has no session' }).waitFor()
    await accessible(stranger, 'no-session')
    await other.close()
  },

  async shows_what_the_command_line_does_meanwhile({ page }) {
    await opened(page)
    await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
    up('demo', '--ttl', '2h')
    await row(page, 'demo').getByText('running').waitFor()
    await row(page, 'demo').getByText(/^in 1 h 5/).waitFor()
    up('second')
    skiff('stop', 'second', '-q')
    await row(page, 'second').getByText('stopped').waitFor()
    await accessible(page, 'list')
    skiff('rm', 'second', '-q')
    await row(page, 'second').waitFor({ state: 'detached' })
  },

  async steers_a_sandbox({ page }) {
    up('demo')
    await opened(page)
    let letGo
    const held = new Promise(resolve => { letGo = resolve })
    await page.route('**/stop', async route => { await held; await route.continue() })
    await page.getByRole('button', { name: 'Stop demo' }).click()
    await row(page, 'demo').getByText('Stopping…').waitFor()
    letGo()
    await row(page, 'demo').getByText('stopped').waitFor()
    await page.getByRole('button', { name: 'Start demo' }).click()
    await row(page, 'demo').getByText('running').waitFor()
    await page.getByRole('button', { name: 'Extend demo' }).click()
    await accessible(page, 'extend')
    await page.getByLabel('8 hours').check()
    await page.getByRole('button', { name: 'Extend', exact: true }).click()
    await row(page, 'demo').getByText(/^in [78] h/).waitFor()
    await page.getByRole('button', { name: 'Remove demo' }).click()
    await page.getByRole('dialog').getByText('files are deleted').waitFor()
    await page.keyboard.press('Escape')
    await row(page, 'demo').waitFor()
    await page.getByRole('button', { name: 'Remove demo' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
    assert.equal(skiff('ps', '-q').trim(), '')
  },

  async works_by_the_keyboard_alone({ page }) {
    up('demo')
    await opened(page)
    await row(page, 'demo').waitFor()
    const name = () => page.evaluate(() => document.activeElement.getAttribute('aria-label') || document.activeElement.textContent)
    const reach = async wanted => {
      for (let steps = 0; steps < 20; ++steps) {
        if (await name() === wanted) return
        await page.keyboard.press('Tab')
      }
      assert.fail(`the key Tab does not reach ${wanted}, but ${await name()}`)
    }
    await reach('Stop demo')
    await reach('Extend demo')
    await reach('Remove demo')
    await page.evaluate(() => document.activeElement.blur())
    await reach('demo')
    await page.keyboard.press('Enter')
    await page.locator('.xterm-screen').waitFor()
    await run(page, 'echo $((6 * 7))')
    await shows(page, '42')
    await page.keyboard.press('F6')
    assert.match(await name(), /^1: /)
    await reach('New terminal')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: /^2: / }).waitFor()
  },

  async runs_a_command_in_a_terminal({ page }) {
    up('demo')
    await opened(page)
    await page.getByRole('link', { name: 'demo' }).click()
    await page.locator('.xterm-screen').waitFor()
    await run(page, 'echo hello from $((6 * 7)); pwd; printf "\\033[31mred\\033[0m\\n"')
    await shows(page, 'hello from 42')
    await shows(page, process.env.WORK)
    await accessible(page, 'terminal')
    const columns = Number(await page.evaluate(() => document.querySelector('.xterm-rows').childElementCount))
    assert.ok(columns > 10)
    await page.setViewportSize({ width: 600, height: 700 })
    await run(page, 'clear; stty size')
    await page.waitForFunction(() => [...document.querySelectorAll('.xterm-rows > div')].some(row => /^\d+ \d\d\s*$/.test(row.textContent.replaceAll('\u00a0', ' '))))
    await page.setViewportSize({ width: 1280, height: 800 })
    await run(page, 'clear; echo needle-$((1 + 1)); seq 1 300; echo needle-$((2 + 2))')
    await shows(page, 'needle-4')
    await page.keyboard.press('Control+Shift+F')
    await page.keyboard.type('needle-2')
    await shows(page, 'needle-2')
    await page.keyboard.type('x')
    await page.getByText('Not found').waitFor()
    await page.keyboard.press('Backspace')
    await page.getByText('Not found').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await run(page, 'exit 3')
    await page.getByText('The shell has ended (exit code 3)').waitFor()
    await page.getByRole('status').getByRole('button', { name: 'New terminal' }).click()
    await run(page, 'echo again')
    await shows(page, 'again')
  },

  async keeps_a_terminal_over_a_reload_under_output({ page }) {
    up('demo')
    await opened(page)
    await terminalOf(page, 'demo')
    await run(page, 'for i in $(seq 1 3000); do echo n$i; done; echo all-done')
    await shows(page, 'n')
    for (let times = 0; times < 3; ++times) {
      await page.reload()
      await page.locator('.xterm-screen').waitFor()
    }
    await shows(page, 'all-done')
    isComplete(await numbers(page), 3000)
    assert.equal(await page.getByRole('tab').count(), 1, 'a reload has opened another terminal')
    await run(page, 'echo typed-$((1 + 1))')
    await shows(page, 'typed-2')
  },

  async keeps_a_terminal_over_a_cut_connection({ page }) {
    const way = await tunnel()
    up('demo')
    await opened(page, way.origin)
    await terminalOf(page, 'demo', way.origin)
    await run(page, 'for i in $(seq 1 3000); do echo n$i; [ $((i % 600)) = 0 ] && sleep 0.5; done; echo all-done')
    for (let times = 0; times < 3; ++times) {
      const before = way.passed()
      while (way.passed() === before) await page.waitForTimeout(20)
      way.cut()
      await page.getByText('The connection is cut.').waitFor()
      if (times === 0) await page.keyboard.type('echo kept-$((2 + 3))\n')
      way.mend()
      await page.getByText('The connection is cut.').waitFor({ state: 'detached' })
    }
    await shows(page, 'all-done')
    await shows(page, 'kept-5')
    isComplete(await numbers(page), 3000)
    way.close()
  },

  async keeps_a_full_screen_program_over_a_reload_and_a_resize({ page }) {
    up('demo')
    fs.writeFileSync(path.join(ROOT, 'text'), Array.from({ length: 200 }, (_, index) => `line ${index + 1}\n`).join(''))
    await opened(page)
    await terminalOf(page, 'demo')
    await run(page, 'echo before-$((1 + 1)); busybox vi text')
    await shows(page, 'line 9')
    await page.reload()
    await page.locator('.xterm-screen').waitFor()
    await shows(page, 'line 9')
    assert.equal((await screen(page))[0], 'line 1')
    const rows = (await screen(page)).length
    await page.setViewportSize({ width: 700, height: 500 })
    // vi forgets keys that come with the new size: its last line is the sign that it has drawn anew.
    await page.waitForFunction(before => {
      const lines = [...document.querySelectorAll('.xterm-rows > div')]
      return lines.length < before && lines.at(-1).textContent.includes('1/200')
    }, rows)
    const [last, glass] = await page.evaluate(() => ['.xterm-rows > div:last-child', '.glass'].map(one => document.querySelector(one).getBoundingClientRect().bottom))
    assert.ok(last <= glass, `the last line ends at ${last}, its frame at ${glass}`)
    await page.locator('.xterm-helper-textarea').focus()
    await page.keyboard.type('Gonew-text')
    await page.keyboard.press('Escape')
    // vi waits a moment whether more keys follow Escape.
    await shows(page, '- text [Modified]')
    await page.keyboard.type(':wq\n')
    await run(page, 'tail -n 1 text; echo done-$((1 + 1))')
    await shows(page, 'done-2')
    assert.match(fs.readFileSync(path.join(ROOT, 'text'), 'utf8'), /line 200\nnew-text\n$/)
    // Nothing of what vi asked the terminal for in the first page was answered by the second.
    assert.ok((await screen(page)).every(line => !/\^\[|\dR$/.test(line)), (await screen(page)).join('\n'))
  },

  async keeps_up_with_a_flood({ page }) {
    up('demo')
    await opened(page)
    await terminalOf(page, 'demo')
    await run(page, 'seq -f n%.0f 1 600000; echo all-$((1 + 1))')
    await shows(page, 'all-2')
    // Its last pages are whole.
    const found = await numbers(page, 40)
    assert.equal(found.at(-1), 600000)
    assert.ok(found.length > 1000, `${found.length} lines are kept`)
    await run(page, 'echo alive-$((1 + 1))')
    await shows(page, 'alive-2')
  },

  async follows_commands_answers_and_kills_them({ page }) {
    up('demo')
    skiff('exec', 'demo', '--', 'printf', '\\033[32mgreen\\033[0m\\n')
    const asking = begin('exec', '-i', 'demo', '--', 'sh', '-c', 'echo your name?; read name; echo hello $name; exit 3')
    const sleeping = begin('exec', 'demo', '--', 'sleep', '100000')
    await opened(page)
    await page.goto(`${origin}/#/sandboxes/demo`)
    await page.getByRole('link', { name: 'Commands' }).click()
    await page.getByRole('button', { name: /printf.*exit code 0/ }).click()
    await shows(page, 'green')
    await page.getByRole('button', { name: /your name.*waiting for input/ }).click()
    await shows(page, 'your name?')
    await page.getByLabel('It waits for input').fill('Ada')
    await accessible(page, 'commands')
    await page.getByRole('button', { name: 'Send line' }).click()
    await shows(page, 'hello Ada')
    await page.getByText('Ended: exit code 3').waitFor()
    await page.getByRole('button', { name: /sleep 100000/ }).click()
    await page.getByRole('button', { name: 'Kill', exact: true }).click()
    await page.getByText('Ended: SIGTERM').waitFor()
    assert.equal(await asking, 3)
    assert.notEqual(await sleeping, 0)
  },

  async shows_edits_and_finds_files({ page }) {
    up('demo')
    const evil = '<img src=x onerror=alert(1)>'
    fs.mkdirSync(path.join(ROOT, 'src/deep'), { recursive: true })
    fs.writeFileSync(path.join(ROOT, 'src/main.py'), 'one\ntwo\nneedle here\n')
    fs.writeFileSync(path.join(ROOT, 'src/deep', `${evil} #?%.txt`), 'hostile needle\n')
    fs.writeFileSync(path.join(ROOT, 'windows.txt'), 'a\r\nb\r\n')
    fs.writeFileSync(path.join(ROOT, 'binary'), Buffer.from([0, 1, 2]))
    fs.writeFileSync(path.join(ROOT, 'empty'), '')
    await opened(page)
    await page.goto(`${origin}/#/sandboxes/demo`)
    await page.getByRole('link', { name: 'Files' }).click()
    const item = name => page.getByRole('treeitem', { name })
    const content = name => fs.readFileSync(path.join(ROOT, name), 'utf8')
    // By the keyboard: into the tree, down to src, open it, and on to its file.
    await item(/^src/).waitFor()
    await item('/').focus()
    for (let steps = 0; steps < 20 && !(await item(/^src/).evaluate(one => one === document.activeElement)); ++steps) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowRight')
    await item(/^main.py/).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    const text = page.getByRole('textbox', { name: 'src/main.py' })
    await text.waitFor()
    assert.equal(await text.inputValue(), content('src/main.py'))
    await text.fill('one\n2\nneedle here\n')
    // An edit that was not saved stays while something else is shown.
    await item(/^empty/).click()
    await page.getByRole('textbox', { name: 'empty' }).fill('not empty')
    await page.keyboard.press('Control+s')
    await page.getByText('Saved.', { exact: true }).waitFor()
    assert.equal(content('empty'), 'not empty')
    await page.getByRole('link', { name: 'Commands' }).click()
    await page.getByRole('link', { name: 'Files' }).click()
    await item(/^src/).click()
    await item(/^main.py/).click()
    assert.equal(await text.inputValue(), 'one\n2\nneedle here\n')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved.', { exact: true }).waitFor()
    assert.equal(content('src/main.py'), 'one\n2\nneedle here\n')
    // The ends of lines stay what they are.
    await item(/^windows.txt/).click()
    await page.getByRole('textbox', { name: 'windows.txt' }).fill('a\nB\n')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved.', { exact: true }).waitFor()
    assert.equal(content('windows.txt'), 'a\r\nB\r\n')
    await item(/^binary/).click()
    await page.getByText('not a text').waitFor()
    await item(/^deep/).click()
    await page.getByRole('searchbox').fill('NEEDLE')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('1 line', { exact: true }).waitFor()
    await page.getByRole('button', { name: /hostile needle/ }).click()
    await page.getByRole('textbox', { name: evil }).waitFor()
    await page.waitForFunction(() => {
      const one = document.querySelector('#text')
      return document.activeElement === one && one.value.slice(one.selectionStart, one.selectionEnd) === 'hostile needle'
    })
    await accessible(page, 'files')
    await page.getByLabel('Regular expression').check()
    await page.getByRole('searchbox').fill('(')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('alert').waitFor()
    assert.equal(await page.locator('img').count(), 0)
  },

  async shows_both_texts_of_a_conflict({ page }) {
    up('demo')
    const file = path.join(ROOT, 'note')
    fs.writeFileSync(file, 'first\n')
    await opened(page)
    await page.goto(`${origin}/#/sandboxes/demo/files`)
    await page.getByRole('treeitem', { name: /^note/ }).click()
    const mine = page.getByRole('textbox', { name: /^note$|^Your text$/ })
    const theirs = page.getByRole('textbox', { name: 'The file now' })
    const save = () => page.getByRole('button', { name: 'Save', exact: true }).click()
    await mine.fill('mine\n')
    fs.writeFileSync(file, 'theirs\n')
    await save()
    await page.getByText('was changed meanwhile').waitFor()
    assert.equal(await theirs.inputValue(), 'theirs\n')
    assert.equal(await mine.inputValue(), 'mine\n')
    assert.equal(fs.readFileSync(file, 'utf8'), 'theirs\n')
    await accessible(page, 'conflict')
    // The file changes once more: the new text is shown, and nothing is lost.
    fs.writeFileSync(file, 'theirs again\n')
    await page.getByRole('button', { name: 'Replace the file' }).click()
    await page.waitForFunction(() => document.querySelector('#theirs').value === 'theirs again\n')
    await page.getByRole('button', { name: 'Replace the file' }).click()
    await page.getByText('Saved.', { exact: true }).waitFor()
    assert.equal(fs.readFileSync(file, 'utf8'), 'mine\n')
    await mine.fill('more of mine\n')
    fs.writeFileSync(file, 'theirs\n')
    await save()
    await page.getByRole('button', { name: 'Take the file' }).click()
    assert.equal(await mine.inputValue(), 'theirs\n')
    await mine.fill('kept\n')
    fs.rmSync(file)
    await save()
    await page.getByText('was deleted meanwhile').waitFor()
    await page.getByRole('button', { name: 'Write your text to a new file' }).click()
    await page.getByText('Saved.', { exact: true }).waitFor()
    assert.equal(fs.readFileSync(file, 'utf8'), 'kept\n')
  },

  async uploads_by_drop_and_downloads({ page }) {
    up('demo')
    fs.mkdirSync(path.join(ROOT, 'into'))
    await opened(page)
    await page.goto(`${origin}/#/sandboxes/demo/files`)
    await page.getByRole('treeitem', { name: /^into/ }).click()
    const drop = (name, size, letter) => page.evaluate(([name, size, letter]) => {
      const data = new DataTransfer()
      data.items.add(new File([letter.repeat(size)], name))
      document.querySelector('.files').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    }, [name, size, letter])
    await drop('a b#.txt', 100_000, 'x')
    await page.getByText('Uploaded').waitFor()
    await page.getByRole('treeitem', { name: /^a b#.txt/ }).waitFor()
    const file = path.join(ROOT, 'into/a b#.txt')
    assert.equal(fs.readFileSync(file, 'utf8'), 'x'.repeat(100_000))
    // A file that is there is replaced only if the person says so.
    await page.getByRole('button', { name: 'Dismiss a b#.txt' }).click()
    await drop('a b#.txt', 10, 'y')
    await page.getByText('There is a file of this name').waitFor()
    assert.equal(fs.readFileSync(file, 'utf8').length, 100_000)
    await page.getByRole('button', { name: 'Replace a b#.txt' }).click()
    await page.getByText('Uploaded').waitFor()
    assert.equal(fs.readFileSync(file, 'utf8'), 'y'.repeat(10))
    // The browser sends slowly, so the upload is there to be cancelled.
    const slow = await page.context().newCDPSession(page)
    await slow.send('Network.enable')
    await slow.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 100_000 })
    await drop('large', 50_000_000, 'z')
    await page.getByRole('progressbar', { name: 'Progress of large' }).waitFor()
    await page.getByText(/of 47.7 MiB/).waitFor()
    await accessible(page, 'upload')
    await page.getByRole('button', { name: 'Cancel large' }).click()
    await page.getByText('Upload cancelled').waitFor()
    await slow.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 })
    assert.deepEqual(fs.readdirSync(path.join(ROOT, 'into')), ['a b#.txt'])
    const saved = async button => {
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button, exact: true }).click()])
      return { name: download.suggestedFilename(), path: await download.path() }
    }
    const archive = await saved('Download as tar')
    assert.equal(archive.name, 'into.tar')
    assert.match(execFileSync('tar', ['-tf', archive.path], { encoding: 'utf8' }), /a b#.txt/)
    await page.getByRole('treeitem', { name: /^a b#.txt/ }).click()
    const one = await saved('Download')
    assert.equal(fs.readFileSync(one.path, 'utf8'), 'y'.repeat(10))
    await page.getByRole('treeitem', { name: /^into/ }).click()
    fs.rmSync(path.join(ROOT, 'into'), { recursive: true })
    await page.getByRole('button', { name: 'Download as tar' }).click()
    await page.getByText('Download failed').waitFor()
  },

  async waits_for_a_port_and_opens_its_preview({ page, context }) {
    up('demo')
    const free = net.createServer()
    await new Promise(resolve => free.listen(0, '127.0.0.1', resolve))
    const wanted = free.address().port
    await new Promise(resolve => free.close(resolve))
    // It answers with the cookies that it gets, and its page runs a script.
    fs.writeFileSync(path.join(ROOT, 'server.py'), `import http.server, sys
class Shown(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "own=1")
        self.end_headers()
        self.wfile.write(b"<title>app</title><p>cookies: [%s]</p><p>referrer: [%s]</p><script>document.title = 'script ' + (opener === null)</script>"
                         % ((self.headers["Cookie"] or "").encode(), (self.headers["Referer"] or "").encode()))
    def log_message(self, *words):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Shown).serve_forever()
`)
    await opened(page)
    await page.goto(`${origin}/#/sandboxes/demo`)
    await page.getByRole('link', { name: 'Ports' }).click()
    await page.getByLabel('Wait for port').fill(String(wanted))
    await page.getByRole('button', { name: 'Wait', exact: true }).click()
    await page.getByRole('listitem').filter({ hasText: String(wanted) }).getByText('nothing listens yet').waitFor()
    void begin('exec', 'demo', '--', 'python3', 'server.py', String(wanted))
    await page.getByText(`Port ${wanted} listens now.`).waitFor()
    const [preview] = await Promise.all([context.waitForEvent('page'), page.getByRole('button', { name: `Open port ${wanted}` }).click()])
    await preview.waitForFunction(() => document.title === 'script true')
    await preview.getByText('cookies: []').waitFor()
    await preview.getByText('referrer: []').waitFor()
    assert.match(new URL(preview.url()).host, new RegExp(`^${wanted}-demo\\.skiff-previews-[0-9a-f]+\\.localhost:${port}$`))
    assert.ok(!preview.url().includes('skiff-preview='), 'the link stays in the address')
    await preview.reload()
    await preview.getByText('cookies: [own=1]').waitFor()
    // The program's page is another site than the console's.
    assert.equal(await preview.evaluate(to => fetch(`${to}/v1/sandboxes`, { credentials: 'include' }).then(answer => answer.text()).catch(() => 'refused'), origin), 'refused')
    await preview.close()
    await page.getByRole('link', { name: new RegExp(`^${wanted}-demo`) }).waitFor()
    await accessible(page, 'ports')
  },

  async plots_what_a_sandbox_uses({ page }) {
    up('demo')
    await opened(page)
    await page.goto(`${origin}/#/sandboxes/demo`)
    await page.getByRole('link', { name: 'Stats' }).click()
    // Processes are known only to a control group.
    for (const name of ['Processor', 'Memory']) await page.getByRole('img', { name: new RegExp(`^${name} over the last five minutes`) }).waitFor()
    const points = () => page.evaluate(() => [...document.querySelectorAll('.values')].map(one => one.getAttribute('d').split(/[ML]/).length - 1))
    await page.waitForFunction(() => document.querySelector('.values').getAttribute('d').includes('L'))
    // Other views do not lose what was measured.
    const before = await points()
    await page.getByRole('link', { name: 'Commands' }).click()
    await page.getByRole('link', { name: 'Stats' }).click()
    await page.locator('.values').first().waitFor()
    assert.ok((await points())[0] >= before[0])
    await accessible(page, 'stats')
    // Limits are lines: at their heights, within the plot.
    await page.route('**/v1/stats', route => route.fulfill({ json: { cpu: { cores: 4, limit_millis: 500, used_ms: 10 },
      memory: { used_bytes: 50 << 20, limit_bytes: 100 << 20 }, pids: { used: 10, limit: 1000000 } } }))
    await page.getByRole('img', { name: /^Memory .*now 50.0 MiB.*limit 100 MiB$/ }).waitFor()
    await page.getByRole('img', { name: /^Processes .*now 10 processes.*far above/ }).waitFor()
    const at = await page.locator('.limit').evaluateAll(all => all.map(one => Number(one.getAttribute('y1'))))
    assert.ok(at.length >= 1 && at.every(one => one >= 0 && one <= 80), at.join())
    await page.unroute('**/v1/stats')
    await page.route('**/v1/stats', route => route.fulfill({ json: { cpu: { cores: 4, limit_millis: null, used_ms: null },
      memory: { used_bytes: 1 << 20, limit_bytes: null }, pids: { used: 3, limit: null } } }))
    await page.getByRole('img', { name: /^Memory .*no limit/ }).waitFor()
  },

  async runs_no_script_of_a_sandbox({ page, context }) {
    up('demo')
    const script = 'window.isBroken = true; document.title = "broken"'
    fs.writeFileSync(path.join(ROOT, 'evil.html'), `<!doctype html><script>${script}</script>`)
    fs.writeFileSync(path.join(ROOT, 'evil.js'), script)
    await opened(page)
    const file = name => `${origin}/s/demo/7070/v1/sessions/default/files/${name}`
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
        await page.goto(origin)
        await go(file(name))
        assert.equal(await broken(), false)
        assert.ok(!(await page.content()).includes('isBroken'), 'the sandbox answered a document')
      }
    }
    for (const address of [`${origin}/s/demo/3000/`, `${origin}/s/demo/7070/v1/ports/3000/`, `${origin}/s/demo/49983/files?path=evil.html&signature=v1_x`]) {
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
    await page.goto(`${origin}/#/sandboxes/demo/commands`)
    await page.getByRole('button', { name: /alert\(1\)/ }).first().click()
    await shows(page, evil)
    await page.goto(`${origin}/#/sandboxes/${encodeURIComponent(evil)}`)
    await page.getByRole('heading', { name: /There is no sandbox <img/ }).waitFor()
    assert.equal(await page.locator('img, script:not([src="/console.js"])').count(), 0)
  },

  async refuses_other_origins_and_frames({ page, context }) {
    up('demo')
    await opened(page)
    const http = await import('node:http')
    const server = http.createServer((request, answer) => {
      answer.setHeader('Content-Type', 'text/html')
      answer.end(`<!doctype html><title>foreign</title><iframe src="${origin}/"></iframe>`)
    })
    await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
    const foreign = await context.newPage()
    const seen = []
    server.on('request', request => seen.push(request.headers.cookie))
    for (const name of ['127.0.0.1', new URL(link).hostname]) {
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
      }, origin)
      assert.deepEqual(outcome, { read: 'refused', stop: 'refused', socket: 'refused' })
      const frame = foreign.frames().find(one => one !== foreign.mainFrame())
      assert.ok(!(await frame.content()).includes('console.js'), 'the console is in a frame')
    }
    assert.equal(seen[0], undefined, 'a server on another port of this machine sees the cookie')
    assert.match(skiff('ps'), /running/)
    await foreign.close()
    server.close()
  },

  async says_when_a_cookie_is_not_valid({ page, context }) {
    up('demo')
    await opened(page)
    await row(page, 'demo').waitFor()
    const [cookie] = await context.cookies()
    assert.ok(cookie.httpOnly && cookie.sameSite === 'Strict')
    await context.addCookies([{ ...cookie, value: '0'.repeat(64) }])
    await page.getByRole('heading', { name: 'This browser has no session' }).waitFor()
    await page.getByText('skiff console', { exact: true }).last().waitFor()
  },

  async says_when_the_console_has_ended({ page }) {
    up('demo')
    await opened(page)
    await row(page, 'demo').waitFor()
    process.kill(Number(process.env.CONSOLE), 'SIGKILL')
    await page.getByRole('alert').getByText('The console does not answer').waitFor()
    await row(page, 'demo').waitFor()
  }
}

/** Directives of the page's policy that a journey breaks on purpose. */
const allowed = new Set()
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS,
  env: { ...process.env, HOME: directory, TMPDIR: directory, XDG_CONFIG_HOME: directory, XDG_CACHE_HOME: directory } })
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  context.setDefaultTimeout(Number(process.env.PATIENCE ?? 60_000))
  const told = []
  const broken = []
  await context.exposeBinding('tellViolation', (_, text) => broken.push(text))
  await context.addInitScript(() => addEventListener('securitypolicyviolation', event =>
    window.tellViolation(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`)))
  const page = await context.newPage()
  page.on('dialog', dialog => { broken.push(`a dialog: ${dialog.message()}`); dialog.dismiss() })
  page.on('pageerror', error => broken.push(`an error of the page: ${error.stack}`))
  page.on('console', message => told.push(message.text()))
  try {
    await journeys[journey]({ page, context })
    assert.deepEqual(broken.filter(one => !allowed.has(one.split(' ')[0])), [])
  } catch (error) {
    console.error(told.slice(-30).join('\n'))
    console.error(broken.join('\n'))
    console.error(await screen(page).catch(() => ''))
    if (process.env.PICTURES) await page.screenshot({ path: path.join(process.env.PICTURES, `${journey}-failed.png`) }).catch(() => undefined)
    throw error
  }
  console.log('done')
} finally {
  for (const child of children) child.kill()
  await browser.close()
}
