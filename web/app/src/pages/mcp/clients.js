/**
 * The configuration of each MCP client. `svc mcp config` prints the same configurations as the variants with a token:
 * change both together. The command also writes the full path of `svc`, the base path of the server and the file of a
 * private CA.
 */

/** The environment variable with the token, for configurations that do not contain the token. */
const TOKEN_VARIABLE = 'SVC_MCP_TOKEN';
/** Placeholder for a token that the user must insert. */
const PLACEHOLDER = '<token>';
const NAME_MAX = 32;

/**
 * @typedef {object} Entry
 * @property {string} name name of the server in the client
 * @property {string} url
 * @property {string | null} token null: the configuration names a variable, a prompt or a placeholder instead
 */
/**
 * @typedef {object} Client
 * @property {string} id as in `svc mcp config --client`, which has no `chatgpt`
 * @property {string} label
 * @property {Login} [login] connects with a login in the browser
 * @property {WithToken} [token] connects with a token
 */
/**
 * @typedef {object} Login
 * @property {import('../../lib/highlight.js').Language} [language]
 * @property {string} place where the configuration belongs
 * @property {(entry: Entry) => string} write
 * @property {(name: string) => string} start how the login starts
 * @property {string} [remote] the vendor, if the client connects from the vendor's servers
 */
/**
 * @typedef {object} WithToken
 * @property {import('../../lib/highlight.js').Language} language
 * @property {string} place where the configuration belongs
 * @property {(entry: Entry) => string} write
 * @property {string} missing the remaining step if there is no token
 */

/** @type {Client[]} */
export const CLIENTS = [
  {
    id: 'claude-code',
    label: 'Claude Code',
    login: {
      language: 'shell',
      write: ({ name, url }) => `claude mcp add --transport http ${name} '${url}'`,
      place: 'Run this command in your shell.',
      start: (name) => `Type \`/mcp\` in Claude Code, select \`${name}\` and choose Authenticate.`,
    },
    token: {
      language: 'shell',
      write: claudeCode,
      place: 'Run this command in your shell.',
      missing: `Set \`${TOKEN_VARIABLE}\` to a token first.`,
    },
  },
  {
    id: 'claude-desktop',
    label: 'Claude',
    login: {
      write: ({ url }) => url,
      place: 'In Claude on the web, on the desktop or on the phone: Settings, Connectors, Add custom connector.',
      start: () => 'Press Connect beside the new connector.',
      remote: 'Anthropic',
    },
    token: {
      language: 'json',
      write: (entry) => pretty(stdio(entry)),
      place:
        'Merge this into `claude_desktop_config.json` (Settings, Developer, Edit Config) and restart Claude. ' +
        'If it does not find `svc`, write its full path.',
      missing: `Replace \`${PLACEHOLDER}\` with a token.`,
    },
  },
  {
    id: 'chatgpt',
    label: 'ChatGPT',
    login: {
      write: ({ url }) => url,
      place: 'In the settings of ChatGPT: turn on the developer mode of apps and connectors, and create a connector.',
      start: () => 'Choose OAuth as authentication, and connect.',
      remote: 'OpenAI',
    },
  },
  {
    id: 'cursor',
    label: 'Cursor',
    login: {
      language: 'json',
      write: ({ name, url }) => pretty({ mcpServers: { [name]: { url } } }),
      place: 'Put this into `.cursor/mcp.json`, or `~/.cursor/mcp.json` for all projects.',
      start: (name) => `Open the MCP settings of Cursor and press the login button of \`${name}\`.`,
    },
    token: {
      language: 'json',
      write: (entry) => pretty(cursor(entry)),
      place: 'Put this into `.cursor/mcp.json`, or `~/.cursor/mcp.json` for all projects.',
      missing: `Set \`${TOKEN_VARIABLE}\` to a token.`,
    },
  },
  {
    id: 'vscode',
    label: 'VS Code',
    login: {
      language: 'json',
      write: ({ name, url }) => pretty({ servers: { [name]: { type: 'http', url } } }),
      place: 'Put this into `.vscode/mcp.json`.',
      start: () => 'Press Start above the entry, and allow VS Code to open the browser.',
    },
    token: {
      language: 'json',
      write: (entry) => pretty(vscode(entry)),
      place: 'Put this into `.vscode/mcp.json`.',
      missing: 'VS Code will ask for a token.',
    },
  },
  {
    id: 'codex',
    label: 'Codex',
    login: {
      language: 'toml',
      write: ({ name, url }) => `[mcp_servers.${name}]\nurl = ${JSON.stringify(url)}`,
      place: 'Add this to `~/.codex/config.toml`.',
      start: (name) => `Run \`codex mcp login ${name}\` in your shell.`,
    },
    token: {
      language: 'toml',
      write: codex,
      place: 'Add this to `~/.codex/config.toml`.',
      missing: `Set \`${TOKEN_VARIABLE}\` to a token.`,
    },
  },
  {
    id: 'json',
    label: 'Other',
    login: {
      write: ({ url }) => url,
      place: 'Give this address to your client.',
      start: () => 'A client with OAuth offers a login when it connects.',
    },
    token: {
      language: 'json',
      write: (entry) => pretty(other(entry)),
      place: 'Put this where your client keeps its MCP servers.',
      missing: `Replace \`${PLACEHOLDER}\` with a token.`,
    },
  },
  {
    id: 'stdio',
    label: 'Other, without HTTP',
    token: {
      language: 'json',
      write: (entry) => pretty(stdio(entry)),
      place:
        'Put this where your client keeps its MCP servers. It starts `svc` on your machine; ' +
        'if the client does not find it, write its full path.',
      missing: `Replace \`${PLACEHOLDER}\` with a token.`,
    },
  },
];

/** Codex reads tokens only from environment variables. @param {string} token */
export const exportCommand = (token) => `export ${TOKEN_VARIABLE}=${token}`;

/** The reason why some clients reject this name, or ''. @param {string} name */
export function nameProblem(name) {
  if (/^[A-Za-z0-9_-]+$/.test(name) && name.length <= NAME_MAX) return '';
  return name.length > NAME_MAX ? `At most ${NAME_MAX} characters.` : 'Use letters, digits, - and _.';
}

/**
 * The value of the header `Authorization`. Without a token it contains `instead`: a variable in the client's notation,
 * or a placeholder.
 * @param {Entry} entry
 * @param {string} instead
 */
const bearer = (entry, instead) => `Bearer ${entry.token ?? instead}`;

/** @param {Entry} entry */
function claudeCode(entry) {
  const header = `Authorization: ${bearer(entry, `$${TOKEN_VARIABLE}`)}`;
  return `claude mcp add --transport http ${entry.name} '${entry.url}' --header "${header}"`;
}

/** For clients without HTTP: the bridge of `svc`. @param {Entry} entry */
function stdio(entry) {
  const { origin, search } = new URL(entry.url);
  const args = ['mcp', 'stdio', ...(search ? ['--search'] : [])];
  const env = { SVC_URL: origin, SVC_TOKEN: entry.token ?? PLACEHOLDER };
  return { mcpServers: { [entry.name]: { command: 'svc', args, env } } };
}

/** @param {Entry} entry */
function cursor(entry) {
  const headers = { Authorization: bearer(entry, `\${env:${TOKEN_VARIABLE}}`) };
  return { mcpServers: { [entry.name]: { url: entry.url, headers } } };
}

/** @param {Entry} entry */
function vscode(entry) {
  const id = `${entry.name}-token`;
  const headers = { Authorization: bearer(entry, `\${input:${id}}`) };
  const servers = { [entry.name]: { type: 'http', url: entry.url, headers } };
  if (entry.token !== null) return { servers };
  return { servers, inputs: [{ type: 'promptString', id, description: `API token of ${entry.name}`, password: true }] };
}

/** @param {Entry} entry */
function codex(entry) {
  return [
    `[mcp_servers.${entry.name}]`,
    `url = ${JSON.stringify(entry.url)}`,
    `bearer_token_env_var = ${JSON.stringify(TOKEN_VARIABLE)}`,
  ].join('\n');
}

/** @param {Entry} entry */
function other(entry) {
  return {
    mcpServers: {
      [entry.name]: { type: 'http', url: entry.url, headers: { Authorization: bearer(entry, PLACEHOLDER) } },
    },
  };
}

/** @param {object} value */
const pretty = (value) => JSON.stringify(value, null, 2);
