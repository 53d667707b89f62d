'use server'

export async function count (from) {
  return from + 1
}
