// How much memory the page, the console's server and the agent take, and whether it grows.

import assert from 'node:assert/strict'
import fs from 'node:fs'

import { here } from './person.mjs'

/**
 * How much more the second half of a run may take than the first. A thing that leaks once a round is there a dozen times in a run of
 * ten minutes. One terminal has 100 elements, 40 listeners and 300 kB; one connection has a descriptor. Chromium's and
 * malloc's own pages come and go by megabytes.
 */
const MOST_MORE = {
  'page heap': 1 << 20, 'page nodes': 300, 'page listeners': 60, renderers: 40 << 20,
  'server private': 4 << 20, 'server descriptors': 6, 'server threads': 0, 'agent private': 4 << 20, 'agent descriptors': 6, 'agent threads': 4
}

const sum = (text, names) => names.reduce((all, name) => all + 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0), 0)

function ofProcess(name, pid) {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
  return {
    [`${name} rss`]: sum(status, ['VmRSS']),
    [`${name} private`]: sum(fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'), ['Private_Clean', 'Private_Dirty']),
    [`${name} descriptors`]: fs.readdirSync(`/proc/${pid}/fd`).length,
    [`${name} threads`]: Number(/^Threads:\s+(\d+)/m.exec(status)[1])
  }
}

/** The agent of the sandbox `demo`. */
function agent() {
  const words = pid => { try { return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0') } catch { return [] } }
  return fs.readdirSync('/proc').find(pid => /^\d+$/.test(pid) && words(pid).includes(here.root) && words(pid).includes('--sandbox-id'))
}

/**
 * Chromium keeps the bodies of answers for a DevTools client that listens to the network, up to 200 MB for a page, and Playwright
 * always listens. They would hide what the page keeps.
 */
export const keepNoAnswers = page => page._connection.toImpl(page).delegate._mainFrameSession._client.send('Network.disable')

/** What is in use now that the page has nothing to do. */
export async function measured(page) {
  const client = await page.context().newCDPSession(page)
  const whole = await page.context().browser().newBrowserCDPSession()
  try {
    // What the first collection has let go is found by the second one.
    for (let times = 0; times < 3; ++times) await client.send('HeapProfiler.collectGarbage')
    const { nodes, jsEventListeners } = await client.send('Memory.getDOMCounters')
    const { usedSize } = await client.send('Runtime.getHeapUsage')
    const { processInfo } = await whole.send('SystemInfo.getProcessInfo')
    // Their part of shared pages (Pss) grows when another browser of this machine ends.
    const renderers = processInfo.filter(({ type }) => type === 'renderer')
    return {
      'page heap': usedSize, 'page nodes': nodes, 'page listeners': jsEventListeners,
      renderers: renderers.reduce((all, { id }) => all + sum(fs.readFileSync(`/proc/${id}/smaps_rollup`, 'utf8'), ['Anonymous']), 0),
      ...ofProcess('server', here.console), ...ofProcess('agent', agent())
    }
  } finally {
    await client.detach()
    await whole.detach()
  }
}

const median = values => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
const shown = value => value >= 100_000 ? `${(value / 1e6).toFixed(1)} MB` : String(value)
export const asLine = sample => Object.entries(sample).map(([name, value]) => `${name} ${shown(value)}`).join(', ')

/** The medians of both halves. What is filled once, such as caches, is filled in the first rounds. */
export function doesNotGrow(samples) {
  const counted = samples.slice(Math.ceil(samples.length / 8))
  const middle = Math.floor(counted.length / 2)
  const told = []
  const grown = []
  for (const [name, most] of Object.entries(MOST_MORE)) {
    const [first, second] = [counted.slice(0, middle), counted.slice(middle)].map(half => median(half.map(one => one[name])))
    told.push(`${name} ${shown(first)} then ${shown(second)}`)
    if (second - first > most) grown.push(`${name} grows: ${shown(first)}, then ${shown(second)}; at most ${shown(most)} more`)
  }
  assert.deepEqual(grown, [])
  return told.join(', ')
}
