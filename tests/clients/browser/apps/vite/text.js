export const text = 'the first text'
