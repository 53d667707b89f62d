/** Base64 in every runtime: `Buffer` is not in browsers, and `Uint8Array.fromBase64` not in Node 20. */

export function bytesOfBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

export function base64OfBytes(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += 8192) pieces.push(String.fromCharCode(...bytes.subarray(at, at + 8192)));
  return btoa(pieces.join(""));
}

/** Text of an answer, which has `base64` where the bytes are not UTF-8: they become U+FFFD. */
export function textOf(text: string | undefined, base64: string | undefined): string {
  return base64 === undefined ? (text ?? "") : new TextDecoder().decode(bytesOfBase64(base64));
}

export function joined(pieces: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
