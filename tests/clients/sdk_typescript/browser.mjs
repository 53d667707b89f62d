// `node browser.mjs DIRECTORY PAGE...`: opens each page in Chromium, and prints what its `use` returns. MODULES names the
// node_modules that has Playwright. The browser keeps all of its files below DIRECTORY.

import { createRequire } from 'node:module'
import path from 'node:path'

const require = createRequire(path.join(process.env.MODULES, 'x'))
const { chromium } = require('playwright-core')
const [directory, ...pages] = process.argv.slice(2)

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync']

const context = await chromium.launchPersistentContext(path.join(directory, 'profile'), {
  executablePath: process.env.CHROMIUM,
  args: FLAGS,
  env: { ...process.env, HOME: directory, TMPDIR: directory, XDG_CONFIG_HOME: directory, XDG_CACHE_HOME: directory }
})
try {
  context.setDefaultTimeout(60_000)
  for (const address of pages) {
    const page = await context.newPage()
    page.on('console', message => console.error(message.text()))
    page.on('pageerror', error => console.error(error))
    await page.goto(address)
    await page.waitForFunction(() => window.use)
    console.log(await page.evaluate(([url, token]) => window.use(url, token), [process.env.URL, process.env.TOKEN]))
  }
} finally {
  await context.close()
}
