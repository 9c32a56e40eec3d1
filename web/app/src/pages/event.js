/** One event by its address. */
import { can } from '../lib/me.js';
import { html, useState } from '../lib/preact.js';
import { loadStyles } from '../lib/styles.js';
import { useDocumentTitle } from '../page-host.js';
import { navigate } from '../router.js';
import { Button } from '../ui/button.js';
import { Card, PageHeader } from '../ui/card.js';
import { pendingOf } from '../ui/error-notice.js';
import { EventFacts, Receivers } from './events/details.js';
import { EmitDialog } from './events/emit-dialog.js';
import { indentJson, Payload, useEvent } from './events/payload.js';

await loadStyles('events.css');

const BACK = { href: '/events', label: 'Events' };

/** @param {{route: {params: Record<string, string>}}} props */
export default function EventPage({ route }) {
  const loaded = useEvent(route.params.id);
  const [copying, setCopying] = useState(false);
  useDocumentTitle(loaded.data?.event.event_type ?? 'Event');
  if (!loaded.data) return pendingOf(loaded, { page: true, back: BACK });
  const { event, payload } = loaded.data;
  const custom = event.event_type.startsWith('custom.');
  return html`
    <${PageHeader} title=${event.event_type} mono back=${BACK}
      actions=${
        custom &&
        can('use_spaces', 'manage_spaces') &&
        html`<${Button} icon="copy" onClick=${() => setCopying(true)}>Emit a copy</${Button}>`
      } />
    <div class="stack-large">
      <${Card} title="About"><${EventFacts} event=${event} /></${Card}>
      <${Card} title="Payload"><${Payload} text=${payload} /></${Card}>
      <${Card} title="Receivers" description="Sinks and methods whose patterns matched, and how each delivery ended.">
        <${Receivers} event=${event} />
      </${Card}>
    </div>
    ${
      copying &&
      html`
        <${EmitDialog} type=${event.event_type.replace(/^custom\./, '')} payload=${indentJson(payload)}
          onClose=${() => setCopying(false)}
          onEmitted=${(/** @type {string} */ id) => {
            setCopying(false);
            navigate(`/events/${id}`);
          }} />
      `
    }
  `;
}
