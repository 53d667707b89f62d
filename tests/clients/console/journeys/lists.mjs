import assert from 'node:assert/strict'
import fs from 'node:fs'

import { accessible, content, editor, filesOf, here, isSaved, item, opened, put, rewrite, row, run, save, screen, shows, skiff, terminalOf,
  up } from '../person.mjs'

export default {
  async opens_by_a_link_that_works_once({ page, context }) {
    await opened(page)
    assert.equal(page.url(), `${here.origin}/`)
    await page.getByRole('heading', { name: 'No sandboxes yet' }).waitFor()
    await page.getByText('skiff up demo').waitFor()
    await accessible(page, 'empty')
    assert.equal(await page.evaluate(() => document.cookie), '', 'a script sees the cookie')
    const other = await context.browser().newContext()
    const stranger = await other.newPage()
    const answer = await stranger.goto(here.link)
    assert.equal(answer.status(), 401)
    await stranger.getByText('works only once').waitFor()
    await stranger.goto(here.origin)
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
    // The keyboard goes on where it was.
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Start demo')
    await page.keyboard.press('Enter')
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

  async says_when_a_cookie_is_not_valid({ page, context }) {
    up('demo')
    await opened(page)
    await row(page, 'demo').waitFor()
    const [cookie] = await context.cookies()
    assert.ok(cookie.httpOnly && cookie.sameSite === 'Strict')
    await context.addCookies([{ ...cookie, value: '0'.repeat(64) }])
    await row(page, 'demo').getByRole('button', { name: 'Stop demo' }).click()
    await page.getByRole('heading', { name: 'This browser has no session' }).waitFor()
    await page.getByText('skiff console', { exact: true }).last().waitFor()
  },

  async says_when_the_console_has_ended({ page }) {
    up('demo')
    await opened(page)
    await row(page, 'demo').waitFor()
    process.kill(Number(here.console), 'SIGKILL')
    await page.getByRole('alert').getByText('The console does not answer').waitFor()
    await row(page, 'demo').waitFor()
  },

  async says_that_a_server_is_silent({ page }) {
    await page.clock.install()
    up('demo')
    await opened(page)
    await filesOf(page, 'demo')
    process.kill(Number(here.console), 'SIGSTOP')
    try {
      await page.getByRole('link', { name: 'Commands' }).click()
      await page.getByText('Loading…').waitFor()
      await page.clock.fastForward(21_000)
      await page.locator('main').getByRole('alert').getByText('The console does not answer').waitFor()
      // The list notices by its stream, which is silent for too long, and by the next one, which does not begin.
      await page.clock.fastForward(36_000)
      await page.clock.fastForward(3_000)
      await page.clock.fastForward(21_000)
      await page.getByText('The console does not answer').and(page.getByText('This page tries again')).waitFor()
    } finally {
      process.kill(Number(here.console), 'SIGCONT')
    }
    await page.getByText('No command has run here yet').waitFor()
    await page.getByText('This page tries again').waitFor({ state: 'detached' })
  },

  async works_on_a_narrow_screen({ page }) {
    await page.setViewportSize({ width: 360, height: 700 })
    up('demo', '--ttl', '5m')
    put('note.md', '# One\n')
    await opened(page)
    await row(page, 'demo').locator('.soon').waitFor()
    await page.getByRole('button', { name: 'Extend demo' }).click()
    await page.getByRole('button', { name: 'Extend', exact: true }).click()
    await row(page, 'demo').getByText(/^in (59 min|1 h)/).waitFor()
    await page.getByRole('link', { name: 'demo' }).click()
    await page.locator('.xterm-screen').waitFor()
    await run(page, 'echo narrow-$((1 + 1))')
    await shows(page, 'narrow-2')
    await page.getByRole('link', { name: 'Files' }).click()
    await item(page, /^note.md/).click()
    // The file comes into sight.
    await page.waitForFunction(() => document.querySelector('.cm-content')?.getBoundingClientRect().top < innerHeight / 2)
    await rewrite(page, editor(page, 'note.md'), '# Two\n')
    await page.getByRole('button', { name: 'Show changes' }).click()
    await save(page)
    await isSaved(page)
    assert.equal(content('note.md'), '# Two\n')
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
    for (const word of ['one', 'two', 'three', 'four', 'five', 'six']) skiff('exec', 'demo', '--', 'echo', word)
    await page.getByRole('link', { name: 'Commands' }).click()
    await page.getByRole('button', { name: 'echo one' }).click()
    await page.waitForFunction(() => document.querySelector('.details')?.getBoundingClientRect().top < innerHeight / 2)
    const gap = () => document.querySelector('.details').getBoundingClientRect().top - document.querySelector('.commands ul').getBoundingClientRect().bottom
    assert.ok(await page.evaluate(gap) < 40)
  },

  async moves_nothing_that_must_not_move({ page }) {
    await page.emulateMedia({ reducedMotion: 'reduce' })
    up('demo')
    await opened(page)
    let letGo
    const held = new Promise(resolve => { letGo = resolve })
    await page.route('**/stop', async route => { await held; await route.continue() })
    await page.getByRole('button', { name: 'Stop demo' }).click()
    await row(page, 'demo').getByText('Stopping…').waitFor()
    const moving = () => page.evaluate(() => document.getAnimations().filter(one => one.playState === 'running').length)
    assert.equal(await moving(), 0)
    letGo()
    await row(page, 'demo').getByText('stopped').waitFor()
    await page.getByRole('button', { name: 'Start demo' }).click()
    await row(page, 'demo').getByText('running').waitFor()
    await page.getByRole('link', { name: 'demo' }).click()
    await run(page, 'echo still-$((1 + 1))')
    await shows(page, 'still-2')
    assert.equal(await page.locator('.xterm-cursor-blink').count(), 0)
    assert.equal(await moving(), 0)
  },

  async goes_back_and_forward({ page }) {
    up('demo')
    await opened(page)
    await page.getByRole('link', { name: 'demo' }).click()
    for (const view of ['Commands', 'Files', 'Stats']) await page.getByRole('link', { name: view }).click()
    await page.goBack()
    await item(page, '/').waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'No command has run here yet' }).waitFor()
    await accessible(page, 'no-commands')
    await page.goForward()
    await item(page, '/').waitFor()
    assert.equal(await page.getByRole('link', { name: 'Files' }).getAttribute('aria-current'), 'page')
    assert.equal(await page.title(), 'demo · skiff console')
    for (const odd of ['#/sandboxes/demo/nothing', '#/sandboxes/%E0%A4%A', '#/elsewhere', '#']) {
      await page.goto(`${here.origin}/${odd}`)
      await (odd.includes('demo') ? page.getByRole('tab').first() : page.getByRole('heading', { name: /^Sandboxes/ })).waitFor()
    }
  },

  async says_when_a_sandbox_is_removed_under_the_page({ page }) {
    up('demo')
    await opened(page)
    for (const [view, sign] of [['files', item(page, '/')], ['terminal', page.locator('.xterm-screen')]]) {
      await page.goto(`${here.origin}/#/sandboxes/demo/${view}`)
      await sign.waitFor()
      skiff('rm', 'demo', '-q')
      await page.getByRole('heading', { name: 'There is no sandbox demo' }).waitFor()
      assert.equal(await page.getByRole('alert').count(), 0)
      up('demo')
      await sign.waitFor()
    }
    // What was typed is not lost.
    put('src/note.md', 'one\r\n')
    await filesOf(page, 'demo')
    await item(page, /^src/).click()
    await item(page, /^note.md/).click()
    await rewrite(page, editor(page, 'src/note.md'), 'mine\n')
    skiff('rm', 'demo', '-q')
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download src/note.md' }).click()])
    assert.equal(download.suggestedFilename(), 'note.md')
    assert.equal(fs.readFileSync(await download.path(), 'utf8'), 'mine\r\n')
    await page.getByText('were not saved').waitFor({ state: 'detached' })
    await page.goto(`${here.origin}/#/sandboxes/gone`)
    await page.getByRole('heading', { name: 'There is no sandbox gone' }).waitFor()
    await accessible(page, 'gone')
  },

  async starts_a_stopped_sandbox_from_its_page({ page }) {
    up('demo')
    await opened(page)
    await terminalOf(page, 'demo')
    await run(page, 'echo kept > kept')
    skiff('stop', 'demo', '-q')
    await page.getByRole('heading', { name: 'demo does not run' }).waitFor()
    await accessible(page, 'stopped')
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.locator('.xterm-screen').waitFor()
    await run(page, 'cat kept; echo again-$((1 + 1))')
    await shows(page, 'again-2')
    assert.equal(content('kept'), 'kept\n')
  },

  async says_in_a_view_that_the_session_has_ended({ page, context }) {
    up('demo')
    await opened(page)
    const [cookie] = await context.cookies()
    for (const view of ['terminal', 'commands', 'stats']) {
      await page.goto(`${here.origin}/#/sandboxes/demo/${view}`)
      await page.getByRole('link', { name: 'Files' }).waitFor()
      if (view === 'terminal') await page.locator('.xterm-screen').waitFor()
      await context.clearCookies()
      // The others ask by themselves.
      if (view === 'terminal') await page.getByRole('button', { name: 'New terminal' }).click()
      await page.getByRole('heading', { name: 'This browser has no session' }).waitFor()
      await context.addCookies([cookie])
      await page.goto('about:blank')
    }
  }
}
