import { Counter } from './counter'

export default function Page () {
  return <main><p>the first text</p><Counter /></main>
}
