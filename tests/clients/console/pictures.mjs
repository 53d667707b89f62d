// Pictures of the page, compared with those of an earlier run.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import path from 'node:path'

import { decoded, encoded } from './greys.mjs'

const REFERENCES = fileURLToPath(new URL('pictures', import.meta.url))
/** Where pictures that differ are left. */
const LEFT = process.env.PICTURES ?? fileURLToPath(new URL('../../../build/pictures', import.meta.url))
const RENEW = 'SKIFF_UPDATE_PICTURES=1 pytest tests/clients/console -k looks_as_it_did'

const SCALE = 2
/** Greys are kept in so many steps: a file is then below 10 KB. */
const STEPS = 32
/** A pixel, which stands for four of the page, differs by more than this: a letter that is gone, or fainter, does. */
const MOST_GREY = 28
/** So many pixels may differ: another version of the browser rounds a curve another way. */
const MOST_PIXELS = 4
const TRIES = 40

/** The picture in greys at a quarter of its size. A page of the browser knows how to read it. */
async function small(reader, file) {
  const { width, height, greys } = await reader.evaluate(async ([text, scale, steps]) => {
    const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${text}`)).blob())
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height)
    const drawing = canvas.getContext('2d', { willReadFrequently: true })
    drawing.drawImage(bitmap, 0, 0)
    const { data } = drawing.getImageData(0, 0, bitmap.width, bitmap.height)
    const [width, height] = [Math.floor(bitmap.width / scale), Math.floor(bitmap.height / scale)]
    const sums = new Float64Array(width * height)
    for (let y = 0; y < height * scale; ++y) {
      for (let x = 0; x < width * scale; ++x) {
        const at = 4 * (y * bitmap.width + x)
        sums[Math.floor(y / scale) * width + Math.floor(x / scale)] += 0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2]
      }
    }
    const step = 255 / (steps - 1)
    // As a text, because a list of numbers takes the browser a second.
    const greys = Array.from(sums, sum => String.fromCharCode(Math.round(Math.round(sum / scale / scale / step) * step))).join('')
    return { width, height, greys: btoa(greys) }
  }, [file.toString('base64'), SCALE, STEPS])
  return { width, height, greys: Buffer.from(greys, 'base64') }
}

/** The pixels that differ. */
function differences(one, other) {
  if (one.width !== other.width || one.height !== other.height) return [...one.greys.keys()]
  return [...one.greys.keys()].filter(at => Math.abs(one.greys[at] - other.greys[at]) > MOST_GREY)
}

/** Compares what the page shows with the pictures of other runs. What changes by itself is covered: `masks`, locators. */
export class Pictures {
  constructor(page, reader) {
    this.page = page
    this.reader = reader
    this.told = []
  }

  /** In both themes; waits a moment until it is drawn. */
  async compare(name, masks = []) {
    for (const colorScheme of ['light', 'dark']) {
      await this.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await this.compareOne(`${name}-${colorScheme}`, masks)
    }
  }

  async compareOne(name, mask) {
    const reference = path.join(REFERENCES, `${name}.png`)
    const renews = Boolean(process.env.SKIFF_UPDATE_PICTURES)
    const expected = fs.existsSync(reference) && !renews ? decoded(fs.readFileSync(reference)) : undefined
    let now, found, differ, before
    for (let tries = 0; tries < TRIES; ++tries) {
      now = await this.page.screenshot({ mask, maskColor: '#808080', animations: 'disabled' })
      found = await small(this.reader, now)
      differ = differences(found, expected ?? before ?? { width: 0 })
      if (differ.length <= (expected ? MOST_PIXELS : 0)) break
      before = found
      await this.page.waitForTimeout(50)
    }
    if (renews) return fs.writeFileSync(reference, encoded(found))
    if (expected && differ.length <= MOST_PIXELS) return
    fs.mkdirSync(LEFT, { recursive: true })
    const files = ['', '-small', '-expected'].map(end => path.join(LEFT, `${name}${end}.png`))
    fs.writeFileSync(files[0], now)
    fs.writeFileSync(files[1], encoded(found))
    if (expected) fs.copyFileSync(reference, files[2])
    const [x, y] = [differ[0] % found.width, Math.floor(differ[0] / found.width)].map(one => one * SCALE)
    this.told.push(expected ? `${name} differs at ${differ.length} places of ${SCALE}x${SCALE} pixels, first at ${x},${y}: compare ${files[1]} with ${files[2]}`
      : `${name} has no picture of earlier: ${files[1]}`)
  }

  /** Tells of all that differ. */
  end() {
    assert.deepEqual(this.told, [], `If they are meant to be so: ${RENEW}`)
  }
}
