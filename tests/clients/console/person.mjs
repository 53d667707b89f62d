// What a person does with the page, in words for the journeys.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import net from 'node:net'
import path from 'node:path'

const require = createRequire(path.join(process.env.MODULES, 'x'))
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

/** Where the journey takes place: the console's link and its process, and the directory of the sandbox `demo`, as this machine
 * sees it and as its commands do. */
export const here = { link: '', origin: '', port: 0, console: 0, command: [], environment: {}, root: '', work: '', children: [], said: [] }
/** Directives of the page's policy that the journey breaks on purpose. */
export const allowed = new Set()

export function begins(place) {
  Object.assign(here, place, { origin: new URL(place.link).origin, port: Number(new URL(place.link).port), children: [], said: [] })
  allowed.clear()
}

/** Runs skiff to its end. */
export function skiff(...words) {
  const [program, ...before] = here.command
  return execFileSync(program, [...before, ...words], { env: here.environment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Starts skiff: its exit status, when it has ended. Its input stays open. */
export function begin(...words) {
  const [program, ...before] = here.command
  const child = spawn(program, [...before, ...words], { env: here.environment, stdio: ['pipe', 'ignore', 'inherit'] })
  here.children.push(child)
  return new Promise(resolve => child.on('exit', resolve))
}

/** Tells the person who runs the journeys. */
export const report = text => here.said.push(text)

export const up = (name, ...words) => skiff('up', name, '-q', ...words)

/** A port of this machine on which nothing listens. */
export async function freePort() {
  const free = net.createServer()
  await new Promise(resolve => free.listen(0, '127.0.0.1', resolve))
  const { port } = free.address()
  await new Promise(resolve => free.close(resolve))
  return port
}

/** A way to the console on a port of its own, which can be cut. */
export async function tunnel() {
  const open = new Set()
  let isCut = false
  let passed = 0
  const server = net.createServer(client => {
    if (isCut) return client.destroy()
    const behind = net.connect(here.port, '127.0.0.1')
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
    origin: `http://${new URL(here.link).hostname}:${server.address().port}`,
    passed: () => passed,
    cut() { isCut = true; for (const one of open) one.destroy() },
    mend() { isCut = false },
    close() { server.close(); for (const one of open) one.destroy() }
  }
}

export async function opened(page, at = here.origin) {
  await page.goto(here.link.replace(here.origin, at))
  await page.getByRole('heading', { name: /Sandboxes/ }).waitFor()
}

/** The row of a sandbox. */
export const row = (page, name) => page.getByRole('row', { name: new RegExp(`^${name}\\b`) })

export async function terminalOf(page, name, at = here.origin) {
  await page.goto(`${at}/#/sandboxes/${name}`)
  await page.locator('.xterm-screen').waitFor()
}

/** The lines on the screen. */
export const screen = page => page.evaluate(() => [...document.querySelectorAll('.xterm-rows > div')].map(row => row.textContent.replaceAll('\u00a0', ' ').trimEnd()))
export const shows = (page, text) => page.waitForFunction(
  wanted => [...document.querySelectorAll('.xterm-rows > div')].some(row => row.textContent.replaceAll('\u00a0', ' ').includes(wanted)), text)

export async function run(page, line) {
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.type(line + '\n')
}

/** The numbered lines of the scrollback, page by page: of the last so many pages, by default from the top. */
export async function numbers(page, last = 300) {
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

export function isComplete(found, count) {
  assert.equal(found[0], 1)
  assert.equal(found.at(-1), count)
  assert.equal(found.length, count)
}

/** No finding of axe-core in either theme. */
export async function accessible(page, name) {
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

/** The editor of a file. */
export const editor = (page, name) => page.getByRole('textbox', { name, exact: true })
/** Its lines, as they are shown. */
export const linesOf = one => one.evaluate(element => [...element.querySelectorAll('.cm-line')].map(line => line.textContent).join('\n'))
/** Waits until it shows this text. */
export async function holds(one, text) {
  const element = await one.elementHandle()
  await one.page().waitForFunction(
    ([shown, wanted]) => [...shown.querySelectorAll('.cm-line')].map(line => line.textContent).join('\n') === wanted, [element, text])
  // A handle keeps the whole document in memory.
  await element.dispose()
}
/** Writes this instead of all that is there. */
export async function rewrite(page, one, text) {
  await one.focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}
export const save = page => page.getByRole('button', { name: 'Save', exact: true }).click()
export const isSaved = page => page.getByText('Saved.', { exact: true }).waitFor()
/** A row of the tree of files. */
export const item = (page, name) => page.getByRole('treeitem', { name })
export async function filesOf(page, name, at = here.origin) {
  await page.goto(`${at}/#/sandboxes/${name}/files`)
  await item(page, '/').waitFor()
}
/** Puts a file into the sandbox `demo`. */
export function put(name, content) {
  fs.mkdirSync(path.dirname(path.join(here.root, name)), { recursive: true })
  fs.writeFileSync(path.join(here.root, name), content)
}
export const content = name => fs.readFileSync(path.join(here.root, name), 'utf8')
