/** Recovery codes, shown once, to copy or to download. */
import { me } from '../../lib/me.js';
import { html, useMemo } from '../../lib/preact.js';
import { Button, CopyButton } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Notice } from '../../ui/error-notice.js';

/** @param {{codes: string[], onDone: () => any}} props */
export function RecoveryCodes({ codes, onDone }) {
  const text = codes.join('\n');
  const file = useMemo(
    () => `data:text/plain;charset=utf-8,${encodeURIComponent(`${heading()}\n\n${text}\n`)}`,
    [text],
  );
  return html`
    <div class="stack">
      <${Notice} tone="warn" icon="alert" title="Keep these recovery codes">
        <p>
          Each signs you in once if you lose your phone. They are not shown again. Keep them in a safe place, and not on
          the phone.
        </p>
      </${Notice}>
      <${CodeBlock} text=${text} label="recovery codes" tall copy=${false} />
      <div class="actions">
        <${CopyButton} text=${text}>Copy</${CopyButton}>
        <a class="button" href=${file} download="svc-recovery-codes.txt">Download</a>
        <${Button} kind="primary" onClick=${onDone}>I have kept them</${Button}>
      </div>
    </div>
  `;
}

function heading() {
  return `Recovery codes of ${me.value?.username} at ${location.host}. Each works once.`;
}
