/** An authenticator app (RFC 6238), written independently of the server. */
import { createHmac } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * The code of the current step of 30 seconds, or of a later step. The server accepts each step once, and also accepts
 * the step after the current one.
 * @param {string} secret in base32
 * @param {number} [later] number of steps
 */
export function codeOf(secret, later = 0) {
  const bits = [...secret].map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later));
  const tag = createHmac('sha1', key).update(counter).digest();
  const number = tag.readUInt32BE((tag.at(-1) ?? 0) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}
