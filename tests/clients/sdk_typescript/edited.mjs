// Edits a file, and the answer is lost: the edit is not repeated. It prints the code of the error, and how many lines there are.

import { Sandbox } from 'skiff-sandbox'

const lines = Array.from({ length: 400 }, (_, index) => `a line with the number ${index}\n`).join('')
const direct = await Sandbox.connect('default', { url: process.env.DIRECT_URL })
await direct.files.write('file', lines)
const box = await Sandbox.connect()
const code = await box.files.edit('file', lines, 'new: ' + lines.replaceAll('a', 'b') + lines).then(() => 'edited', error => error.code)
console.log(code, (await direct.files.readText('file')).split('\n').length - 1)
