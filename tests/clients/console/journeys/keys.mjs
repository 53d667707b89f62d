// At `skiff serve --console`, with API keys: test_served_journeys.py walks them. `here.key` and `here.spare` are keys of one tenant, of
// the names `me` and `spare`.

import assert from 'node:assert/strict'

import { accessible, editor, here, holds, isSaved, item, rewrite, row, run, save, shows, skiff } from '../person.mjs'

const form = page => page.getByRole('heading', { name: 'Sign in to the skiff console' }).waitFor()
const list = page => page.getByRole('heading', { name: /^Sandboxes|^No sandboxes yet/ }).first().waitFor()

async function signIn(page, key) {
  await form(page)
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** A request of a program. */
async function ask(method, path, body, type = 'application/json') {
  const answer = await fetch(here.origin + path, { method, body, headers: { 'X-API-Key': here.spare, ...(body ? { 'Content-Type': type } : {}) } })
  assert.ok(answer.ok, `${answer.status} ${path}`)
  return answer.text()
}
const made = async () => JSON.parse(await ask('POST', '/v1/sandboxes', '{}')).id

export default {
  async signs_in_and_out({ page, context }) {
    await page.goto(here.origin)
    await form(page)
    await accessible(page, 'sign-in')
    await page.keyboard.type('e2b_' + '0'.repeat(40))  // the field has the focus
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('This key is not known, or it has expired.').waitFor()
    await accessible(page, 'sign-in-refused')
    await signIn(page, here.key)
    await list(page)
    await page.getByText('me · default').waitFor()
    await accessible(page, 'signed-in')
    assert.equal(page.url(), `${here.origin}/`)
    // The line makes a sandbox of this server.
    await page.getByText(`skiff up demo --driver serve --url ${here.origin}`, { exact: true }).waitFor()
    const [cookie] = await context.cookies()
    assert.ok(cookie.httpOnly && cookie.sameSite === 'Strict' && cookie.path === '/')
    const kept = await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage }) + document.documentElement.outerHTML)
    assert.ok(!kept.includes(here.key) && !kept.includes(cookie.value))
    const id = await made()
    await row(page, id).getByText('running').waitFor()
    // It is not the reader's own program that does not answer.
    await context.setOffline(true)
    await page.getByRole('button', { name: `Stop ${id}` }).click()
    await page.getByRole('alert').getByText('The server does not answer.').waitFor()
    await context.setOffline(false)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await form(page)
    assert.deepEqual(await context.cookies(), [])
    await page.goto(`${here.origin}/#/sandboxes/${id}`)
    await form(page)
  },

  async keeps_what_is_open_when_the_session_ends({ page, context }) {
    const id = await made()
    await ask('PUT', `/s/${id}/7070/v1/sessions/default/files/note.md`, '# One\n', 'application/octet-stream')
    await page.goto(here.origin)
    await signIn(page, here.key)
    await row(page, id).waitFor()
    await page.goto(`${here.origin}/#/sandboxes/${id}/files`)
    await item(page, /^note.md/).click()
    await holds(editor(page, 'note.md'), '# One\n')
    await rewrite(page, editor(page, 'note.md'), '# Two\n')
    await page.getByRole('link', { name: 'Terminal' }).click()
    await page.locator('.xterm-screen').waitFor()
    await run(page, 'echo before-$((1 + 1))')
    await shows(page, 'before-2')
    skiff('key', 'rm', 'me')
    await page.getByRole('alert').getByText('Your session has ended').waitFor()
    await accessible(page, 'session-ended')
    const [other] = await Promise.all([context.waitForEvent('page'), page.getByRole('link', { name: 'Sign in' }).click()])
    await signIn(other, here.spare)
    await list(other)
    await page.getByText('Your session has ended').waitFor({ state: 'detached' })
    // The terminal goes on where it was.
    await page.bringToFront()
    await run(page, 'echo after-$((1 + 1))')
    await shows(page, 'after-2')
    await shows(page, 'before-2')
    await page.getByRole('link', { name: 'Files' }).click()
    await item(page, /^note.md/).click()
    await holds(editor(page, 'note.md'), '# Two\n')
    await save(page)
    await isSaved(page)
    assert.equal(await ask('GET', `/s/${id}/7070/v1/sessions/default/files/note.md`), '# Two\n')
    // Who signs out in one tab is signed out in all.
    await other.getByRole('button', { name: 'Sign out' }).click()
    await form(other)
    await page.getByRole('alert').getByText('Your session has ended').waitFor()
  },

  async is_one_session_at_two_replicas({ page }) {
    await page.goto(here.origin)
    await signIn(page, here.key)
    await list(page)
    const id = await made()
    // To a browser the ports of a name share its cookies.
    await page.goto(here.replica)
    await row(page, id).getByText('running').waitFor()
  },

  async is_signed_in_by_no_other_page({ page, context }) {
    const evil = await context.newPage()
    await evil.route('http://evil.example/**', route => route.fulfill({ contentType: 'text/html', body:
      `<form method="post" action="${here.origin}/sign-in"><input name="key" value="${here.key}"></form><script>document.forms[0].submit()</script>` }))
    await evil.goto('http://evil.example/')
    await evil.getByText('Another page has asked to sign you in').waitFor()
    assert.deepEqual(await context.cookies(), [])
    // A link on another page leads to the console, whose cookie comes with the script's requests alone.
    await page.goto(here.origin)
    await signIn(page, here.key)
    await list(page)
    await page.route('http://evil.example/**', route => route.fulfill({ contentType: 'text/html', body: `<a href="${here.origin}/">console</a>` }))
    await page.goto('http://evil.example/')
    await page.getByRole('link', { name: 'console' }).click()
    await list(page)
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
  }
}
