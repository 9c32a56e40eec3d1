/** What a person has to know or do about a space, above its cards. */
import { html } from '../../lib/preact.js';
import { spaceState } from '../../lib/spaces.js';
import { Button } from '../../ui/button.js';
import { Notice } from '../../ui/error-notice.js';
import { withCode } from '../../ui/rich-text.js';
import { Time } from '../../ui/time.js';
import { PublishCommands } from './publish-commands.js';

/** @import { Space } from 'api' */

/** @param {{space: Space, onRotate: () => void}} props */
export function NextStep({ space, onRotate }) {
  const { name } = spaceState(space);
  if (name === 'refused') return html`<${Refused} space=${space} />`;
  if (name === 'unlinked') return html`<${Unlinked} space=${space} />`;
  if (name === 'lost') return html`<${Lost} space=${space} onRotate=${onRotate} />`;
  if (name === 'unhealthy')
    return html`
      <${Notice} tone="bad" icon="alert" title="Its health check fails">
        <p>Its methods are still called. The log below and the check in “Settings” may show why it fails.</p>
      </${Notice}>
    `;
  if (name === 'created' && space.runtime === 'external')
    return html`
      <${Notice} title="Its agent has not linked yet">
        <div class="stack-small">
          <p>Run the command that was shown when the space was created. If it is lost, create a new token.</p>
          <div><${Button} size="small" icon="terminal" onClick=${onRotate}>New agent command</${Button}></div>
        </div>
      </${Notice}>
    `;
  return null;
}

/** @param {{space: Space}} props */
function Refused({ space }) {
  const { registration } = space;
  return html`
    <${Notice} tone="bad" icon="alert" title="The registration was refused">
      <div class="stack-small">
        <p class="log-text">${registration.state === 'refused' && withCode(registration.error)}</p>
        <p class="notice-hint">If this happened after a lost link, the agent keeps trying. To register a file again:</p>
        <${PublishCommands} space=${space} />
      </div>
    </${Notice}>
  `;
}

/** @param {{space: Space}} props */
function Unlinked({ space }) {
  const state =
    space.registration.state === 'waiting' ? 'Its methods wait for the agent to come back.' : 'No agent is connected.';
  return html`
    <${Notice} tone="bad" icon="alert" title="The link is lost">
      <p>${state} After the grace period the space is stopped.</p>
    </${Notice}>
  `;
}

/** @param {{space: Space, onRotate: () => void}} props */
function Lost({ space, onRotate }) {
  const external = space.runtime === 'external';
  return html`
    <${Notice} tone="bad" icon="alert" title="The service stopped this space: its agent did not come back">
      <div class="stack-small">
        <p>
          Its methods are unavailable${space.stopped_at && html` since <${Time} value=${space.stopped_at} exact />`}.
          ${
            external
              ? ' Start its agent again: the space then works again by itself.'
              : ' The server runs its agent: start the space again, or look into the log of the server.'
          }
          ${' '}“Stop” says that the space is meant to be stopped; it then no longer counts as failing.
        </p>
        ${
          external &&
          html`<div><${Button} size="small" icon="terminal" onClick=${onRotate}>New agent command</${Button}></div>`
        }
      </div>
    </${Notice}>
  `;
}
