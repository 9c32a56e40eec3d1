/** Passkeys: adds one, and signs in with one, in the browser. Requests and answers contain bytes as base64url. */

import { api } from './api.js';
import { Refusal } from './errors.js';
import { loadMe } from './me.js';

/** Whether this page can use passkeys. Browsers accept them only for host names. */
export function hasPasskeys() {
  const isAddress = /^[\d.]+$|:/.test(location.hostname);
  return 'PublicKeyCredential' in window && !isAddress;
}

/**
 * Adds a passkey of this device, or of a security key that the user connects.
 * @param {string} password
 * @param {string} name
 */
export async function addPasskey(password, name) {
  const options = await api.post('/api/auth/passkeys/begin', { password });
  const credential = await ask(() =>
    navigator.credentials.create({
      publicKey: {
        challenge: decode(options.challenge),
        rp: { id: options.rp_id, name: options.rp_name },
        user: { id: decode(options.user_id), name: options.user_name, displayName: options.user_name },
        pubKeyCredParams: options.algorithms.map((alg) => ({ type: 'public-key', alg })),
        excludeCredentials: options.exclude.map(descriptor),
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
        attestation: 'none',
      },
    }),
  );
  const response = /** @type {AuthenticatorAttestationResponse} */ (credential.response);
  return api.post('/api/auth/passkeys', {
    name,
    client_data: encode(response.clientDataJSON),
    authenticator_data: encode(response.getAuthenticatorData()),
  });
}

/**
 * Signs in with a passkey: instead of a password, or as the second step of a login.
 * @param {string} [token] of the pending login
 */
export async function signInWithPasskey(token) {
  const options = await api.post('/api/auth/passkeys/challenge', { token }, { anonymous: true });
  const credential = await ask(() =>
    navigator.credentials.get({
      publicKey: {
        challenge: decode(options.challenge),
        rpId: options.rp_id,
        allowCredentials: options.allow.map(descriptor),
        userVerification: /** @type {UserVerificationRequirement} */ (options.user_verification),
      },
    }),
  );
  const response = /** @type {AuthenticatorAssertionResponse} */ (credential.response);
  const answer = {
    token,
    credential_id: encode(credential.rawId),
    client_data: encode(response.clientDataJSON),
    authenticator_data: encode(response.authenticatorData),
    signature: encode(response.signature),
    user_handle: response.userHandle ? encode(response.userHandle) : undefined,
  };
  await api.post('/api/auth/passkeys/login', answer, { anonymous: true });
  return loadMe();
}

/**
 * Runs a request to the browser and converts its errors. Browsers hide why a passkey was not used: otherwise pages
 * could find out which passkeys exist.
 * @param {() => Promise<Credential | null>} question
 */
async function ask(question) {
  let credential;
  try {
    credential = await question();
  } catch (error) {
    const { name } = /** @type {Error} */ (error);
    if (name === 'InvalidStateError') throw new Refusal('This device has a passkey for your account already.');
    throw new Refusal('No passkey was used.', 'Try again, or sign in another way.');
  }
  return /** @type {PublicKeyCredential} */ (credential);
}

/** @param {string} id @returns {PublicKeyCredentialDescriptor} */
const descriptor = (id) => ({ type: 'public-key', id: decode(id) });

/** @param {string} text */
function decode(text) {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
}

/** @param {ArrayBuffer} buffer */
function encode(buffer) {
  const binary = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
