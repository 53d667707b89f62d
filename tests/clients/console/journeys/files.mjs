import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

import { accessible, content, editor, filesOf, here, holds, isSaved, item, linesOf, opened, put, rewrite, save, skiff,
  up } from '../person.mjs'

export default {
  async shows_edits_and_finds_files({ page }) {
    up('demo')
    const evil = '<img src=x onerror=alert(1)>'
    fs.mkdirSync(path.join(here.root, 'src/deep'), { recursive: true })
    fs.writeFileSync(path.join(here.root, 'src/main.py'), 'one\ntwo\nneedle here\n')
    fs.writeFileSync(path.join(here.root, 'src/deep', `${evil} #?%.txt`), 'hostile needle\n')
    fs.writeFileSync(path.join(here.root, 'windows.txt'), 'a\r\nb\r\n')
    fs.writeFileSync(path.join(here.root, 'binary'), Buffer.from([0, 1, 2]))
    fs.writeFileSync(path.join(here.root, 'empty'), '')
    await opened(page)
    await page.goto(`${here.origin}/#/sandboxes/demo`)
    await page.getByRole('link', { name: 'Files' }).click()
    const content = name => fs.readFileSync(path.join(here.root, name), 'utf8')
    // By the keyboard: into the tree, down to src, open it, and on to its file.
    await item(page, /^src/).waitFor()
    await item(page, '/').focus()
    for (let steps = 0; steps < 20 && !(await item(page, /^src/).evaluate(one => one === document.activeElement)); ++steps) await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowRight')
    await item(page, /^main.py/).waitFor()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    const text = editor(page, 'src/main.py')
    await text.waitFor()
    assert.equal(await linesOf(text), content('src/main.py'))
    await rewrite(page, text, 'one\n2\nneedle here\n')
    // An edit that was not saved stays while something else is shown.
    await item(page, /^empty/).click()
    await rewrite(page, editor(page, 'empty'), 'not empty')
    await page.keyboard.press('Control+s')
    await isSaved(page)
    assert.equal(content('empty'), 'not empty')
    await page.getByRole('link', { name: 'Commands' }).click()
    await page.getByRole('link', { name: 'Files' }).click()
    await item(page, /^main.py/).click()
    await holds(text, 'one\n2\nneedle here\n')
    assert.equal(await linesOf(text), 'one\n2\nneedle here\n')
    await save(page)
    await isSaved(page)
    assert.equal(content('src/main.py'), 'one\n2\nneedle here\n')
    // The ends of lines stay what they are.
    await item(page, /^windows.txt/).click()
    await rewrite(page, editor(page, 'windows.txt'), 'a\nB\n')
    await save(page)
    await isSaved(page)
    assert.equal(content('windows.txt'), 'a\r\nB\r\n')
    await item(page, /^binary/).click()
    await page.getByText('not a text').waitFor()
    await item(page, /^deep/).click()
    await page.getByRole('searchbox').fill('NEEDLE')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('1 line', { exact: true }).waitFor()
    await page.getByRole('button', { name: /hostile needle/ }).click()
    await editor(page, `src/deep/${evil} #?%.txt`).waitFor()
    const isAtNeedle = () => document.activeElement.matches('.cm-content') && getSelection().toString() === 'hostile needle'
    await page.waitForFunction(isAtNeedle)
    // The line is found again.
    await page.keyboard.press('Control+End')
    await page.getByRole('button', { name: /hostile needle/ }).click()
    await page.waitForFunction(isAtNeedle)
    await accessible(page, 'files')
    await page.getByLabel('Regular expression').check()
    await page.getByRole('searchbox').fill('(')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('alert').waitFor()
    assert.equal(await page.locator('img').count(), 0)
  },

  async shows_both_texts_of_a_conflict({ page }) {
    up('demo')
    const file = path.join(here.root, 'note')
    fs.writeFileSync(file, 'first\n')
    await opened(page)
    await page.goto(`${here.origin}/#/sandboxes/demo/files`)
    await item(page, /^note/).click()
    const mine = editor(page, 'note')
    const theirs = editor(page, 'The file now')
    await rewrite(page, mine, 'mine\n')
    fs.writeFileSync(file, 'theirs\n')
    await save(page)
    await page.getByText('was changed meanwhile').waitFor()
    await holds(theirs, 'theirs\n')
    assert.equal(await linesOf(mine), 'mine\n')
    assert.equal(fs.readFileSync(file, 'utf8'), 'theirs\n')
    await accessible(page, 'conflict')
    // The file changes once more: the new text is shown, and nothing is lost.
    fs.writeFileSync(file, 'theirs again\n')
    await page.getByRole('button', { name: 'Replace the file' }).click()
    await holds(theirs, 'theirs again\n')
    await page.getByRole('button', { name: 'Replace the file' }).click()
    await isSaved(page)
    assert.equal(fs.readFileSync(file, 'utf8'), 'mine\n')
    await rewrite(page, mine, 'more of mine\n')
    fs.writeFileSync(file, 'theirs\n')
    await save(page)
    await page.getByRole('button', { name: 'Take the file, drop your text' }).click()
    await holds(mine, 'theirs\n')
    await rewrite(page, mine, 'kept\n')
    fs.rmSync(file)
    await save(page)
    await page.getByText('was deleted meanwhile').waitFor()
    await page.getByRole('button', { name: 'Write your text to a new file' }).click()
    await isSaved(page)
    assert.equal(fs.readFileSync(file, 'utf8'), 'kept\n')
  },

  async uploads_by_drop_and_downloads({ page }) {
    up('demo')
    fs.mkdirSync(path.join(here.root, 'into'))
    await opened(page)
    await page.goto(`${here.origin}/#/sandboxes/demo/files`)
    await item(page, /^into/).click()
    const drop = (name, size, letter) => page.evaluate(([name, size, letter]) => {
      const data = new DataTransfer()
      data.items.add(new File([letter.repeat(size)], name))
      document.querySelector('.files').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    }, [name, size, letter])
    await drop('a b#.txt', 100_000, 'x')
    await page.getByText('Uploaded').waitFor()
    await item(page, /^a b#.txt/).waitFor()
    const file = path.join(here.root, 'into/a b#.txt')
    assert.equal(fs.readFileSync(file, 'utf8'), 'x'.repeat(100_000))
    // A file that is there is replaced only if the person says so.
    await page.getByRole('button', { name: 'Dismiss a b#.txt' }).click()
    await drop('a b#.txt', 10, 'y')
    await page.getByText('There is a file of this name').waitFor()
    assert.equal(fs.readFileSync(file, 'utf8').length, 100_000)
    await page.getByRole('button', { name: 'Replace a b#.txt' }).click()
    await page.getByText('Uploaded').waitFor()
    assert.equal(fs.readFileSync(file, 'utf8'), 'y'.repeat(10))
    // The browser sends slowly, so the upload is there to be cancelled.
    const slow = await page.context().newCDPSession(page)
    await slow.send('Network.enable')
    await slow.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 100_000 })
    await drop('large', 50_000_000, 'z')
    await page.getByRole('progressbar', { name: 'Progress of large' }).waitFor()
    await page.getByText(/of 47.7 MiB/).waitFor()
    await accessible(page, 'upload')
    await page.getByRole('button', { name: 'Cancel large' }).click()
    await page.getByText('Upload cancelled').waitFor()
    await slow.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 })
    assert.deepEqual(fs.readdirSync(path.join(here.root, 'into')), ['a b#.txt'])
    const saved = async button => {
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button, exact: true }).click()])
      return { name: download.suggestedFilename(), path: await download.path() }
    }
    const archive = await saved('Download as tar')
    assert.equal(archive.name, 'into.tar')
    assert.match(execFileSync('tar', ['-tf', archive.path], { encoding: 'utf8' }), /a b#.txt/)
    await item(page, /^a b#.txt/).click()
    const one = await saved('Download')
    assert.equal(fs.readFileSync(one.path, 'utf8'), 'y'.repeat(10))
    await item(page, /^into/).click()
    fs.rmSync(path.join(here.root, 'into'), { recursive: true })
    await page.getByRole('button', { name: 'Download as tar' }).click()
    await page.getByText('Download failed').waitFor()
  },

  async uploads_a_directory_by_drop({ page }) {
    up('demo')
    const from = path.join(process.env.HOME, 'dropped')
    const files = ['one.csv', 'sub/ü #?.txt', 'sub/deep/two']
    for (const name of files) {
      fs.mkdirSync(path.dirname(path.join(from, 'data', name)), { recursive: true })
      fs.writeFileSync(path.join(from, 'data', name), `of ${name}`)
    }
    fs.writeFileSync(path.join(from, 'single'), 'of single')
    await opened(page)
    await filesOf(page, 'demo')
    const pointer = await page.context().newCDPSession(page)
    const { x, y } = await page.locator('.tree').boundingBox()
    const drop = async () => {
      const data = { items: [], files: [path.join(from, 'data'), path.join(from, 'single')], dragOperationsMask: 1 }
      for (const type of ['dragEnter', 'dragOver', 'drop']) await pointer.send('Input.dispatchDragEvent', { type, x: x + 50, y: y + 50, data })
    }
    const isThere = () => files.every(name => content(`data/${name}`) === `of ${name}`) && content('single') === 'of single'
    await drop()
    await page.getByRole('button', { name: 'Dismiss all 4' }).click()
    assert.ok(isThere())
    assert.equal(await page.getByRole('listitem').count(), 0)
    // Whether files that are there are replaced is asked once.
    for (const name of files) put(`data/${name}`, 'other')
    await drop()
    await page.getByRole('button', { name: 'Skip all 4' }).click()
    assert.equal(content('data/one.csv'), 'other')
    await drop()
    await page.getByRole('button', { name: 'Replace all 4' }).click()
    await page.getByRole('button', { name: 'Dismiss all 4' }).waitFor()
    await accessible(page, 'uploads')
    assert.ok(isThere())
    // A page that sends very many would be busy for long.
    for (let index = 0; index < 1001; ++index) fs.writeFileSync(path.join(from, 'data/sub', `${index}`), '')
    await drop()
    await page.getByRole('alert').getByText('more than 1,000 files').waitFor()
    fs.rmSync(from, { recursive: true })
  },

  async pages_a_long_directory({ page }) {
    up('demo')
    fs.mkdirSync(path.join(here.root, 'long'))
    for (let index = 0; index < 1500; ++index) fs.writeFileSync(path.join(here.root, 'long', `file-${String(index).padStart(4, '0')}`), '')
    await opened(page)
    await filesOf(page, 'demo')
    await item(page, /^long/).click()
    await item(page, /^file-/).first().waitFor()
    await item(page, 'Show more…').click()
    await item(page, 'file-1499').waitFor()
    assert.equal(await item(page, /^file-/).count(), 1500)
    assert.equal(await item(page, 'Show more…').count(), 0)
  },

  async downloads_a_directory_as_tar({ page }) {
    up('demo')
    const files = { 'project/main.py': 'print(1)\n', 'project/a b/<b>#?%.txt': 'text', 'project/empty': '', 'project/data': 'x'.repeat(300_000) }
    for (const [name, text] of Object.entries(files)) put(name, text)
    fs.symlinkSync('main.py', path.join(here.root, 'project/link'))
    await opened(page)
    await filesOf(page, 'demo')
    await item(page, /^project/).click()
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download as tar' }).click()])
    assert.equal(download.suggestedFilename(), 'project.tar')
    await page.getByText('Downloaded', { exact: true }).waitFor()
    const into = path.join(process.env.HOME, 'unpacked')
    fs.rmSync(into, { recursive: true, force: true })
    fs.mkdirSync(into)
    execFileSync('tar', ['-xf', await download.path(), '-C', into])
    for (const [name, text] of Object.entries(files)) assert.equal(fs.readFileSync(path.join(into, name.replace('project/', '')), 'utf8'), text)
    assert.equal(fs.readlinkSync(path.join(into, 'link')), 'main.py')
  },

  async cancels_an_upload_of_a_gibibyte({ page }) {
    up('demo')
    put('large', 'kept')
    const large = path.join(process.env.HOME, 'large')
    fs.writeFileSync(large, '')
    fs.truncateSync(large, 1 << 30)
    await opened(page)
    await filesOf(page, 'demo')
    await page.locator('input[type=file]').setInputFiles(large)
    const replace = page.getByRole('button', { name: 'Replace large' })
    await replace.waitFor()
    // The browser sends slowly, so that there is time to cancel.
    const slow = await page.context().newCDPSession(page)
    await slow.send('Network.enable')
    await slow.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 20_000_000 })
    await replace.click()
    await page.getByText(/[1-9][\d.]* MiB of 1.0 GiB/).waitFor()
    await page.getByRole('button', { name: 'Cancel large' }).click()
    await page.getByText('Upload cancelled').waitFor()
    await slow.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 })
    assert.equal(content('large'), 'kept')
    assert.deepEqual(fs.readdirSync(here.root), ['large'])
    fs.rmSync(large)
    assert.match(skiff('exec', 'demo', '--', 'echo', 'alive'), /alive/)
  }
}
