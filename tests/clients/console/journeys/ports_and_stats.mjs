import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'

import { accessible, begin, freePort, here, opened, up } from '../person.mjs'

export default {
  async waits_for_a_port_and_opens_its_preview({ page, context }) {
    up('demo')
    const wanted = await freePort()
    // It answers with the cookies that it gets, and its page runs a script.
    fs.writeFileSync(path.join(here.root, 'server.py'), `import http.server, sys
class Shown(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", "own=1")
        self.end_headers()
        self.wfile.write(b"<title>app</title><p>cookies: [%s]</p><p>referrer: [%s]</p><script>document.title = 'script ' + (opener === null)</script>"
                         % ((self.headers["Cookie"] or "").encode(), (self.headers["Referer"] or "").encode()))
    def log_message(self, *words):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Shown).serve_forever()
`)
    await opened(page)
    await page.goto(`${here.origin}/#/sandboxes/demo`)
    await page.getByRole('link', { name: 'Ports' }).click()
    await page.getByLabel('Wait for port').fill(String(wanted))
    await page.getByRole('button', { name: 'Wait', exact: true }).click()
    await page.getByRole('listitem').filter({ hasText: String(wanted) }).getByText('nothing listens yet').waitFor()
    void begin('exec', 'demo', '--', 'python3', 'server.py', String(wanted))
    await page.getByText(`Port ${wanted} listens now.`).waitFor()
    const before = await page.getByRole('button', { name: `Open port ${wanted}` }).boundingBox()
    const [preview] = await Promise.all([context.waitForEvent('page'), page.getByRole('button', { name: `Open port ${wanted}` }).click()])
    await preview.waitForFunction(() => document.title === 'script true')
    await preview.getByText('cookies: []').waitFor()
    await preview.getByText('referrer: []').waitFor()
    assert.match(new URL(preview.url()).host, new RegExp(`^${wanted}-demo\\.skiff-previews-[0-9a-f]+\\.localhost:${here.port}$`))
    assert.ok(!preview.url().includes('skiff-preview='), 'the link stays in the address')
    await preview.reload()
    await preview.getByText('cookies: [own=1]').waitFor()
    // The program's page is another site than the console's.
    assert.equal(await preview.evaluate(to => fetch(`${to}/v1/sandboxes`, { credentials: 'include' }).then(answer => answer.text()).catch(() => 'refused'), here.origin), 'refused')
    await preview.close()
    await page.getByRole('link', { name: new RegExp(`^${wanted}-demo`) }).waitFor()
    assert.equal((await page.getByRole('button', { name: `Open port ${wanted}` }).boundingBox()).x, before.x, 'the button moves under the pointer')
    await accessible(page, 'ports')
  },

  async plots_what_a_sandbox_uses({ page }) {
    up('demo')
    await opened(page)
    await page.goto(`${here.origin}/#/sandboxes/demo`)
    await page.getByRole('link', { name: 'Stats' }).click()
    // Processes are known only to a control group.
    for (const name of ['Processor', 'Memory']) await page.getByRole('img', { name: new RegExp(`^${name} over the last five minutes`) }).waitFor()
    const points = () => page.evaluate(() => [...document.querySelectorAll('.values')].map(one => one.getAttribute('d').split(/[ML]/).length - 1))
    await page.waitForFunction(() => document.querySelector('.values').getAttribute('d').includes('L'))
    // Other views do not lose what was measured.
    const before = await points()
    await page.getByRole('link', { name: 'Commands' }).click()
    await page.getByRole('link', { name: 'Stats' }).click()
    await page.locator('.values').first().waitFor()
    assert.ok((await points())[0] >= before[0])
    await accessible(page, 'stats')
    // Limits are lines: at their heights, within the plot.
    await page.route('**/v1/stats', route => route.fulfill({ json: { cpu: { cores: 4, limit_millis: 500, used_ms: 10 },
      memory: { used_bytes: 50 << 20, limit_bytes: 100 << 20 }, pids: { used: 10, limit: 1000000 } } }))
    await page.getByRole('img', { name: /^Memory .*now 50.0 MiB.*limit 100 MiB$/ }).waitFor()
    await page.getByRole('img', { name: /^Processes .*now 10 processes.*far above/ }).waitFor()
    const at = await page.locator('.limit').evaluateAll(all => all.map(one => Number(one.getAttribute('y1'))))
    assert.ok(at.length >= 1 && at.every(one => one >= 0 && one <= 80), at.join())
    await page.unroute('**/v1/stats')
    await page.route('**/v1/stats', route => route.fulfill({ json: { cpu: { cores: 4, limit_millis: null, used_ms: null },
      memory: { used_bytes: 1 << 20, limit_bytes: null }, pids: { used: 3, limit: null } } }))
    await page.getByRole('img', { name: /^Memory .*no limit/ }).waitFor()
    await page.unroute('**/v1/stats')
    await page.route('**/v1/stats', route => route.fulfill({ json: { cpu: { cores: 4, limit_millis: null, used_ms: null },
      memory: { used_bytes: null, limit_bytes: null }, pids: { used: null, limit: null } } }))
    await page.getByText('it has no control group').waitFor()
  }
}
