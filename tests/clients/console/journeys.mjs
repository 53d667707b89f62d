// `node journeys.mjs`: opens links of consoles in Chromium, and uses the page as a person does. Each line of its input names a
// journey and where it takes place, and is answered with a line: how it failed, or null, and what it has measured. MODULES names the node_modules with
// Playwright and axe-core; the browser keeps all of its files below HOME. With PICTURES, a directory, screenshots are left there.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import readline from 'node:readline'
import { fileURLToPath } from 'node:url'

import { allowed, begins, here, screen } from './person.mjs'

const { chromium } = createRequire(path.join(process.env.MODULES, 'x'))('playwright-core')

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage']

const journeys = {}
for (const file of fs.readdirSync(new URL('journeys', import.meta.url))) {
  Object.assign(journeys, (await import(`./journeys/${file}`)).default)
}

/** How the journey failed; null: it did not. No page may break its own policy, open a dialog of the browser, or throw. */
async function walk(browser, journey) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  context.setDefaultTimeout(Number(process.env.PATIENCE ?? 60_000))
  const told = []
  const broken = []
  await context.exposeBinding('tellViolation', (_, text) => broken.push(text))
  await context.addInitScript(() => addEventListener('securitypolicyviolation', event =>
    window.tellViolation(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`)))
  context.on('page', page => {
    page.on('dialog', dialog => {
      if (dialog.type() !== 'beforeunload') broken.push(`a dialog: ${dialog.message()}`)
      dialog.type() === 'beforeunload' ? dialog.accept() : dialog.dismiss()
    })
    page.on('pageerror', error => broken.push(`an error of the page: ${error.stack}`))
    page.on('console', message => told.push(message.text()))
  })
  const page = await context.newPage()
  try {
    await journeys[journey]({ page, context })
    assert.deepEqual(broken.filter(one => !allowed.has(one.split(' ')[0])), [])
    return null
  } catch (error) {
    if (process.env.PICTURES) await page.screenshot({ path: path.join(process.env.PICTURES, `${journey}-failed.png`) }).catch(() => undefined)
    const lines = await screen(page).catch(() => [])
    return [error.stack, ...told.slice(-30), ...broken, ...lines.filter(Boolean)].join('\n')
  } finally {
    await context.close()
    for (const child of here.children) child.kill()
  }
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS,
  env: { ...process.env, TMPDIR: process.env.HOME, FONTCONFIG_FILE: fileURLToPath(new URL('fonts.conf', import.meta.url)), XDG_CONFIG_HOME: process.env.HOME, XDG_CACHE_HOME: process.env.HOME } })
try {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { journey, ...place } = JSON.parse(line)
    begins(place)
    console.log(JSON.stringify({ failure: await walk(browser, journey), said: here.said }))
    if (!browser.isConnected()) break
  }
} finally {
  await browser.close()
}
