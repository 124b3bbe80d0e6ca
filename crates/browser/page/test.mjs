// The engine in a real browser: are its numbers those of the command, to the bit, and how long does it take?
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

/** The command's run of a text: its table of flows, and the seconds it took with one thread. */
let runs = 0;
function native(text, repetitions, seed) {
  const file = join(home, 'scenario.toml');
  const out = join(home, `run-${++runs}`);
  writeFileSync(file, text);
  const args = ['run', file, '--reps', String(repetitions), '--seed', String(seed), '--jobs', '1', '--out', out, '-q'];
  execFileSync(williwaw, [...args, '--yes'], { stdio: ['ignore', 'ignore', 'pipe'] });
  return { flows: readFileSync(join(out, 'flows.parquet')), seconds: JSON.parse(readFileSync(join(out, 'run.json'), 'utf8')).seconds };
}

async function tab(address) {
  const page = await open(address, 120000);
  page.on('console', (message) => { if (message.type() === 'error') faults.push(message.text()); });
  await page.goto(address);
  return page;
}
const reached = (page, phase) => page.waitForFunction((p) => document.body.dataset.phase === p, phase);
async function saved(page, id) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator(id).click()]);
  return readFileSync(await download.path());
}
const server = createServer((request, response) => {
  response.setHeader('content-type', 'text/html');
  response.end(request.url === '/' ? readFileSync(built) : '');
});

await run(async () => {
  // From disk: the README's first scenario, 100 repetitions of both variants.
  const page = await tab(`file://${built}`);
  await reached(page, 'done');
  const first = await page.locator('#text').inputValue();
  const ours = native(first, 100, 1);
  assert.deepEqual(await saved(page, '#parquet'), ours.flows, 'flows.parquet of the first scenario');
  const seconds = async () => Number(await page.evaluate(() => document.body.dataset.seconds));
  say(`first scenario, ${await page.locator('#state').textContent()} flows.parquet equals the command's, ${ours.flows.length} bytes`);
  const means = await page.locator('#table td[data-metric="download_time_s"]').evaluateAll((cells) => cells.map((cell) => cell.dataset.mean));
  assert.equal(means.length, 2);
  await page.locator('figure.picture.live canvas.view').waitFor();
  await shot(page, 'browser-first');

  // An edit: computed again by itself; the same numbers as the command's.
  const edited = first.replace('30 kbit/s', '60 kbit/s');
  assert.notEqual(edited, first);
  const times = [];
  for (const [text, repetitions, seed] of [[edited, 100, 1], [first, 100, 7]]) {
    await page.evaluate(() => { document.body.dataset.phase = 'asked'; });
    await page.locator('#seed').fill(String(seed));
    await page.locator('#text').fill(text);
    await reached(page, 'done');
    const there = native(text, repetitions, seed);
    assert.deepEqual(await saved(page, '#parquet'), there.flows, 'flows.parquet after an edit');
    times.push([await seconds(), there.seconds]);
  }
  const after = await page.locator('#table td[data-metric="download_time_s"]').evaluateAll((cells) => cells.map((cell) => cell.dataset.mean));
  assert.notDeepEqual(after, means);
  const [here, there] = times.reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0]);
  say(`edited twice, 200 repetitions each: equal; ${times.map(([s]) => s.toFixed(2)).join(' and ')} s here, ${times.map(([, s]) => s.toFixed(2)).join(' and ')} s of ${williwaw.includes('/debug/') ? 'a debug build of ' : ''}the command with one thread, storage included: ratio ${(here / there).toFixed(2)}`);

  // A mistake is told with its line, and the results stay.
  await page.locator('#text').fill(first.replace('30 kbit/s', '30 furlongs'));
  await reached(page, 'wrong');
  const line = first.split('\n').findIndex((l) => l.startsWith('rate')) + 1;
  assert.equal(await page.locator('#mistakes li.error').first().getAttribute('data-line'), String(line));
  await page.locator('#mistakes button').first().click();
  assert.match(await page.evaluate(() => { const t = document.getElementById('text'); return t.value.slice(t.selectionStart, t.selectionEnd); }), /furlongs/);
  say(`a mistake is marked at line ${line}, and selected by its button`);

  // A long run is stopped; the page goes on.
  await page.locator('#repetitions').fill('100000');
  await page.locator('#text').fill(first);
  await reached(page, 'waits');
  await page.locator('#run').click();
  await reached(page, 'runs');
  await page.waitForFunction(() => document.getElementById('bar').value > 0);
  await page.locator('#stop').click();
  await reached(page, 'stopped');
  await page.locator('#first').click();
  await reached(page, 'done');
  say('a run of 200 000 repetitions is not begun unasked, and stopped in the middle');

  // A hostile title stays text.
  await page.locator('#text').fill(`title = "<img src=x onerror=window.hit=1><script>window.hit=2</script>"\n${first}`);
  await page.waitForFunction(() => document.querySelector('figure.picture h3')?.textContent.includes('<img src=x'));
  assert.equal(await page.evaluate(() => window.hit), undefined);

  for (const width of [1280, 768, 400]) {
    await page.setViewportSize({ width, height: 900 });
    await page.waitForTimeout(200);
    await shot(page, `browser-${width}`);
    const [has, shows] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(has <= shows, `the page is ${has} px wide in a window of ${shows}`);
  }

  // Published experiments of every model, a few repetitions each: bytes equal.
  const experiments = new URL('../../../experiments/', import.meta.url);
  const files = readdirSync(experiments, { recursive: true }).filter((name) => name.endsWith('.scenario.toml')).sort();
  const chosen = files.filter((name) => (process.env.EVERY ? true : /^(gprs-eifel\/table2|seawind\/case-study|sctp\/|lifetime\/|hscsd\/|tracing\/|overview\/)/.test(name)));
  let [compared, left] = [0, []];
  for (const name of chosen) {
    const text = readFileSync(new URL(name, experiments), 'utf8');
    const said = await page.evaluate((text) => williwaw.ask({ do: 'check', text }), text);
    const { good, real, cells, packet_hops: hops, repetitions } = said.document;
    if (!good || real || cells * (hops / repetitions) > 4e6) { left.push(name); continue; }
    const ran = await page.evaluate(async (text) => {
      const { document, bytes } = await williwaw.ask({ do: 'run', text, repetitions: 1, seed: 5 });
      return { good: document.good, error: document.error, bytes: Array.from(bytes) };
    }, text);
    assert.ok(ran.good, `${name}: ${ran.error}`);
    assert.deepEqual(Buffer.from(ran.bytes), native(text, 1, 5).flows, name);
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
