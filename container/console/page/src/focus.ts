/** True if nobody works elsewhere: what a person has pressed to come to a view keeps no key from its terminal or its text. */
export function isFree(focus: Element | null): boolean {
  return !focus || focus === document.body || focus.matches("h1, nav [aria-current]");
}
