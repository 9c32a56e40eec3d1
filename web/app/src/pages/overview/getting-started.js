/**
 * A checklist for new users. Steps are ticked automatically. The ticks are stored, because the records that caused them
 * may be deleted later.
 */
import { can, me } from '../../lib/me.js';
import { cx, html, useEffect, useId, useState } from '../../lib/preact.js';
import { useResource } from '../../lib/resource.js';
import { Status } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Icon } from '../../ui/icon.js';
import { completedSteps, loadRest, orderSteps, STEPS } from './steps.js';

/** @import { Stats } from 'api' */

const EVERY_MS = 5_000;

/** @typedef {ReturnType<typeof useGettingStarted>} Start */

/** @param {Stats | null} stats */
export function useGettingStarted(stats) {
  const key = `svc.start.${me.value?.id}`;
  const [kept, setKept] = useState(() => readProgress(key));
  const permitted = STEPS.filter((step) => can(...(step.needs ?? [])));
  const steps = stats ? orderSteps(permitted, stats) : permitted;
  const open = !kept.hidden && steps.some((step) => !kept.done.includes(step.id));
  const rest = useResource(open ? loadRest : null, { every: EVERY_MS, deps: [open] });

  const keep = (/** @type {Progress} */ next) => {
    localStorage.setItem(key, JSON.stringify(next));
    setKept(next);
  };
  useEffect(() => {
    const fresh = completedSteps(rest.data).filter((id) => !kept.done.includes(id));
    if (fresh.length > 0) keep({ ...kept, done: [...kept.done, ...fresh] });
  }, [rest.data, kept]);
  // Wait for the response about the steps: before that, completed steps would appear as open.
  const ready = !open || rest.data !== null || rest.error !== null;
  return {
    steps,
    done: kept.done,
    hidden: kept.hidden,
    ready,
    hide: () => keep({ ...kept, hidden: true }),
    show: () => keep({ ...kept, hidden: false }),
  };
}

/** @typedef {{hidden: boolean, done: string[]}} Progress */

/** @param {string} key @returns {Progress} */
function readProgress(key) {
  try {
    const { hidden, done } = JSON.parse(localStorage.getItem(key) ?? '{}');
    return { hidden: hidden === true, done: Array.isArray(done) ? done : [] };
  } catch {
    return { hidden: false, done: [] };
  }
}

/** @param {{start: Start}} props */
export function GettingStarted({ start }) {
  const [opened, setOpened] = useState(/** @type {string | undefined} */ (undefined));
  if (!start.ready) return null;
  const done = start.steps.filter((step) => start.done.includes(step.id)).length;
  const all = done === start.steps.length;
  // The next open step is expanded until the user expands another one.
  const current = opened ?? start.steps.find((step) => !start.done.includes(step.id))?.id;
  return html`
    <${Card} title="Getting started" flush=${!all} description=${!all && `${done} of ${start.steps.length} done`}
      actions=${html`<${Button} kind=${all ? 'secondary' : 'ghost'} onClick=${start.hide}>Hide</${Button}>`}>
      ${
        all
          ? html`<${Status} tone="good">All ${done} steps done</${Status}>`
          : html`
            <ol class="overview-steps" aria-label="Getting started">
              ${start.steps.map(
                (step) => html`
                  <${Step} key=${step.id} step=${step} done=${start.done.includes(step.id)} open=${step.id === current}
                    onOpen=${() => setOpened(step.id)} />
                `,
              )}
            </ol>
          `
      }
    </${Card}>
  `;
}

/** @param {{step: import('./steps.js').Step, done: boolean, open: boolean, onOpen: () => void}} props */
function Step({ step, done, open, onOpen }) {
  const id = useId();
  return html`
    <li class=${cx('overview-step', done && 'overview-step-done')}>
      <button type="button" class="overview-step-head" aria-expanded=${open} aria-controls=${open ? id : undefined}
        onClick=${onOpen}>
        <span class="overview-tick">${done && html`<${Icon} name="check" size=${13} />`}</span>
        <span class="grow">${step.title}<span class="visually-hidden">${done ? ', done' : ', to do'}</span></span>
        <${Icon} name="chevron-right" size=${14} />
      </button>
      ${
        open &&
        html`
          <div class="overview-step-body stack" id=${id}>
            <p class="muted">${step.text}</p>
            ${step.command && html`<${CodeBlock} text=${step.command} label="command of this step" prompt />`}
            <div class="actions"><${Button} href=${step.href} size="small">${step.go}</${Button}></div>
          </div>
        `
      }
    </li>
  `;
}
