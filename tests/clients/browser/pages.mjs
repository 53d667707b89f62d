// `node pages.mjs SCENARIO URL DIRECTORY`: opens an application in Chromium and uses it as a person does. It prints "done".
// MODULES names the node_modules that has Playwright. The browser keeps all of its files below DIRECTORY.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const require = createRequire(path.join(process.env.MODULES, 'x'))
const { chromium } = require('playwright-core')
const [scenario, url, directory] = process.argv.slice(2)

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync']

/** Changes a file of the application, which stands in SOURCES. */
function edit(name, from, to) {
  const file = path.join(process.env.SOURCES, name)
  const text = fs.readFileSync(file, 'utf8')
  assert.ok(text.includes(from), `${name} has no ${from}`)
  fs.writeFileSync(file, text.replace(from, to))
}

async function shows(page, text) {
  await page.getByText(text).first().waitFor()
}

const scenarios = {
  async streamlit(page) {
    await page.goto(url)
    await shows(page, 'count is 0')
    await page.getByRole('button', { name: 'more' }).click()
    await shows(page, 'count is 1')
    await page.locator('input[type=file]').setInputFiles({ name: 'f.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') })
    await shows(page, 'got 5 bytes')
  },

  async django(page) {
    await page.goto(url)
    await page.locator('input[name=word]').fill('skiff')
    await page.getByRole('button', { name: 'send' }).click()
    await shows(page, 'thanks for skiff')
    assert.equal(new URL(page.url()).host, new URL(url).host)
  },

  async jupyter(page) {
    await page.goto(url)
    await page.locator('#password_input').fill('secret')
    await page.locator('#login_submit').click()
    await page.waitForURL('**/tree**')
    // As the page's own scripts do it: a POST with the token against forgery, and a kernel's WebSocket.
    const answer = await page.evaluate(async () => {
      const token = document.cookie.match(/_xsrf=([^;]*)/)[1]
      const made = await fetch('/api/kernels', { method: 'POST', headers: { 'X-XSRFToken': token } })
      const kernel = await made.json()
      const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/api/kernels/${kernel.id}/channels?session_id=s`)
      return await new Promise((resolve, reject) => {
        socket.onclose = event => reject(new Error(`closed with ${event.code}`))
        socket.onopen = () => socket.send(JSON.stringify({
          header: { msg_id: '1', msg_type: 'execute_request', username: '', session: 's', version: '5.3', date: '' },
          parent_header: {}, metadata: {}, buffers: [], channel: 'shell',
          content: { code: 'print(6 * 7)', silent: false, store_history: false, user_expressions: {}, allow_stdin: false }
        }))
        socket.onmessage = event => {
          const message = JSON.parse(event.data)
          if (message.msg_type === 'stream') resolve(message.content.text)
        }
      })
    })
    assert.equal(answer, '42\n')
  },

  async vite(page) {
    await page.goto(url)
    await shows(page, 'the first text')
    await page.evaluate(() => { window.sameDocument = true })
    edit('text.js', 'the first text', 'another text')
    await shows(page, 'another text')
    assert.equal(await page.evaluate(() => window.sameDocument), true, 'the page was loaded anew')
  },

  async next(page) {
    await page.goto(url)
    await shows(page, 'the first text')
    await page.getByRole('button', { name: 'client' }).click()
    await shows(page, 'clicked 1')
    await page.getByRole('button', { name: 'server' }).click()
    await shows(page, 'the server has counted 1')
    edit('app/page.jsx', 'the first text', 'another text')
    await shows(page, 'another text')
    await shows(page, 'clicked 1')
  }
}

const context = await chromium.launchPersistentContext(path.join(directory, 'profile'), {
  executablePath: process.env.CHROMIUM,
  args: FLAGS,
  env: { ...process.env, HOME: directory, TMPDIR: directory, XDG_CONFIG_HOME: directory, XDG_CACHE_HOME: directory }
})
try {
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const told = []
  page.on('console', message => told.push(message.text()))
  page.on('requestfailed', request => told.push(`${request.method()} ${request.url()}: ${request.failure()?.errorText}`))
  page.on('response', answer => { if (answer.status() >= 400) told.push(`${answer.status()} ${answer.request().method()} ${answer.url()}`) })
  try {
    await scenarios[scenario](page)
  } catch (error) {
    console.error(told.slice(-30).join('\n'))
    if (process.env.PICTURE) await page.screenshot({ path: process.env.PICTURE })
    throw error
  }
  console.log('done')
} finally {
  await context.close()
}
