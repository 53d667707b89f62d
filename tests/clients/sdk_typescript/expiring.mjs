// Follows a command for longer than a token of the program skiff is valid. It prints how many lines came.

import { Sandbox } from 'skiff-sandbox'

const box = await Sandbox.create()
const job = await box.start('for n in $(seq 25); do echo $n; sleep 1; done')
const texts = []
for await (const event of job) if (event.type === 'output') texts.push(event.text)
console.log(texts.join('').trim().split('\n').length, (await box.run('echo still')).stdout.trim())
await box.remove()
