/** The commands that publish methods in a space, with the place where they work. */

import { html } from '../../lib/preact.js';
import { shellQuote } from '../../lib/shell.js';
import { CodeBlock } from '../../ui/code-block.js';

/** @import { Space } from 'api' */

const REGISTER = 'svc methods register methods.toml';

/** @param {{space: Space}} props */
export function PublishCommands({ space }) {
  const local = space.runtime === 'local';
  const command = space.folder ? `cd ${shellQuote(space.folder)}\n${REGISTER}` : REGISTER;
  return html`
    <div class="stack-small publish-commands">
      <p>
        ${
          local
            ? 'On the machine of the server, as the user that runs the server, in the folder of the space:'
            : 'Where the agent runs, in the folder in which it was started:'
        }
      </p>
      <${CodeBlock} text=${command} label="commands that publish methods" />
      ${
        local &&
        html`
          <p class="small">
            A file <code>methods.toml</code> in this folder is registered at each start of the space.
          </p>
        `
      }
    </div>
  `;
}
