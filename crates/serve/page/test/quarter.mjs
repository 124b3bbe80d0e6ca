// The first quarter of an hour in the control tool, with a clock: what docs/quarter.md prints of the page.
//
//   node test/quarter.mjs WILLIWAW [FOLDER]
//
// Each line is the time between a user's action and its answer on the page. Screenshots go to FOLDER.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { launch } from './chromium.mjs';

const [williwaw, folder = 'shots'] = process.argv.slice(2).map((path) => resolve(path));
const { home, shot, tab: open, run } = await launch('quarter', folder);
const FIRST = /```toml\n([^`]*)```/.exec(readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8'))[1];

let began = performance.now();
const step = (name, shows) => {
  console.log(`| ${name} | ${((performance.now() - began) / 1000).toFixed(2)} s | ${shows} |`);
  began = performance.now();
};
const server = spawn(williwaw, ['serve', '--dir', join(home, 'lab')], { stdio: ['ignore', 'pipe', 'inherit'] });
const url = await new Promise((found) => {
  let text = '';
  server.stdout.on('data', (data) => { text += data; const line = /http:\S+/.exec(text); if (line) found(line[0]); });
});

await run(async () => {
  step('`williwaw serve`', 'the address');
  const page = await open(url.split('#')[0], 60000);
  await page.goto(url);
  await page.locator('#form .add').first().waitFor();
  step('open it', 'form and text');

  const preview = async (words) => {
    const checked = page.waitForResponse((r) => r.url().endsWith('/api/check') && r.request().postDataJSON().text === words);
    await page.locator('#text').fill(words);
    await checked;
    await page.locator('#preview .cost').waitFor();
    return page.locator('#preview .cost').textContent();
  };
  const metric = async (name) => page.locator(`#results tr[data-metric="${name}"] td`).allTextContents();
  const table = async (repetitions) => {
    await page.locator('#run').click();
    await page.locator('#results').waitFor();
    await page.waitForFunction(() => document.querySelector('#state')?.textContent === 'done');
    await page.waitForFunction((n) => [...document.querySelectorAll('#results tbody tr td:last-child')].every((td) => td.textContent === n), String(repetitions));
    const all = await page.locator('#results tr[data-metric="spurious_timeouts"]').all();
    return Promise.all(all.map(async (row) => (await row.locator('td').allTextContents()).slice(-3)[0]));
  };
  step('paste the first scenario of the README', await preview(FIRST));
  await page.locator('#name').fill('first');
  const before = await table(100);
  step('Run in virtual time', `the table; spurious timeouts ${before.join(' and ')} (none, eifel)`);
  await shot(page, 'quarter-table');
  await page.locator('#see').click();
  await page.locator('figure.picture.live canvas.view').waitFor();
  step('Look', (await page.locator('figure.picture p').allTextContents()).find((p) => p.includes('timer')).split(/\.\s/).slice(0, 2).join('. '));

  await page.goto(`${url.split('#')[0]}#/`);
  await page.locator('#form .add').first().waitFor();
  began = performance.now();
  const limit = page.locator('#form').getByLabel('limit', { exact: true }).first();
  await limit.fill('50 packets');
  await limit.press('Enter');
  await page.waitForFunction(() => document.querySelector('#text').value.includes('50 packets'));
  await page.locator('#preview .cost').waitFor();
  step('one value in the form: limit of the queue, 50 packets', 'the text follows');
  const after = await table(100);
  step('Run in virtual time', `**the surprise**: spurious timeouts ${after.join(' and ')}`);
  const queue = (await metric('queue_delay_s')).slice(-3)[0];
  step('the last row of the table', `a packet waits ${queue} s in the queue: the timer has learnt it`);
  await shot(page, 'quarter-surprise');
}, async () => { server.kill(); });
