import { begin, editor, filesOf, here, item, opened, put, rewrite, row, run, save, shows, skiff, terminalOf, up } from '../person.mjs'
import { Pictures } from '../pictures.mjs'

const PORTS = { items: [{ address: '127.0.0.1', port: 3000, process: 'node' }, { address: '::', port: 8000, process: 'python3' }] }
const STATS = { cpu: { cores: 4, limit_millis: 1000, used_ms: 10 }, memory: { used_bytes: 50 << 20, limit_bytes: 100 << 20 }, pids: { used: 10, limit: 4096 } }

async function narrow(page, compares) {
  await page.setViewportSize({ width: 360, height: 800 })
  await compares()
  await page.setViewportSize({ width: 1280, height: 800 })
}

export default {
  async looks_as_it_did({ page, context }) {
    const pictures = new Pictures(page, await context.newPage())
    await page.bringToFront()
    await opened(page)
    await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
    await pictures.compare('empty')

    up('demo', '--ttl', '8h')
    up('old-run')
    skiff('stop', 'old-run', '-q')
    await row(page, 'old-run').getByText('stopped').waitFor()
    const times = [page.locator('[data-label="Age"]'), page.locator('[data-label="Lease ends"]')]
    await pictures.compare('sandboxes', times)
    await narrow(page, () => pictures.compare('sandboxes-narrow', times))

    await terminalOf(page, 'demo')
    await run(page, `PS1='demo$ '; clear; printf '\\033[3%dmcolour %d\\033[0m ' 1 1 2 2 3 3 4 4 5 5 6 6; echo; seq 1 5; echo end-$((1 + 1))`)
    await shows(page, 'end-2')
    await pictures.compare('terminal')
    await narrow(page, async () => {
      await run(page, 'clear; seq 1 5; echo narrow-$((1 + 1))')
      await shows(page, 'narrow-2')
      await pictures.compare('terminal-narrow')
    })

    skiff('exec', 'demo', '--', 'echo', 'done')
    await begin('exec', 'demo', '--', 'sh', '-c', 'exit 3')
    void begin('exec', '-i', 'demo', '--', 'sh', '-c', 'echo which one?; read one')
    await page.goto(`${here.origin}/#/sandboxes/demo/commands`)
    await page.getByRole('button', { name: /which one.*waiting for input/ }).click()
    await shows(page, 'which one?')
    await pictures.compare('commands', [page.locator('.commands small')])

    put('src/main.py', 'import sys\n\n\ndef main(words):\n    for word in words:\n        print(word.upper())  # loud\n\n\nmain(sys.argv[1:])\n')
    put('README.md', '# A program\n')
    await filesOf(page, 'demo')
    await item(page, /^src/).click()
    await item(page, /^main.py/).click()
    const text = editor(page, 'src/main.py')
    await text.waitFor()
    await pictures.compare('files')
    await rewrite(page, text, 'import sys\n\n\ndef main(words):\n    for word in words:\n        print(word)\n\n\nmain(sys.argv[1:])\n')
    await page.getByRole('button', { name: 'Show changes' }).click()
    await page.locator('.cm-deletedChunk').waitFor()
    await pictures.compare('changes')
    put('src/main.py', 'print("theirs")\n')
    await page.getByText('Your text is kept').waitFor()
    await save(page)
    await editor(page, 'The file now').waitFor()
    await pictures.compare('conflict')
    await page.getByRole('button', { name: 'Take the file, drop your text' }).click()

    // The ports and the use of this machine differ from others.
    await page.route('**/v1/ports', route => route.fulfill({ json: PORTS }))
    await page.route('**/v1/stats', route => route.fulfill({ json: STATS }))
    await page.goto(`${here.origin}/#/sandboxes/demo/ports`)
    await page.getByRole('button', { name: 'Open port 8000' }).waitFor()
    await pictures.compare('ports')
    await page.goto(`${here.origin}/#/sandboxes/demo/stats`)
    await page.getByRole('img', { name: /^Memory/ }).waitFor()
    await pictures.compare('stats', [page.locator('.stats svg')])

    await page.goto(`${here.origin}/#/sandboxes/gone`)
    await page.getByRole('heading', { name: 'There is no sandbox gone' }).waitFor()
    await pictures.compare('gone')
    await page.unrouteAll()
    await context.clearCookies()
    await page.goto(`${here.origin}/#/sandboxes/demo/stats`)
    await page.getByRole('heading', { name: 'This browser has no session' }).waitFor()
    await pictures.compare('session-over')
    pictures.end()
  }
}
