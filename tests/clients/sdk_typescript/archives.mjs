// Unpacks archives that a hostile sandbox could send, with the modules that `download` uses. It prints a line of JSON for each case.

import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { entriesOf, headerOf, padding, trailer } from './node_modules/skiff-sandbox/dist/tar.js'
import { temporary } from './node_modules/skiff-sandbox/dist/trees.js'

const encoder = new TextEncoder()

function assert (is, message) {
  if (!is) throw new Error(message)
}

function entry (path, more = {}) {
  return { path, type: 'file', mode: 0o755, mtime: 1_700_000_000, size: 0, target: '', ...more }
}

function link (path, target) {
  return entry(path, { type: 'symlink', target })
}

/** Unpacks entries into a new directory: the code of the error, or null. */
async function unpacked (...entries) {
  const folder = await fs.mkdtemp(`${tmpdir()}/archives-`)
  const archive = await temporary()
  try {
    for (const one of entries) await archive.add(headerOf(one))
    await archive.add(trailer())
    return await archive.unpack(`${folder}/target`).then(() => null, error => error.code ?? error.message)
  } finally {
    await archive.remove()
    assert((await fs.readdir(folder)).every(name => name === 'target'), 'something was written outside')
    await fs.rm(folder, { recursive: true })
  }
}

async function refuses (...links) {
  for (const [path, target] of links) {
    const code = await unpacked(link(path, target))
    assert(code === 'path_escapes_root', `${path} -> ${target}: ${code}`)
  }
}

/** A header whose pax record says another size. */
function withSize (size) {
  const value = `size=${size}\n`
  const length = value.length + 3
  const text = encoder.encode(`${length} ${value}`)
  assert(text.length === length, `${text.length} is not ${length}`)
  const pax = headerOf(entry('pax', { size: text.length }))
  pax[156] = 'x'.charCodeAt(0)
  pax.fill(0x20, 148, 156)
  const sum = pax.reduce((all, byte) => all + byte, 0)
  pax.set(encoder.encode(`${sum.toString(8).padStart(6, '0')}\0`), 148)
  return [pax, text, padding(text.length), headerOf(entry('a')), trailer()]
}

const cases = {
  async links_inside_are_made () {
    for (const [path, target] of [['a', 'b'], ['a', '...'], ['a/b', '../c'], ['a/b/c', '.././../d/...'], ['a/b/.', '../c'], ['a', '..b/c']]) {
      const code = await unpacked(link(path, target))
      assert(code === null, `${path} -> ${target}: ${code}`)
    }
  },

  async links_that_lead_out_are_refused () {
    await refuses(['a', '/etc'], ['a', '..'], ['a', '../b'], ['a/b', '../../c'], ['a/b', './../.././c'])
  },

  async parents_of_what_may_be_a_link_are_refused () {
    await refuses(['a', 'b/..'], ['a', '.../..'], ['a', '.../../..'], ['a/b', '../.../../..'], ['a', '..../x/../..'], ['a/b/c', '../d/..'])
  },

  async a_path_that_ends_in_a_dot_is_no_deeper () {
    await refuses(['a/.', '../b'], ['a/./', '../b'], ['a//', '../b'], ['a/b/.', '../../c'], ['./a', '../b'], ['a/link/././.', '../../x'])
  },

  async a_size_is_a_number () {
    for (const size of ['x', '-1', '-512', '1.5', '9007199254740993', '1e400']) {
      const bytes = new Uint8Array(await new Blob(withSize(size)).arrayBuffer())
      let at = 0
      let failure
      try {
        for await (const _ of entriesOf(async (from, length) => bytes.slice(from, from + length))) assert(++at < 9, 'it has no end')
      } catch (error) {
        failure = error.message
      }
      assert(failure === 'the archive is damaged: an entry has no size', `${size}: ${failure}`)
    }
  }
}

for (const [name, work] of Object.entries(cases)) {
  let failure = null
  try {
    await work()
  } catch (error) {
    failure = String(error?.stack ?? error)
  }
  console.log(JSON.stringify({ case: name, failure }))
}
