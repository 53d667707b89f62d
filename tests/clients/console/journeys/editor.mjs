import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'

import { accessible, content, editor, filesOf, here, holds, isSaved, item, linesOf, opened, put, rewrite, save, skiff, tunnel,
  up } from '../person.mjs'

const PROGRAMS = {
  'a.py': 'def hello(name):\n    return "hello"  # a comment\n', 'a.ts': 'const one: number = 1 // a comment\n', 'a.json': '{"one": [1, true]}\n',
  'a.yaml': 'one: "two" # a comment\n', 'a.md': '# A heading\n\n**strong**\n\n```python\nreturn "text"\n```\n', 'a.sh': 'echo "text" # a comment\n',
  'a.cpp': 'int main() { return 0; } // a comment\n', 'a.go': 'func main() { return } // a comment\n', 'a.rs': 'fn main() { let one = 1; } // a comment\n',
  'a.html': '<p class="one">text</p>\n', 'a.css': 'p { color: red; }\n', Dockerfile: 'FROM debian\n', program: '#!/usr/bin/env python3\nreturn "text"\n'
}
/** Kinds of text with a colour of their own. */
const colours = one => one.evaluate(element => new Set([...element.querySelectorAll('[class*=tok-]')].map(span => span.className)).size)

export default {
  async edits_in_colours_by_the_keyboard({ page }) {
    up('demo')
    for (const [name, text] of Object.entries(PROGRAMS)) put(name, text)
    await opened(page)
    await filesOf(page, 'demo')
    for (const name of Object.keys(PROGRAMS)) {
      await item(page, new RegExp(`^${name}`)).click()
      await editor(page, name).waitFor()
      assert.ok(await colours(editor(page, name)) >= (name === 'Dockerfile' ? 1 : 2), `${name} has no colours`)
    }
    await item(page, /^a.py/).click()
    const text = editor(page, 'a.py')
    await text.focus()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('if hello:\nprint(1)')
    // It knows how far the file's lines are indented.
    await holds(text, PROGRAMS['a.py'] + 'if hello:\n    print(1)')
    await page.keyboard.press('Control+z')
    await page.keyboard.press('Control+y')
    await page.keyboard.press('Control+f')
    await page.getByRole('textbox', { name: 'Find' }).fill('hello')
    await accessible(page, 'editor-search')
    await page.getByRole('textbox', { name: 'Find' }).press('Escape')
    await page.keyboard.press('Control+s')
    await isSaved(page)
    assert.equal(content('a.py'), PROGRAMS['a.py'] + 'if hello:\n    print(1)')
    // Tab indents; Escape and Tab leaves the text, in both directions.
    const isThere = () => text.evaluate(element => element.contains(document.activeElement))
    await page.keyboard.press('Tab')
    assert.ok(await isThere())
    await page.keyboard.press('Control+z')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Shift+Tab')
    assert.ok(!await isThere(), 'Escape and Shift-Tab does not leave the text')
    await text.focus()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Tab')
    assert.ok(!await isThere(), 'Escape and Tab does not leave the text')
  },

  async shows_changes_before_saving({ page }) {
    up('demo')
    const lines = Array.from({ length: 300 }, (_, index) => `line ${index + 1}`)
    put('text', lines.join('\n') + '\n')
    await opened(page)
    await filesOf(page, 'demo')
    await item(page, /^text/).click()
    const text = editor(page, 'text')
    await text.focus()
    const changes = page.getByRole('button', { name: 'Show changes' })
    assert.ok(await changes.isDisabled())
    await page.keyboard.press('Control+End')
    await page.keyboard.type('one more')
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('changed ')
    await changes.click()
    await page.locator('.cm-deletedChunk').getByText('line 1', { exact: true }).waitFor()
    assert.equal(await changes.getAttribute('aria-pressed'), 'true')
    await accessible(page, 'changes')
    // F7 goes to the next change.
    await text.focus()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('F7')
    await text.getByText('one more').waitFor()
    await page.keyboard.press('F7')
    // One of the changes is taken back.
    await page.getByRole('button', { name: 'Take the file' }).first().click()
    await page.keyboard.press('Control+End')
    await text.getByText('one more').waitFor()
    await changes.click()
    await page.waitForFunction(() => !document.querySelector('.cm-deletedChunk, .cm-insertedLine'))
    await save(page)
    await isSaved(page)
    assert.equal(content('text'), [...lines, 'one more'].join('\n'))
  },

  async keeps_edits_that_are_not_saved({ page }) {
    up('demo')
    put('one', 'first\n')
    put('two', 'second\n')
    await opened(page)
    await filesOf(page, 'demo')
    await item(page, /^one/).click()
    await rewrite(page, editor(page, 'one'), 'mine')
    await item(page, /^two/).click()
    await editor(page, 'two').waitFor()
    await page.getByRole('link', { name: 'All sandboxes' }).click()
    put('one', 'theirs\n')
    await page.getByRole('link', { name: 'demo' }).click()
    await page.getByRole('link', { name: 'Files' }).click()
    await item(page, /^one/).click()
    await holds(editor(page, 'one'), 'mine')
    // Meanwhile somebody has changed the file, which is told before it is saved.
    await page.getByText('Somebody has changed the file').waitFor()
    assert.equal(content('one'), 'theirs\n')
    // Edits of a file that was removed are found, too.
    await item(page, /^two/).click()
    await rewrite(page, editor(page, 'two'), 'mine, too')
    await page.getByRole('link', { name: 'Stats' }).click()
    fs.rmSync(path.join(here.root, 'two'))
    await page.getByRole('link', { name: 'Files' }).click()
    await page.getByRole('button', { name: 'one', exact: true }).waitFor()
    await holds(editor(page, 'two'), 'mine, too')
    await accessible(page, 'not-saved')
    await page.getByRole('button', { name: 'Write it anew' }).click()
    await page.getByRole('button', { name: 'Write your text to a new file' }).click()
    await isSaved(page)
    assert.equal(content('two'), 'mine, too')
    const [dialog] = await Promise.all([page.waitForEvent('dialog'), page.reload()])
    assert.equal(dialog.type(), 'beforeunload')
  },

  async sees_what_others_change({ page }) {
    up('demo')
    put('src/note.md', '# One\n')
    await opened(page)
    await filesOf(page, 'demo')
    await item(page, /^src/).click()
    await item(page, /^note.md/).click()
    const text = editor(page, 'src/note.md')
    await holds(text, '# One\n')
    put('src/made.txt', 'text')
    await item(page, /^made.txt/).waitFor()
    fs.renameSync(path.join(here.root, 'src/made.txt'), path.join(here.root, 'src/moved.txt'))
    await item(page, /^moved.txt/).waitFor()
    await item(page, /^made.txt/).waitFor({ state: 'detached' })
    fs.rmSync(path.join(here.root, 'src/moved.txt'))
    await item(page, /^moved.txt/).waitFor({ state: 'detached' })
    skiff('exec', 'demo', '--', 'sh', '-c', 'mkdir new; echo text > new/inside')
    await item(page, /^new/).click()
    await item(page, /^inside/).waitFor()
    // An open directory that is removed is no trouble.
    fs.rmSync(path.join(here.root, 'new'), { recursive: true })
    await item(page, /^new/).waitFor({ state: 'detached' })
    put('more', '')
    await item(page, /^more/).waitFor()
    assert.equal(await page.getByRole('alert').count(), 0)
    // The text that is shown is the file's.
    put('src/note.md', '# One\n\nTwo\n')
    await holds(text, '# One\n\nTwo\n')
    await page.getByText('Somebody has changed the file. This is its text now.').waitFor()
    // Edits that are not saved stay, and both texts can be shown.
    await rewrite(page, text, '# Mine\n')
    put('src/note.md', '# Theirs\n')
    await page.getByText('Your text is kept').waitFor()
    assert.equal(await linesOf(text), '# Mine\n')
    await accessible(page, 'changed-meanwhile')
    await page.getByRole('button', { name: 'Show both' }).click()
    await holds(editor(page, 'The file now'), '# Theirs\n')
    await page.getByRole('button', { name: 'Take the file, drop your text' }).click()
    await holds(text, '# Theirs\n')
    // Who drops the own text sees the file as it is now, and can go on from there.
    await rewrite(page, text, '# Mine again\n')
    put('src/note.md', '# Theirs again\n')
    await page.getByText('Your text is kept').waitFor()
    await page.getByRole('button', { name: 'Undo all changes' }).click()
    await holds(text, '# Theirs again\n')
    await rewrite(page, text, '# Theirs\n')
    await save(page)
    await isSaved(page)
    fs.rmSync(path.join(here.root, 'src/note.md'))
    await page.getByText('The file was deleted. This was its text.').waitFor()
    await page.getByRole('button', { name: 'Write it anew' }).click()
    await page.getByRole('button', { name: 'Write your text to a new file' }).click()
    await isSaved(page)
    assert.equal(content('src/note.md'), '# Theirs\n')
  },

  async reads_files_again_after_a_cut({ page }) {
    const way = await tunnel()
    up('demo')
    put('note', 'one\n')
    await opened(page, way.origin)
    await filesOf(page, 'demo', way.origin)
    await item(page, /^note/).click()
    await holds(editor(page, 'note'), 'one\n')
    way.cut()
    await page.getByText('What others change is not shown now.').waitFor()
    // More happens than the agent remembers.
    fs.mkdirSync(path.join(here.root, 'many'))
    skiff('exec', 'demo', '--', 'sh', '-c', 'cd many && seq -f f%.0f 1 9000 | xargs touch && rm -r ../many')
    put('late', 'text')
    put('note', 'two\n')
    way.mend()
    await item(page, /^late/).waitFor()
    await holds(editor(page, 'note'), 'two\n')
    await page.getByText('What others change is not shown now.').waitFor({ state: 'detached' })
    await item(page, /^many/).waitFor({ state: 'detached' })
    way.close()
  },

  async only_shows_what_an_edit_would_spoil({ page }) {
    up('demo')
    put('mixed.py', 'one = 1\r\ntwo = 2\n')
    put('long.txt', 'x'.repeat((1 << 20) + 1))
    put('whole.txt', 'y'.repeat(1 << 20))
    await opened(page)
    await filesOf(page, 'demo')
    await item(page, /^mixed.py/).click()
    const mixed = editor(page, 'mixed.py')
    await mixed.waitFor()
    assert.equal(await mixed.getAttribute('aria-readonly'), 'true')
    assert.ok(await colours(mixed) > 0)
    await mixed.focus()
    await page.keyboard.type('typed')
    assert.equal(await linesOf(mixed), 'one = 1\ntwo = 2\n')
    await accessible(page, 'read-only')
    await item(page, /^long.txt/).click()
    await page.getByText('longer than 1 MiB').waitFor()
    await item(page, /^whole.txt/).click()
    await editor(page, 'whole.txt').focus()
    await page.keyboard.type('z')
    await page.keyboard.press('Control+s')
    await isSaved(page)
    assert.equal(content('whole.txt'), 'z' + 'y'.repeat(1 << 20))
  }
}
