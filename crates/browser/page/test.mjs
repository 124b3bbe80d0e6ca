// The control tool's page without a server: are its numbers those of the command, to the bit, and how long does it take?
//
//   node page/test.mjs PAGE WILLIWAW [FOLDER]
//
// PAGE is the built index.html, WILLIWAW the command's binary; screenshots go to FOLDER. Says aloud what is skipped.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { launch } from '../../serve/page/test/chromium.mjs';

const [built, williwaw, folder = 'shots'] = process.argv.slice(2).map((path) => resolve(path));
const { home, say, faults, shot, tab: open, run } = await launch('browser', folder);

/** The command's run of a text: its table of flows, the seconds it took with one thread, its document. */
let runs = 0;
function native(text, repetitions, seed) {
  const file = join(home, 'scenario.toml');
  const out = join(home, `run-${++runs}`);
  writeFileSync(file, text);
  const args = ['run', file, '--reps', String(repetitions), '--seed', String(seed), '--jobs', '1', '--out', out, '-q', '--json'];
  const document = JSON.parse(execFileSync(williwaw, [...args, '--yes'], { stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 28 }));
  return { flows: readFileSync(join(out, 'flows.parquet')), seconds: JSON.parse(readFileSync(join(out, 'run.json'), 'utf8')).seconds, document };
}

async function tab(address) {
  const page = await open(address, 120000);
  page.on('console', (message) => { if (message.type() === 'error') faults.push(message.text()); });
  await page.goto(address);
  return page;
}
const reached = (page, phase) => page.waitForFunction((p) => document.getElementById('here')?.dataset.phase === p, phase);
const forget = (page) => page.evaluate(() => { document.getElementById('here').dataset.phase = 'asked'; });
const text = (page) => page.locator('#text').inputValue();
/** Writes a text, and waits for what the page does with it. */
async function write(page, words, phase = 'done') {
  await forget(page);
  await page.locator('#text').fill(words);
  await reached(page, phase);
}
async function saved(page, id) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator(id).click()]);
  return readFileSync(await download.path());
}
/** The row of a metric, as it is shown, without the thin spaces between groups of digits. */
const row = async (page, metric) => (await page.locator(`#results tr[data-metric="${metric}"]`).first().locator('td').allTextContents()).map((t) => t.replace(/\u202f/g, ''));
const shown = (x) => (Number.isInteger(x) ? x.toFixed(0) : x.toFixed(Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(Math.abs(x)))))));
const fits = async (page) => {
  const [has, shows] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(has <= shows, `the page is ${has} px wide in a window of ${shows}`);
};
const server = createServer((request, response) => {
  response.setHeader('content-type', 'text/html');
  response.end(request.url === '/' ? readFileSync(built) : '');
});

await run(async () => {
  // From disk: the README's first scenario, 100 repetitions of both variants.
  const page = await tab(`file://${built}`);
  await reached(page, 'done');
  const first = await text(page);
  assert.match(readFileSync(new URL('../../../README.md', import.meta.url), 'utf8'), new RegExp(`\`\`\`toml\n${first.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}\`\`\``));
  const ours = native(first, 100, 1);
  assert.deepEqual(await saved(page, '#parquet'), ours.flows, 'flows.parquet of the first scenario');
  const seconds = async () => Number(await page.locator('#here').getAttribute('data-seconds'));
  say(`first scenario, ${await page.locator('#state').textContent()} flows.parquet equals the command's, ${ours.flows.length} bytes`);
  const metric = ours.document.cells[0].metrics.completion_time_s;
  const told = await row(page, 'completion_time_s');
  assert.deepEqual(told.slice(1, 5), [metric.p10, metric.median, metric.p90, metric.mean].map(shown), 'the table is that of run --json');
  await page.locator('figure.picture.live canvas.view').waitFor();
  await page.locator('#time').evaluate((slider) => { slider.value = '40'; slider.dispatchEvent(new Event('input')); });
  assert.match(await page.locator('#moment').textContent(), /window .* B, in flight .* B/);
  await shot(page, 'static-first');
  say(`table equal to run --json, picture and film drawn: ${await page.locator('#moment').textContent()}`);

  // The form beside the text: a change in the form is computed again; the same numbers as the command's.
  const times = [];
  const radio = page.locator('#form details.group', { has: page.locator('> summary', { hasText: 'Hop radio' }) }).first();
  await forget(page);
  await radio.getByLabel('rate', { exact: true }).fill('60 kbit/s');
  await radio.getByLabel('rate', { exact: true }).press('Enter');
  await reached(page, 'done');
  const edited = first.replace('30 kbit/s', '60 kbit/s');
  assert.equal(await text(page), edited, 'the form changes one value and leaves the rest');
  const there = native(edited, 100, 1);
  assert.deepEqual(await saved(page, '#parquet'), there.flows, 'flows.parquet after a change in the form');
  times.push([await seconds(), there.seconds]);
  // And a change in the text shows in the form.
  const seeded = first.replace('run.repetitions = 100', 'run.repetitions = 100\nrun.seed = 7');
  await write(page, seeded);
  assert.equal(await page.locator('#form').getByLabel('seed', { exact: true }).inputValue(), '7');
  const again = native(seeded, 100, 7);
  assert.deepEqual(await saved(page, '#parquet'), again.flows, 'flows.parquet after a change in the text');
  times.push([await seconds(), again.seconds]);
  assert.notDeepEqual(await row(page, 'completion_time_s'), told);
  say(`edited in the form and in the text, 200 repetitions each: equal; ${times.map(([s]) => s.toFixed(2)).join(' and ')} s here, ${times.map(([, s]) => s.toFixed(2)).join(' and ')} s of the command`);
  // The least of three in turn: others use this machine too.
  const least = [Infinity, Infinity];
  for (let i = 0; i < 3; i++) {
    const { seconds: took } = await page.evaluate((text) => williwaw.ask({ do: 'run', text, repetitions: 500, seed: 1 }).then(({ seconds }) => ({ seconds })), first);
    least[0] = Math.min(least[0], took);
    least[1] = Math.min(least[1], native(first, 500, 1).seconds);
  }
  say(`1 000 repetitions, the least of three: ${least[0].toFixed(2)} s here, ${least[1].toFixed(2)} s of ${williwaw.includes('/debug/') ? 'a debug build of ' : ''}the command with one thread, storage included: ratio ${(least[0] / least[1]).toFixed(2)}`);

  // The preview, a mistake at its line and at its key; the results stay.
  assert.match(await page.locator('#preview .cost').textContent(), /200 repetitions \(2 cells of 100\).*in this page/);
  await write(page, first.replace('30 kbit/s', '30 furlongs'), 'wrong');
  const line = first.split('\n').findIndex((l) => l.startsWith('rate')) + 1;
  assert.equal(await page.locator('.gutter .error').first().textContent(), String(line));
  await radio.locator('.row.wrong .mistake').first().waitFor();
  await page.locator('.mistakes button').first().click();
  assert.match(await page.evaluate(() => { const t = document.getElementById('text'); return t.value.slice(t.selectionStart, t.selectionEnd); }), /furlongs/);
  assert.ok(await page.locator('#results').isVisible());
  await shot(page, 'static-mistake');
  say(`a mistake is marked at line ${line} and at the form's key, and selected by its button`);

  // What needs a server is there, disabled, with one sentence.
  assert.ok(await page.locator('#emulate').isDisabled());
  assert.match(await page.locator('#alone').textContent(), /need `williwaw serve`\.$/);
  for (const part of ['Queue', 'Compare', 'Captures', 'Running']) {
    const link = page.locator('nav a', { hasText: part });
    assert.equal(await link.getAttribute('aria-disabled'), 'true');
    // For playwright it is disabled; a user can follow it, and reads why.
    await link.click({ force: true });
    await page.locator('h1', { hasText: part }).waitFor();
    assert.match(await page.locator('#alone').textContent(), /need `williwaw serve`\.$/);
  }
  await page.locator('nav a', { hasText: 'Compose' }).click();
  await page.locator('#here').waitFor();
  assert.ok((await text(page)).includes('furlongs'), 'work in hand outlives the way to another part');
  const command = `${first}[[command]]\nname = "touch"\nat = "phone"\nrun = "touch /tmp/never"\n`;
  await page.locator('#text').fill(command);
  await page.waitForFunction(() => /needs a real kernel, a program or a wire/.test(document.getElementById('state').textContent));
  say('real time, queue, comparison, captures and running emulations are shown as disabled, with one sentence; a command is not run');

  // A long run is stopped; the page goes on, and answers meanwhile.
  await page.locator('#begin').selectOption('first');
  await reached(page, 'done');
  await forget(page);
  await page.locator('#reps').fill('100000');
  await reached(page, 'waits');
  await page.locator('#run').click();
  await reached(page, 'runs');
  await page.waitForFunction(() => document.getElementById('bar').value > 0);
  await page.locator('#look').click();
  await page.locator('figure.picture.live canvas.view').waitFor();
  assert.equal(await page.locator('#here').getAttribute('data-phase'), 'runs');
  await page.locator('#stop').click();
  await reached(page, 'stopped');
  await page.locator('#reps').fill('');
  await reached(page, 'done');
  say('a run of 200 000 repetitions is not begun unasked, leaves the page at work, and is stopped in the middle');

  // A published experiment by the chooser, another cell and repetition by their fields.
  await forget(page);
  await page.locator('#begin').selectOption('published:gprs-eifel/reselections');
  await page.locator('#reps').fill('2');
  await reached(page, 'done');
  await page.locator('#cell').selectOption({ index: 1 });
  await page.locator('#rep').fill('1');
  await page.locator('#rep').press('Enter');
  await page.locator('h2', { hasText: 'Cell 1, repetition 1' }).waitFor();
  await page.locator('#reps').fill('');
  say(`gprs-eifel/reselections by the chooser; ${await page.locator('h2', { hasText: 'Cell 1' }).textContent()} drawn`);

  // A hostile title stays text.
  await write(page, `title = "<img src=x onerror=window.hit=1><script>window.hit=2</script>"\n${first}`);
  await page.waitForFunction(() => document.querySelector('figure.picture h3')?.textContent.includes('<img src=x'));
  assert.equal(await page.evaluate(() => window.hit), undefined);

  await write(page, first);
  for (const width of [1280, 768, 400]) {
    await page.setViewportSize({ width, height: 900 });
    await page.waitForTimeout(200);
    await shot(page, `static-${width}`);
    await fits(page);
  }
  const nameless = await page.evaluate(() => [...document.querySelectorAll('input, select, textarea, button, a[href]')]
    .filter((n) => n.offsetParent && !n.labels?.length && !n.getAttribute('aria-label') && !n.textContent.trim()).map((n) => n.outerHTML.slice(0, 120)));
  assert.deepEqual(nameless, []);
  await page.reload();
  await reached(page, 'done');
  assert.equal(await text(page), first);
  say('three widths: nothing is wider than the window; every control has a name; a reload keeps the draft');

  // Published experiments of every model, a repetition each: bytes equal.
  const experiments = new URL('../../../experiments/', import.meta.url);
  const files = readdirSync(experiments, { recursive: true }).filter((name) => name.endsWith('.scenario.toml')).sort();
  const chosen = files.filter((name) => (process.env.EVERY ? true : /^(gprs-eifel\/reselections|seawind\/case-study|sctp\/|lifetime\/|hscsd\/|tracing\/|overview\/)/.test(name)));
  let [compared, left] = [0, []];
  for (const name of chosen) {
    const words = readFileSync(new URL(name, experiments), 'utf8');
    const { good, real, cost } = await page.evaluate((text) => williwaw.check(text), words);
    if (!good || real || cost.cells * cost.events_per_run > 4e6) { left.push(name); continue; }
    const ran = await page.evaluate(async (text) => {
      const { document, bytes } = await williwaw.ask({ do: 'run', text, repetitions: 1, seed: 5 });
      return { good: document.good, error: document.error, bytes: Array.from(bytes) };
    }, words);
    assert.ok(ran.good, `${name}: ${ran.error}`);
    assert.deepEqual(Buffer.from(ran.bytes), native(words, 1, 5).flows, name);
    compared += 1;
  }
  assert.ok(compared >= 10, `${compared} experiments were compared`);
  say(`${compared} published experiments, a repetition each: flows.parquet equal to the bit; left out for size or files: ${left.length}`);

  // From a static folder of a web server.
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const served = await tab(`http://127.0.0.1:${server.address().port}/`);
  await reached(served, 'done');
  assert.deepEqual(await saved(served, '#parquet'), ours.flows);
  say('served from a folder: the same bytes');
}, () => server.close());
