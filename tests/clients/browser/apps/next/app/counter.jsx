'use client'
import { useState } from 'react'
import { count } from './actions'

export function Counter () {
  const [clicked, setClicked] = useState(0)
  const [counted, setCounted] = useState(0)
  return <>
    <button onClick={() => setClicked(clicked + 1)}>client</button>
    <button onClick={async () => setCounted(await count(counted))}>server</button>
    <p>clicked {clicked}</p>
    <p>the server has counted {counted}</p>
  </>
}
