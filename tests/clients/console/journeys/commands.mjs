import assert from 'node:assert/strict'

import { accessible, begin, here, opened, shows, skiff, up } from '../person.mjs'

export default {
  async follows_commands_answers_and_kills_them({ page }) {
    up('demo')
    skiff('exec', 'demo', '--', 'printf', '\\033[32mgreen\\033[0m\\n')
    const asking = begin('exec', '-i', 'demo', '--', 'sh', '-c', 'echo your name?; read name; echo hello $name; exit 3')
    const sleeping = begin('exec', 'demo', '--', 'sleep', '100000')
    await opened(page)
    await page.goto(`${here.origin}/#/sandboxes/demo`)
    // Other views tell that a command waits.
    await page.getByRole('link', { name: 'Commands (a command waits for input)' }).click()
    await page.getByRole('button', { name: /printf.*exit code 0/ }).click()
    await shows(page, 'green')
    await page.getByRole('button', { name: /your name.*waiting for input/ }).click()
    await shows(page, 'your name?')
    // Whoever chooses a command that waits goes on with the answer.
    await page.waitForFunction(() => document.activeElement.id === 'answer')
    await page.keyboard.type('Ada')
    await accessible(page, 'commands')
    await page.getByRole('button', { name: 'Send line' }).click()
    await shows(page, 'hello Ada')
    await page.getByText('Ended: exit code 3').waitFor()
    // The field is gone, and the keyboard goes on at its place.
    await page.waitForFunction(() => document.activeElement.id === 'details-title')
    await page.locator('.outcome.failed', { hasText: 'exit code 3' }).waitFor()
    await page.getByRole('button', { name: /sleep 100000/ }).click()
    await page.getByRole('button', { name: 'Kill', exact: true }).click()
    await page.getByText('Ended: SIGTERM').waitFor()
    await page.waitForFunction(() => document.activeElement.id === 'details-title')
    // It is shown again when the person comes back.
    await page.getByRole('link', { name: 'Ports' }).click()
    await page.getByRole('link', { name: 'Commands' }).click()
    await page.getByText('Ended: SIGTERM').waitFor()
    assert.equal(await asking, 3)
    assert.notEqual(await sleeping, 0)
  },

  async says_what_a_kill_has_ended({ page }) {
    up('demo')
    const killed = begin('exec', 'demo', '--', 'sh', '-c', 'sleep 1001 & setsid sleep 1002 & trap "" TERM; echo begun; wait; sleep 1003')
    await opened(page)
    await page.goto(`${here.origin}/#/sandboxes/demo/commands`)
    await page.getByRole('button', { name: /sleep 1001/ }).click()
    await shows(page, 'begun')
    await page.getByRole('button', { name: 'Kill', exact: true }).click()
    const told = page.getByRole('status').filter({ hasText: 'Kill ended' })
    for (const one of ['sleep 1001', 'sleep 1002']) await told.getByText(one).waitFor()
    await page.getByText('Ended: SIGKILL').waitFor()
    await accessible(page, 'killed')
    assert.notEqual(await killed, 0)
    assert.equal(skiff('exec', 'demo', '--', 'sh', '-c', 'cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -c "sleep 100[123]" || true').trim(), '0')
  }
}
