// Small pictures in greys: PNG files with one byte a pixel.

import zlib from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const NAME = { header: 'IHDR', data: 'IDAT', end: 'IEND' }

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const whole = Buffer.alloc(body.length + 8)
  whole.writeUInt32BE(data.length, 0)
  body.copy(whole, 4)
  whole.writeUInt32BE(zlib.crc32(body), body.length + 4)
  return whole
}

/** A PNG file of a picture {width, height, greys}. */
export function encoded({ width, height, greys }) {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header[8] = 8  // bits a pixel, of the colour type 0, grey
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; ++y) Buffer.from(greys).copy(rows, y * (width + 1) + 1, y * width, (y + 1) * width)
  return Buffer.concat([SIGNATURE, chunk(NAME.header, header), chunk(NAME.data, zlib.deflateSync(rows, { level: 9 })), chunk(NAME.end, Buffer.alloc(0))])
}

/** The picture of a file that `encoded` has made. */
export function decoded(file) {
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)]
  const at = file.indexOf(NAME.data)
  const rows = zlib.inflateSync(file.subarray(at + 4, at + 4 + file.readUInt32BE(at - 4)))
  const greys = new Uint8Array(width * height)
  for (let y = 0; y < height; ++y) greys.set(rows.subarray(y * (width + 1) + 1, (y + 1) * (width + 1)), y * width)
  return { width, height, greys }
}
