import assert from 'node:assert/strict'

import { accessible, here, opened, skiff, up } from '../person.mjs'

const LOG = '**/network/log'
const told = (...lines) => ({ contentType: 'text/event-stream', body: lines.map(line => `event: line\ndata: ${JSON.stringify(line)}\n\n`).join('') })
const at = second => new Date(Date.UTC(2026, 0, 1, 12, 0, second)).toISOString()

/** A command of the box that tries to reach a host. */
const reach = url => skiff('exec', 'box', '--', 'sh', '-c', `curl -sS -m 20 ${url} 2>/dev/null; true`)

export default {
  async allows_a_host_that_was_refused({ page }) {
    up('box', '--egress', 'pypi.org')
    await opened(page)
    await page.goto(`${here.origin}/#/sandboxes/box/network`)
    const rules = page.getByRole('list', { name: 'Hosts that it may reach' })
    const log = page.getByRole('list', { name: 'Log of connections' })
    await rules.getByText('pypi.org').waitFor()
    await page.getByText('Nothing yet.').waitFor()
    for (let times = 0; times < 2; ++times) reach('https://models.example.com/v1')
    const row = log.getByRole('listitem').filter({ hasText: 'models.example.com' })
    await row.getByText('not_allowed, 2 times').waitFor()
    await accessible(page, 'network')
    await row.getByRole('button', { name: 'Allow this host: models.example.com' }).click()
    await row.getByText('allowed now').waitFor()
    await rules.getByText('models.example.com').waitFor()
    assert.match(skiff('network', 'box', '-o', 'json'), /models\.example\.com/)
    // No name is known here: it is allowed, and cannot be looked up.
    reach('https://models.example.com/v1')
    await log.getByText('dns').waitFor()
    await page.getByLabel('Only what was refused').check()
    assert.equal(await log.getByRole('listitem').count(), 2)
    // By hand, and back.
    await page.getByLabel('Allow a host').fill('not a host')
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Allow a host').fill('*.example.org:8443')
    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await rules.getByText('*.example.org:8443').waitFor()
    await page.getByRole('button', { name: 'Remove *.example.org:8443' }).click()
    await rules.getByText('*.example.org:8443').waitFor({ state: 'detached' })
    // Others change them, too.
    skiff('network', 'box', '-q', '--egress', '+other.example.com')
    await rules.getByText('other.example.com').waitFor()
    assert.doesNotMatch(skiff('network', 'box', '-o', 'json'), /example\.org/)
  },

  async shows_what_a_log_can_say({ page }) {
    up('box', '--egress', 'pypi.org')
    await opened(page)
    await page.route(LOG, route => route.fulfill(told(
      { time: at(0), verdict: 'missing', detail: 'older lines are left out' },
      { time: at(1), verdict: 'allowed', connection: 'a', host: 'pypi.org', port: 443, address: '192.0.2.1' },
      { time: at(2), verdict: 'allowed', connection: 'b', host: 'example.com', port: 8443 },
      { time: at(3), verdict: 'ended', connection: 'a', host: 'pypi.org', port: 443, sent: 2048, received: 5 << 20, ms: 10 },
      { time: at(4), verdict: 'cut', connection: 'b', host: 'example.com', port: 8443, code: 'not_allowed' },
      { time: at(5), verdict: 'ended', connection: 'c', host: 'github.com', port: 443, method: 'GET', path: '/a/<b>', status: 200, secret: 's', sent: 1, received: 1, ms: 1 },
      { time: at(6), verdict: 'denied', code: 'private_address', host: '<img src=x onerror=alert(1)>', port: 443, detail: '"><script>alert(1)</script>' })))
    await page.goto(`${here.origin}/#/sandboxes/box/network`)
    const log = page.getByRole('list', { name: 'Log of connections' })
    await log.waitFor()
    assert.deepEqual(await log.getByRole('listitem').locator('.outcome').allTextContents(), ['refused', 'ended', 'cut', 'ended', 'left out'])
    await log.getByText('2.0 KiB sent, 5.0 MiB received').waitFor()
    await log.getByText('GET github.com/a/<b>').waitFor()
    await log.getByText('<img src=x onerror=alert(1)>').waitFor()
    await accessible(page, 'network-log')
    await page.setViewportSize({ width: 360, height: 800 })
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'it is wider than the screen')
    await accessible(page, 'network-narrow')
    // A log that cannot be read says why, and is asked for again.
    await page.unroute(LOG)
    await page.route(LOG, route => route.fulfill({ contentType: 'text/event-stream', body: 'event: error\ndata: {"code":"cluster_unavailable","detail":"it is away"}\n\n' }))
    await page.reload()
    await page.getByText('It is away.').waitFor()
    await page.unroute(LOG)
    await page.getByText('Nothing yet.').waitFor()
  },

  async says_that_a_sandbox_has_no_names({ page }) {
    up('box')
    await opened(page)
    await page.goto(`${here.origin}/#/sandboxes/box/network`)
    await page.getByText('skiff up demo --egress pypi.org').waitFor()
    await accessible(page, 'network-none')
  }
}
