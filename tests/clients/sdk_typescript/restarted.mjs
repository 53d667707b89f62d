// Runs a command whose answer is lost, while another agent takes the place of the first one. It prints the code of the error.

import { Sandbox } from 'skiff-sandbox'

const box = await Sandbox.connect()
await box.run('true')
console.log(await box.run('head -c 20000 /dev/zero; echo again >> ran').then(() => 'ran', error => error.code))
