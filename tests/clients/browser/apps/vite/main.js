import { text } from './text.js'

const show = value => { document.querySelector('#text').textContent = value }
show(text)
if (import.meta.hot) import.meta.hot.accept('./text.js', module => show(module.text))
