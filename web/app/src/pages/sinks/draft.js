/** The draft of a sink, and the requests made from it. */
import { hashOf } from '../../lib/hash.js';
import { patternsOf } from '../events/patterns.js';

/** @import { Sink, SinkType } from 'api' */

/** @typedef {{key: number, name: string, value: string}} Header */
/**
 * @typedef {object} Draft
 * @property {string} name
 * @property {string} description
 * @property {SinkType} type
 * @property {'user' | 'global'} owner
 * @property {boolean} active
 * @property {string} patterns text with commas or line breaks
 * @property {string} url
 * @property {string} format of the requests of a webhook
 * @property {string} filter '' if there is none; the page shows what it decides, and does not change it
 * @property {string} key the expression that orders deliveries; '' if there is none
 * @property {Header[]} headers
 * @property {string} secret
 * @property {boolean} keepExchanges the requests and responses of deliveries are kept
 * @property {boolean} templated the body comes from the template, not from the default
 * @property {string} template
 * @property {boolean} stored the sink runs a stored script, not its own source
 * @property {string} scriptId
 * @property {string} source
 */

const TEMPLATE = `{
  "text": "\${{ event.type }} by \${{ actor.username }}",
  "data": \${{ event.data }}
}`;

const SOURCE = `import svc.event as event

print(event.type(), event.data())
`;

/** Members of a draft that a tab does not store: secrets, and headers, whose values may be credentials. */
export const UNSTORED = /** @type {(keyof Draft)[]} */ (['secret', 'headers']);

let lastKey = 0;
/** @param {string} [name] @param {string} [value] @returns {Header} */
export const newHeader = (name = '', value = '') => ({ key: ++lastKey, name, value });

/** @param {Partial<Draft>} given @returns {Draft} */
export function newDraft(given) {
  return {
    name: '',
    description: '',
    type: 'webhook',
    owner: 'user',
    active: true,
    patterns: '',
    url: '',
    format: 'default',
    filter: '',
    key: '',
    headers: [],
    secret: '',
    keepExchanges: false,
    templated: false,
    template: TEMPLATE,
    stored: false,
    scriptId: '',
    source: SOURCE,
    ...given,
  };
}

/**
 * The name of the stored draft of a sink. It has a hash of the settings of the sink: a draft of older settings would
 * undo the changes of other users.
 * @param {Sink} sink
 */
export function draftName(sink) {
  const text = JSON.stringify(draftOf(sink), (key, value) => (key === 'headers' ? sink.webhook?.headers : value));
  return `sink.${sink.id}.${hashOf(text)}`;
}

/** @param {Sink} sink @returns {Draft} */
export function draftOf(sink) {
  const template = sink.webhook?.body_template ?? sink.json_rpc?.body_template ?? null;
  return newDraft({
    name: sink.name,
    description: sink.description,
    type: sink.type,
    owner: sink.owner,
    active: sink.active,
    patterns: sink.patterns.join('\n'),
    url: sink.webhook?.url ?? '',
    format: sink.webhook?.format ?? 'default',
    filter: sink.delivery?.filter ?? '',
    key: sink.delivery?.key ?? '',
    headers: Object.entries(sink.webhook?.headers ?? {}).map(([name, value]) => newHeader(name, value)),
    keepExchanges: sink.delivery?.keep_exchanges === true,
    templated: template !== null,
    template: template ?? TEMPLATE,
    stored: Boolean(sink.script?.script_id),
    scriptId: sink.script?.script_id ?? '',
    source: sink.script?.source ?? SOURCE,
  });
}

/** @param {Draft} draft */
const headersOf = (draft) =>
  Object.fromEntries(
    draft.headers.filter((header) => header.name.trim()).map((header) => [header.name.trim(), header.value]),
  );
/** @param {Draft} draft */
export const templateOf = (draft) => (draft.templated && draft.type !== 'script' ? draft.template : null);

/** The type-specific part of the configuration. @param {Draft} draft @returns {Record<string, any>} */
function partOf(draft) {
  if (draft.type === 'webhook')
    return { webhook: { url: draft.url.trim(), headers: headersOf(draft), body_template: templateOf(draft) } };
  if (draft.type === 'json-rpc') return { json_rpc: { body_template: templateOf(draft) } };
  return { script: draft.stored ? { script_id: draft.scriptId } : { source: draft.source } };
}

/** The request body that creates the sink. @param {Draft} draft */
export function bodyOf(draft) {
  const part = partOf(draft);
  if (draft.type === 'webhook' && draft.secret.trim()) part.webhook.secret = draft.secret.trim();
  return {
    name: draft.name.trim(),
    description: draft.description.trim(),
    type: draft.type,
    owner: draft.owner,
    active: draft.active,
    patterns: patternsOf(draft.patterns),
    ...(draft.type === 'webhook' && draft.keepExchanges ? { delivery: { keep_exchanges: true } } : {}),
    ...part,
  };
}

/** Scheme, host and port. The text itself if it is not a URL. @param {string} url */
function originOf(url) {
  try {
    return new URL(url.trim()).origin;
  } catch {
    return url.trim();
  }
}

/**
 * Whether the URL gets another origin. Stored secrets do not follow to another receiver: the values of the headers must
 * be entered again, and the sink gets another signing secret.
 * @param {Draft} before
 * @param {Draft} after
 */
export const movesOrigin = (before, after) => after.type === 'webhook' && originOf(before.url) !== originOf(after.url);

/**
 * The merge patch from one draft to the other. It contains only changes, so that it keeps concurrent changes of other
 * users. A removed header becomes `null`. With another origin, `secret` is the entered secret, or `null` for a new one.
 * @param {Draft} before
 * @param {Draft} after
 * @returns {Record<string, any>}
 */
export function patchOf(before, after) {
  /** @type {Record<string, any>} */
  const patch = {};
  for (const key of /** @type {const} */ (['name', 'description'])) {
    if (before[key].trim() !== after[key].trim()) patch[key] = after[key].trim();
  }
  const [was, is] = [patternsOf(before.patterns), patternsOf(after.patterns)];
  if (was.join() !== is.join()) patch.patterns = is;
  if (before.keepExchanges !== after.keepExchanges) patch.delivery = { keep_exchanges: after.keepExchanges };
  const [[key, old]] = Object.entries(partOf(before));
  const part = diff(old, partOf(after)[key]);
  if (movesOrigin(before, after)) part.secret = after.secret.trim() || null;
  if (Object.keys(part).length > 0) patch[key] = part;
  return patch;
}

/** @param {Record<string, any>} before @param {Record<string, any>} after @returns {Record<string, any>} */
function diff(before, after) {
  /** @type {Record<string, any>} */
  const patch = {};
  for (const [key, value] of Object.entries(after)) {
    if (key === 'headers') {
      const headers = diff(before.headers, value);
      for (const name of Object.keys(before.headers)) if (!Object.hasOwn(value, name)) headers[name] = null;
      if (Object.keys(headers).length > 0) patch.headers = headers;
    } else if (before[key] !== value) patch[key] = value;
  }
  return patch;
}
