/** The MCP page: the endpoint, the tools, a new token and a working configuration. */
import assert from 'node:assert/strict';

import { expectUsable } from '../oauth.js';
import { see, seeNo, seePage } from '../scene.js';

/** @param {import('../scene.js').Scene} scene */
export default async function mcp(scene) {
  const page = await scene.open(scene.facts.ann);
  await page.goto('/tools');
  await seePage(page, 'MCP');
  await see(page.getByRole('region', { name: 'endpoint address' }).getByText(`${scene.url}/mcp`));

  const tools = page.getByRole('table', { name: 'Tools' });
  await see(tools.getByRole('button', { name: 'orders_create' }));
  await see(tools.getByRole('button', { name: 'user_ben_greet' }));
  await see(tools.getByRole('button', { name: 'sum' }));
  assert.equal(await tools.getByText('orders_refund').count(), 0, 'only methods marked as tools');
  await tools.getByRole('button', { name: 'orders_create' }).click();
  const dialog = page.getByRole('dialog', { name: 'orders_create' });
  await see(dialog.getByText('"customer"'));
  await page.keyboard.press('Escape');
  await seeNo(dialog);

  // Clients that log in need only the address.
  for (const [client, holds] of [
    ['Claude', `${scene.url}/mcp`],
    ['ChatGPT', `${scene.url}/mcp`],
    ['Codex', 'mcp_servers'],
    ['Claude Code', 'claude mcp add'],
  ]) {
    await page.getByRole('tab', { name: client, exact: true }).click();
    const configuration = page.getByRole('region', { name: `${client} configuration`, exact: true });
    await see(configuration.getByText(holds));
    assert.doesNotMatch(await configuration.innerText(), /token|authorization/i);
  }

  // Other clients use a token.
  await page.getByText('Token', { exact: true }).click();
  await see(page.getByText('For clients without OAuth, and for scripts.'));
  await page.getByRole('button', { name: 'Create an MCP token' }).click();
  await page.getByLabel('Token name').fill('editor');
  await page.getByRole('button', { name: 'Create token' }).click();
  await see(page.getByText('Token editor created'));
  for (const [client, holds] of [
    ['Cursor', 'mcpServers'],
    ['VS Code', 'servers'],
    ['Claude Code', 'claude mcp add'],
  ]) {
    await page.getByRole('tab', { name: client, exact: true }).click();
    const configuration = page.getByRole('region', { name: `${client} configuration`, exact: true });
    await see(configuration.getByText(holds));
    assert.match(await configuration.innerText(), /svc_pat_\w+/);
  }
  const token = /svc_pat_\w+/.exec(
    await page.getByRole('region', { name: 'Claude Code configuration' }).innerText(),
  )?.[0];
  await scene.meanwhile('use the token', token);

  // The client appears with its calls.
  const clients = page.getByRole('table', { name: 'Connected clients' }).locator('tbody tr');
  await page.reload();
  await see(clients.filter({ hasText: 'editor' }).getByText('1 call'));
  await see(clients.filter({ hasText: 'editor' }).getByText('token'));
  await expectUsable(page, 'MCP');
  await ofAllUsers(scene, page, clients);
}

/**
 * A user with `view_audit` sees the clients of all users, other users only their own.
 * @param {import('../scene.js').Scene} scene @param {import('playwright-core').Page} page
 * @param {import('playwright-core').Locator} clients
 */
async function ofAllUsers(scene, page, clients) {
  await see(page.getByText('Clients of all users that called methods through MCP in the last 7 days.'));
  const ofDana = clients.filter({ hasText: 'dana' });
  await see(ofDana.getByText('1 call'));
  await see(ofDana.getByText(/^…[0-9a-f]{8}$/));
  await ofDana.getByRole('link', { name: 'dana' }).click();
  await page.waitForURL('**/calls?via=mcp&caller=dana');
  await see(page.getByRole('table', { name: 'Calls' }).getByText('user.ben.greet'));

  const other = await scene.open(scene.facts.dana);
  await other.goto('/tools');
  const table = other.getByRole('table', { name: 'Connected clients' });
  await see(table.locator('tbody tr').getByText('test'));
  await see(other.getByText('Who called methods as you through MCP in the last 7 days.'));
  assert.equal(await table.locator('tbody tr').count(), 1);
  assert.equal(await table.getByText('User', { exact: true }).count(), 0);
  await expectUsable(other, 'MCP without permissions');
}
