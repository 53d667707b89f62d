// Prints the code of the error with which a creation fails.

import { Sandbox } from 'skiff-sandbox'

console.log(await Sandbox.create().then(() => 'created', error => error.code))
