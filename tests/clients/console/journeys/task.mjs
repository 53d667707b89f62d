import assert from 'node:assert/strict'
import path from 'node:path'

import { content, editor, isSaved, item, opened, row, run, save, screen, shows, skiff, up } from '../person.mjs'

const PROGRAM = `import collections
import sys


def words(text):
    for line in text:
        yield from line.lower().split()


counted = collections.Counter(words(sys.stdin))
for word, count in counted.most_common(3):
    print(f"{count:5} {word.upper}")
`
/** A picture for the documents. */
async function picture(page, name, height = 560) {
  if (!process.env.PICTURES) return
  await page.waitForTimeout(500)  // the screen is drawn, and no button is hovered
  await page.screenshot({ path: path.join(process.env.PICTURES, `console-${name}.png`), clip: { x: 0, y: 0, width: 1100, height } })
}

export default {
  async writes_runs_and_mends_a_program({ page }) {
    await page.setViewportSize({ width: 1100, height: 560 })
    up('demo', '--ttl', '8h')
    up('old-run')
    skiff('stop', 'old-run', '-q')
    up('reviewer', '--ttl', '30m')
    await opened(page)
    await row(page, 'reviewer').waitFor()
    await row(page, 'old-run').getByText('stopped').waitFor()
    await picture(page, 'sandboxes', 310)
    await page.getByRole('link', { name: 'demo' }).click()
    await page.getByRole('link', { name: 'Files' }).click()
    for (const [name, said] of [['../out', 'This is not a name of a file.'], ['words/count.py', '']]) {
      await page.getByRole('button', { name: 'New file' }).click()
      await page.getByLabel('Name in /').fill(name)
      await page.getByRole('button', { name: 'Make', exact: true }).click()
      if (said) await page.getByText(said).waitFor()
      if (said) await page.getByRole('button', { name: 'Cancel' }).click()
    }
    // The new file has the cursor, and the tree shows it.
    const text = editor(page, 'words/count.py')
    await page.waitForFunction(() => document.activeElement.matches('.cm-content'))
    assert.equal(await item(page, /^count.py/).getAttribute('aria-selected'), 'true')
    await page.keyboard.insertText(PROGRAM)
    await page.keyboard.press('Control+s')
    await isSaved(page)
    // A name that is taken is not taken again.
    await page.getByRole('button', { name: 'New file' }).click()
    await page.getByLabel('Name in words').fill('count.py')
    await page.keyboard.press('Enter')
    await page.getByText('There is a file of this name.').waitFor()
    await page.keyboard.press('Escape')
    assert.equal(content('words/count.py'), PROGRAM)
    await page.getByRole('link', { name: 'Terminal' }).click()
    // Whoever opens a terminal types at once.
    await page.waitForFunction(() => document.activeElement.matches('.xterm-helper-textarea'))
    await run(page, "PS1='demo$ '; cd words; clear")
    await run(page, 'printf "the boat\\nthe river\\nThe boat\\n" | python3 count.py')
    await shows(page, '<built-in method upper')
    await page.getByRole('link', { name: 'Files' }).click()
    // It is as it was left.
    await text.getByText('upper').click()
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.type('()')
    await page.getByRole('button', { name: 'Show changes' }).click()
    await page.locator('.cm-deletedChunk').waitFor()
    await page.mouse.move(0, 0)
    await picture(page, 'changes')
    await page.getByRole('link', { name: 'Commands' }).click()
    await page.getByRole('link', { name: /^Files.*edits are not saved/ }).click()
    // Whoever comes back goes on in the text; Ctrl-S saves wherever the focus is.
    await page.waitForFunction(() => document.activeElement.matches('.cm-content'))
    await page.getByRole('link', { name: /^Files/ }).focus()
    await page.keyboard.press('Control+s')
    await isSaved(page)
    assert.equal(content('words/count.py'), PROGRAM.replace('upper}', 'upper()}'))
    await page.getByRole('link', { name: 'Terminal' }).click()
    await page.locator('.xterm-screen').waitFor()
    await shows(page, '<built-in method upper')
    await run(page, 'printf "the boat\\nthe river\\nThe boat\\n" | python3 count.py; ls -l --color')
    await shows(page, '3 THE')
    await picture(page, 'terminal')
  }
}
