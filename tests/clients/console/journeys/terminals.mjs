import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'

import { accessible, here, holds, isComplete, numbers, opened, put, report, row, run, screen, shows, skiff, terminalOf, tunnel,
  up } from '../person.mjs'

export default {
  async runs_a_command_in_a_terminal({ page }) {
    up('demo')
    await opened(page)
    await page.getByRole('link', { name: 'demo' }).click()
    await page.locator('.xterm-screen').waitFor()
    await run(page, 'echo hello from $((6 * 7)); pwd; printf "\\033[31mred\\033[0m\\n"')
    await shows(page, 'hello from 42')
    await shows(page, here.work)
    await accessible(page, 'terminal')
    // Reversed text has the colours of the terminal, reversed.
    await run(page, 'printf "\\033[7mreversed\\033[0m\\n"')
    const reversed = page.locator('.xterm-rows span').getByText('reversed', { exact: true }).last()
    for (const [colorScheme, ink] of [['dark', 'rgb(16, 23, 26)'], ['light', 'rgb(255, 255, 255)']]) {
      await page.emulateMedia({ colorScheme })
      await reversed.and(page.locator('.xterm-bg-257')).waitFor()
      await page.waitForFunction(wanted => getComputedStyle([...document.querySelectorAll('.xterm-bg-257')].at(-1)).color === wanted, ink)
    }
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
    fs.writeFileSync(path.join(here.root, 'text'), Array.from({ length: 200 }, (_, index) => `line ${index + 1}\n`).join(''))
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
    assert.match(fs.readFileSync(path.join(here.root, 'text'), 'utf8'), /line 200\nnew-text\n$/)
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

  async keeps_a_terminal_over_a_long_cut({ page }) {
    const way = await tunnel()
    up('demo')
    await opened(page, way.origin)
    await terminalOf(page, 'demo', way.origin)
    // It prints meanwhile, and each line once.
    await run(page, 'for i in $(seq 1 1500); do echo n$i; [ $((i % 15)) = 0 ] && sleep 0.02; done; echo all-done')
    await shows(page, 'n1')
    way.cut()
    await page.getByText('The connection is cut.').waitFor()
    await page.waitForTimeout(process.env.SKIFF_NIGHTLY ? 30_000 : 1_000)
    way.mend()
    await page.getByText('The connection is cut.').waitFor({ state: 'detached' })
    await page.reload()
    await page.locator('.xterm-screen').waitFor()
    await shows(page, 'all-done')
    isComplete(await numbers(page), 1500)
    way.close()
  },

  async loses_no_byte_of_ten_megabytes_a_second({ page, context }) {
    const seconds = process.env.SKIFF_NIGHTLY ? 10 : 2
    up('demo')
    put('flood.py', `import sys, time
line = b"x" * 99 + b"\\n"
began = time.monotonic()
for tenth in range(${seconds * 10}):
    sys.stdout.buffer.write(line * 10_000)
    sys.stdout.buffer.flush()
    time.sleep(max(0, began + (tenth + 1) / 10 - time.monotonic()))
print("all-" + str(1 + 1))
`)
    // Every byte comes in its order and once, or is told to be gone.
    const seen = { next: -1, bytes: 0, told: 0, wrong: [] }
    page.on('websocket', socket => socket.on('framereceived', ({ payload }) => {
      if (typeof payload === 'string') {
        const event = JSON.parse(payload)
        if (event.type !== 'gap' || event.to <= seen.next) return
        seen.told += event.to - Math.max(event.from, seen.next)
        seen.next = event.to
      } else if (payload[1] === 1) {
        const offset = Number(payload.readBigUInt64BE(8))
        if (seen.next >= 0 && offset > seen.next) seen.wrong.push([seen.next, offset])
        const end = offset + payload.length - 24
        seen.bytes += Math.max(0, end - Math.max(offset, seen.next))
        seen.next = Math.max(seen.next, end)
      }
    }))
    await opened(page)
    await terminalOf(page, 'demo')
    await run(page, 'echo ready-$((1 + 1))')
    await shows(page, 'ready-2')
    await page.evaluate(() => {
      window.frames_ = []
      const look = before => requestAnimationFrame(now => { window.frames_.push(now - before); look(now) })
      look(performance.now())
    })
    await run(page, 'python3 flood.py')
    await shows(page, 'all-2')
    const frames = (await page.evaluate(() => window.frames_)).sort((a, b) => a - b)
    const client = await context.newCDPSession(page)
    await client.send('HeapProfiler.collectGarbage')
    const { usedSize } = await client.send('Runtime.getHeapUsage')
    report(`${seconds} s of 10 MB/s: ${frames.length} frames, the longest ${Math.round(frames.at(-1))} ms, 99 % within ${Math.round(frames[Math.floor(frames.length * 0.99)])} ms, heap ${Math.round(usedSize / 1e6)} MB`)
    assert.deepEqual(seen.wrong, [])
    assert.ok(seen.bytes + seen.told > seconds * 10_000_000, `${seen.bytes} bytes, and ${seen.told} told to be gone`)
    assert.ok(usedSize < 100e6, `the page holds ${usedSize} bytes`)
    await run(page, 'clear; echo alive-$((1 + 1))')
    await shows(page, 'alive-2')
  },

  async shows_one_terminal_in_two_tabs({ page, context }) {
    up('demo')
    await opened(page)
    await terminalOf(page, 'demo')
    await run(page, 'echo first-$((1 + 1))')
    await shows(page, 'first-2')
    const second = await context.newPage()
    await terminalOf(second, 'demo')
    await shows(second, 'first-2')
    assert.equal(await second.getByRole('tab').count(), 1)
    await run(second, 'echo second-$((1 + 1))')
    await shows(page, 'second-2')
    await run(page, 'echo third-$((1 + 1))')
    await shows(second, 'third-2')
    for (const one of [page, second]) assert.equal((await screen(one)).filter(line => line === 'second-2').length, 1)
    await second.close()
    await run(page, 'exit')
    await page.getByText('The shell has ended').waitFor()
  },

  async works_in_several_terminals({ page }) {
    up('demo')
    await opened(page)
    await terminalOf(page, 'demo')
    await run(page, 'mine=one; printf "\\033]0;builds\\007"')
    await page.getByRole('tab', { name: '1: builds' }).waitFor()
    await page.getByRole('button', { name: 'New terminal' }).click()
    await page.getByRole('tab', { name: /^2: / }).waitFor()
    await run(page, 'echo other-[$mine]')
    await shows(page, 'other-[]')
    await page.keyboard.press('F6')
    await page.keyboard.press('ArrowLeft')
    assert.equal(await page.getByRole('tab', { name: /^1: / }).getAttribute('aria-selected'), 'true')
    assert.match(await page.evaluate(() => document.activeElement.textContent), /^1: /)
    // Who presses a tab wants to type.
    for (const tab of [/^2: /, /^1: /]) {
      await page.getByRole('tab', { name: tab }).click()
      await page.waitForFunction(() => document.activeElement.matches('.xterm-helper-textarea'))
    }
    await run(page, 'echo other-[$mine]')
    await shows(page, 'other-[one]')
    await accessible(page, 'terminals')
    await run(page, 'kill -9 $$')
    await page.getByText('The shell has ended (SIGKILL').waitFor()
    await page.reload()
    await page.getByRole('tab').waitFor()
    assert.equal(await page.getByRole('tab').count(), 1)
    await shows(page, 'other-[]')
    // A terminal that runs is closed after a question.
    await run(page, 'sleep 100001')
    await page.getByRole('button', { name: 'Close terminal' }).click()
    await page.getByRole('dialog').getByText('everything that runs in it').waitFor()
    await accessible(page, 'close-terminal')
    await page.keyboard.press('Escape')
    assert.equal(await page.getByRole('tab').count(), 1)
    await page.getByRole('button', { name: 'Close terminal' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).click()
    await page.getByText('No terminal is open.').waitFor()
    assert.equal(skiff('exec', 'demo', '--', 'sh', '-c', 'cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -c "sleep 10000[1]" || true').trim(), '0')
    await page.getByRole('button', { name: 'New terminal' }).click()
    await run(page, 'exit')
    await page.getByText('The shell has ended').waitFor()
    await page.getByRole('button', { name: 'Close terminal' }).click()
    await page.getByText('No terminal is open.').waitFor()
  },

  async copies_and_pastes({ page, context }) {
    up('demo')
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await opened(page)
    await terminalOf(page, 'demo')
    await run(page, 'clear; echo word-$((1 + 1))')
    await shows(page, 'word-2')
    const { x, y, width, height } = await page.locator('.xterm-rows > div').getByText('word-2', { exact: true }).boundingBox()
    await page.mouse.dblclick(x + width / 2, y + height / 2)
    await page.keyboard.press('Control+Shift+C')
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith('word'))
    // Lines that are pasted run when Enter is pressed.
    await page.evaluate(() => navigator.clipboard.writeText('echo pasted-$((1 + 1))\necho both-$((1 + 1))'))
    await page.locator('.xterm-helper-textarea').focus()
    await page.keyboard.press('Control+Shift+V')
    await shows(page, 'both-$((1 + 1))')
    await page.keyboard.press('Enter')
    await shows(page, 'pasted-2')
    await shows(page, 'both-2')
  }
}
