import assert from 'node:assert/strict'
import fs from 'node:fs'

import { asLine, doesNotGrow, keepNoAnswers, measured } from '../memory.mjs'
import { begin, editor, freePort, here, holds, isSaved, item, opened, put, report, rewrite, row, run, save, shows, skiff, terminalOf,
  up } from '../person.mjs'

/** So long a person uses the page; it is a journey for the night. */
const minutes = Number(process.env.MINUTES ?? 10)
const FEWEST_ROUNDS = 8

/** A person looks before the next step. */
const looks = page => page.waitForTimeout(700)
const view = async (page, name) => {
  await looks(page)
  // A mark says more: Commands, waiting for input.
  await page.getByRole('link', { name: new RegExp(`^${name}`) }).click()
}

/** Somebody else makes a sandbox, which the person looks into, and removes it. */
async function visitsAnother(page, round) {
  const name = `other-${round}`
  up(name, '--ttl', '1h')
  await row(page, name).getByText('running').waitFor()
  await looks(page)
  await page.getByRole('link', { name }).click()
  await run(page, 'echo here-$((1 + 1))')
  await shows(page, 'here-2')
  await view(page, 'Stats')
  await page.getByRole('img', { name: /^Memory/ }).waitFor()
  await view(page, 'Files')
  await item(page, '/').waitFor()
  skiff('rm', name, '-q')
  await page.getByRole('heading', { name: `There is no sandbox ${name}` }).waitFor()
  await looks(page)
  await page.getByRole('link', { name: 'All sandboxes' }).first().click()
  await row(page, 'demo').waitFor()
}

/** A terminal of its own prints much, edits with vi, and is closed. */
async function worksInATerminal(page, round) {
  await page.getByRole('link', { name: 'demo', exact: true }).click()
  await page.locator('.xterm-screen').waitFor()
  const before = await page.getByRole('tab').count()
  await page.getByRole('button', { name: 'New terminal' }).click()
  await page.getByRole('tab').nth(before).waitFor()
  await run(page, `clear; seq 1 5000; echo all-$((${round} + 1))`)
  await shows(page, `all-${round + 1}`)
  await looks(page)
  await run(page, 'busybox vi text')
  await shows(page, 'line 9')
  await page.keyboard.type('ddo')
  await page.keyboard.type(`round ${round}`)
  await page.keyboard.press('Escape')
  await shows(page, '- text [Modified]')
  await looks(page)
  await page.keyboard.type(':wq\n')
  await run(page, 'echo saved-$((1 + 1))')
  await shows(page, 'saved-2')
  await looks(page)
  await run(page, 'exit')
  await page.getByText('The shell has ended').waitFor()
}

async function steersCommands(page) {
  const asking = begin('exec', '-i', 'demo', '--', 'sh', '-c', 'echo your name?; read name; echo hello $name')
  const sleeping = begin('exec', 'demo', '--', 'sleep', '100000')
  await view(page, 'Commands')
  await page.getByRole('button', { name: /your name.*waiting for input/ }).first().click()
  await looks(page)
  await page.getByLabel('It waits for input').fill('Ada')
  await page.getByRole('button', { name: 'Send line' }).click()
  await shows(page, 'hello Ada')
  await page.getByRole('button', { name: /sleep 100000/ }).first().click()
  await looks(page)
  await page.getByRole('button', { name: 'Kill', exact: true }).click()
  await page.getByText('Ended: SIGTERM').waitFor()
  await Promise.all([asking, sleeping])
}

/** Chooses a file to upload. Playwright's own way keeps the whole document in memory. */
const chooses = (page, name) => page.evaluate(called => {
  const chosen = new DataTransfer()
  chosen.items.add(new File(['x'.repeat(300_000)], called))
  const picker = document.querySelector('input[type=file]')
  picker.files = chosen.files
  picker.dispatchEvent(new Event('change', { bubbles: true }))
}, name)

async function worksWithFiles(page, round) {
  await view(page, 'Files')
  await item(page, /^main.py/).click()
  const text = editor(page, 'main.py')
  await rewrite(page, text, `print(${round})\n`)
  await page.getByRole('button', { name: 'Show changes' }).click()
  await page.locator('.cm-insertedLine, .cm-changedLine').first().waitFor()
  await looks(page)
  await save(page)
  await isSaved(page)
  skiff('exec', 'demo', '--', 'sh', '-c', `echo 'print("theirs ${round}")' > main.py`)
  await holds(text, `print("theirs ${round}")\n`)
  await looks(page)
  await item(page, /^long.md/).click()
  await editor(page, 'long.md').waitFor()
  await page.getByRole('searchbox').fill('needle')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByText('100 lines', { exact: true }).waitFor()
  await looks(page)
  await chooses(page, 'data.bin')
  await page.getByText('Uploaded').or(page.getByRole('button', { name: 'Replace data.bin' })).waitFor()
  const replace = page.getByRole('button', { name: 'Replace data.bin' })
  if (await replace.isVisible()) await replace.click()
  await page.getByText('Uploaded').waitFor()
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download as tar' }).click()])
  await download.delete()
  await looks(page)
}

async function opensAPreview(page) {
  // Sandboxes of the driver local share the ports of this machine.
  const port = await freePort()
  const server = begin('exec', 'demo', '--', 'python3', '-m', 'http.server', '--bind', '127.0.0.1', String(port))
  await view(page, 'Ports')
  const open = page.getByRole('button', { name: `Open port ${port}` })
  await open.waitFor()
  await looks(page)
  const [preview] = await Promise.all([page.context().waitForEvent('page'), open.click()])
  await preview.getByRole('link', { name: 'main.py' }).waitFor()
  await preview.close()
  await looks(page)
  here.children.pop().kill()
  await server
}

/** Ended commands are kept for an hour; without them, what grows is a leak. */
async function forgetsWhatHasEnded(page) {
  await page.evaluate(async () => {
    const all = '/s/demo/7070/v1/sessions/default/commands'
    const { items } = await (await fetch(`${all}?limit=500`)).json()
    for (const { id, state } of items) if (state === 'ended') await fetch(`${all}/${id}`, { method: 'DELETE' })
  })
}

export default {
  async uses_every_view_again_and_again_without_growing({ page, context }) {
    up('demo')
    put('text', Array.from({ length: 200 }, (_, index) => `line ${index + 1}\n`).join(''))
    put('main.py', 'print(0)\n')
    put('long.md', '# A heading with a needle\n'.repeat(100) + 'text\n'.repeat(20_000))
    await opened(page)
    await keepNoAnswers(page)
    await row(page, 'demo').waitFor()
    // A reload would hide what this tab does not let go, so another tab is reloaded.
    const reloaded = await context.newPage()
    await keepNoAnswers(reloaded)
    await terminalOf(reloaded, 'demo')
    await page.bringToFront()
    const samples = []
    const end = Date.now() + minutes * 60_000
    for (let round = 1; Date.now() < end; ++round) {
      await visitsAnother(page, round)
      await worksInATerminal(page, round)
      await steersCommands(page)
      await worksWithFiles(page, round)
      await opensAPreview(page)
      await view(page, 'Stats')
      await page.getByRole('img', { name: /^Processor/ }).waitFor()
      await looks(page)
      await reloaded.reload()
      await reloaded.locator('.xterm-screen').waitFor()
      await run(reloaded, `echo reloaded-$((${round} + 1))`)
      await shows(reloaded, `reloaded-${round + 1}`)
      await page.bringToFront()
      await page.getByRole('link', { name: 'All sandboxes' }).click()
      await row(page, 'demo').waitFor()
      await forgetsWhatHasEnded(page)
      const sample = await measured(page)
      samples.push(sample)
      if (process.env.SAMPLES) fs.appendFileSync(process.env.SAMPLES, `${new Date().toISOString()} round ${round}: ${asLine(sample)}\n`)
    }
    assert.ok(samples.length >= FEWEST_ROUNDS, `only ${samples.length} rounds in ${minutes} minutes`)
    report(`${samples.length} rounds: ${doesNotGrow(samples)}`)
  }
}
