// The control tool in a real browser: Debian's Chromium, driven by playwright-core, headless.
//
//   node test/browser.mjs WILLIWAW [FOLDER]
//
// WILLIWAW is the command's binary; screenshots go to FOLDER. Says aloud what is skipped where a program is missing.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { launch } from './chromium.mjs';

const [williwaw, folder = 'shots'] = process.argv.slice(2).map((path) => resolve(path));
const { home, say, faults, shot, tab: open, run } = await launch('page', folder);

const STUDY = readFileSync(new URL('../../../../experiments/seawind/case-study.scenario.toml', import.meta.url), 'utf8');

let server;
async function serve(port = 0) {
  server = spawn(williwaw, ['serve', '--dir', join(home, 'lab'), '--port', String(port)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let talk = '';
  server.stderr.on('data', (data) => { talk += data; });
  const url = await new Promise((found, failed) => {
    let text = '';
    server.stdout.on('data', (data) => { text += data; const line = /http:\S+/.exec(text); if (line) found(line[0]); });
    server.on('exit', () => failed(new Error(`the server ended: ${talk}`)));
  });
  return url;
}
const ended = (child) => new Promise((done) => { if (child.exitCode !== null || child.signalCode) done(); else child.on('exit', done); });

const url = await serve();
const base = url.split('#')[0];
async function tab(options = {}) {
  const page = await open(base, 60000, options);
  page.on('dialog', (dialog) => { faults.push(`dialog ${dialog.message()}`); void dialog.dismiss(); });
  return page;
}
const text = (page) => page.locator('#text').inputValue();
const write = async (page, words) => {
  const checked = page.waitForResponse((r) => r.url().endsWith('/api/check') && r.request().postDataJSON().text === words);
  await page.locator('#text').fill(words);
  await checked;
};
const fits = async (page) => {
  const [has, shows] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(has <= shows, `the page is ${has} px wide in a window of ${shows}`);
};

await run(async () => {
  // A wrong token.
  const stranger = await tab();
  await stranger.goto(`${base}#token=${'0'.repeat(32)}`);
  await stranger.locator('#stranger').waitFor();
  await shot(stranger, 'wrong-token');
  await stranger.context().close();
  say('a wrong token: the page says which address to open, and shows nothing');

  // From an empty page: a hop and a flow by the form.
  const page = await tab();
  await page.goto(url);
  await page.locator('#form .add').first().waitFor();
  assert.ok(!page.url().includes('token'));
  assert.equal((await text(page)).trim(), 'williwaw = 1\ntitle = ""');
  await page.getByRole('button', { name: '+ Hop' }).click();
  await page.locator('#form').getByLabel('rate', { exact: true }).fill('9600 bit/s');
  await page.locator('#form').getByLabel('rate', { exact: true }).press('Enter');
  await page.waitForFunction(() => document.querySelector('#text').value.includes('rate = "9600 bit/s"'));
  await page.locator('#form').getByLabel('Add a key').first().selectOption('queue');
  await page.waitForFunction(() => document.querySelector('#text').value.includes('queue'));
  await page.locator('#form').getByLabel('queue', { exact: true }).selectOption('drop-tail');
  await page.getByRole('button', { name: '+ Flow' }).click();
  await page.locator('#preview .cost').waitFor();
  await shot(page, 'composed');
  say(`a hop and a flow by the form: ${(await page.locator('#preview .cost').textContent()).slice(0, 70)}`);

  // The rest of the case study as text; the form follows.
  await write(page, STUDY);
  await page.locator('#form summary', { hasText: 'Hop gsm' }).waitFor();
  await page.locator('#name').fill('case-study');
  await page.locator('#save').click();
  await page.locator('.note.good').waitFor();

  // A mistake: in the text at its line, in the form at its key.
  const gsm = page.locator('#form details.group', { has: page.locator('> summary', { hasText: 'Hop gsm' }) }).first();
  await gsm.getByLabel('rate', { exact: true }).fill('9600 furlongs');
  await gsm.getByLabel('rate', { exact: true }).press('Enter');
  await page.locator('.mistakes li').first().waitFor();
  const line = (await text(page)).split('\n').findIndex((l) => l.includes('furlongs')) + 1;
  assert.equal(await page.locator('.gutter .error').first().textContent(), String(line));
  await gsm.locator('.row.wrong .mistake').first().waitFor();
  await shot(page, 'mistake');
  await gsm.getByLabel('rate', { exact: true }).fill('9600 bit/s');
  await gsm.getByLabel('rate', { exact: true }).press('Enter');
  await page.locator('#preview .cost').waitFor();
  assert.equal(await text(page), STUDY);
  say(`a mistake is marked at line ${line} and at the form's key, and mended`);

  // One repetition: picture and film.
  await page.locator('#look').click();
  await page.locator('figure.picture.live canvas.view').waitFor();
  await page.locator('#time').evaluate((slider) => { slider.value = '60'; slider.dispatchEvent(new Event('input')); });
  const moment = await page.locator('#moment').textContent();
  assert.match(moment, /window .* B, in flight .* B; radio: bad/);
  const before = await page.locator('.clock').textContent();
  await page.locator('#next-loss').click();
  assert.notEqual(await page.locator('.clock').textContent(), before);
  await page.locator('#time').focus();
  await page.keyboard.press('ArrowLeft');
  await shot(page, 'film');
  say(`film at 60 s: ${moment}`);

  // The table: run, and compare with the command line.
  await page.locator('#run').click();
  await page.locator('#results').waitFor();
  await page.waitForFunction(() => document.querySelector('#state')?.textContent === 'done');
  const file = join(home, 'case-study.toml');
  writeFileSync(file, STUDY);
  const plain = JSON.parse(execFileSync(williwaw, ['run', file, '--no-out', '--json', '-q'])).cells[0].metrics;
  await page.waitForFunction(() => document.querySelector('#results tbody td:last-child')?.textContent === '20');
  const row = async (metric) => page.locator(`#results tr[data-metric="${metric}"] td`).allTextContents();
  const shown = (x) => { const t = Number.isInteger(x) ? x.toFixed(0) : x.toFixed(Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(Math.abs(x)))))); return t; };
  const seen = {};
  for (const metric of ['completion_time_s', 'throughput_bps', 'segments_retransmitted', 'segments_dropped']) {
    const cells = (await row(metric)).map((t) => t.replace(/\u202f/g, ''));
    const wanted = [plain[metric].p10, plain[metric].median, plain[metric].p90].map(shown);
    assert.deepEqual(cells.slice(0, 3), wanted, metric);
    seen[metric] = cells.slice(0, 3);
  }
  const hint = await page.locator('#results tr[data-metric="throughput_bps"] td').nth(1).getAttribute('title');
  say(`20 runs: p10 ${seen.completion_time_s[0]}, median ${seen.completion_time_s[1]}, p90 ${seen.completion_time_s[2]} s; ${hint}; resent ${seen.segments_retransmitted[1]}, dropped ${seen.segments_dropped[1]} (published: 153.27, 170.51, 196.40 s; 601 B/s; 65; 47); equal to williwaw run --json`);
  await page.locator('#see').click();
  await page.locator('figure.picture.live').waitFor();
  for (const width of [1280, 768, 400]) {
    await page.setViewportSize({ width, height: 900 });
    await page.waitForTimeout(200);
    await shot(page, `table-${width}`);
    await fits(page);
  }
  for (const width of [768, 400]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${base}#/`);
    await page.locator('#preview .cost').waitFor();
    await shot(page, `compose-${width}`);
    await fits(page);
  }
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 1280, height: 900 });
  await shot(page, 'compose-dark');
  await page.emulateMedia({ colorScheme: 'light' });
  say('three widths, light and dark: nothing is wider than the window');

  // Names for everything that can be reached by the keyboard.
  const nameless = await page.evaluate(() => [...document.querySelectorAll('input, select, textarea, button, a[href]')]
    .filter((n) => n.offsetParent && !n.labels?.length && !n.getAttribute('aria-label') && !n.textContent.trim()).map((n) => n.outerHTML.slice(0, 120)));
  assert.deepEqual(nameless, []);
  await page.locator('#name').focus();
  let reached = '';
  for (let i = 0; i < 400 && reached !== 'run'; i++) {
    await page.keyboard.press('Tab');
    reached = await page.evaluate(() => document.activeElement.id);
  }
  assert.equal(reached, 'run', 'the keyboard reaches the run button');
  say('every control has a name, and the keyboard reaches the run button');

  // A long set; a reload in the middle; a second tab; pause there, seen here.
  await page.locator('#reps').fill('8000');
  await page.locator('#run').focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(/#\/set\/\d+/);
  await page.waitForFunction(() => document.querySelector('#state')?.textContent === 'runs');
  const id = Number(/set\/(\d+)/.exec(page.url())[1]);
  await page.reload();
  await page.waitForFunction(() => document.querySelector('#state')?.textContent === 'runs');
  const second = await tab();
  await second.goto(url);
  await second.locator('a', { hasText: 'Queue' }).click();
  await second.locator(`button[aria-label="Pause set ${id}"]`).click();
  await page.waitForFunction(() => document.querySelector('#state')?.textContent === 'paused');
  const done = (p) => p.evaluate(() => Number(/([\d\u202f]+) of/.exec(document.querySelector('#main').textContent)[1].replace(/\u202f/g, '')));
  const paused = await done(page);
  assert.ok(paused > 0 && paused < 8000);
  await second.locator(`button[aria-label="Resume set ${id}"]`).click();
  await page.waitForFunction(() => document.querySelector('#state')?.textContent === 'runs');
  say(`reloaded, paused from another tab at ${paused} of 8 000, resumed`);

  // The server is killed in the middle.
  const port = Number(new URL(base).port);
  const process_ = server;
  process_.removeAllListeners('exit');
  process_.kill('SIGKILL');
  await ended(process_);
  await page.waitForFunction(() => document.querySelector('.connection')?.textContent === 'not connected');
  await shot(page, 'server-killed');
  await serve(port);
  await page.waitForFunction(() => ['connected', 'running'].includes(document.querySelector('.connection')?.textContent));
  await page.waitForFunction(() => document.querySelector('#state')?.textContent === 'done', null, { timeout: 180000 });
  assert.equal(await done(page), 8000);
  say('the server was killed and started again: the page connected by itself, and the set ended with 8 000 of 8 000');
  await second.context().close();

  // A hostile title stays text, everywhere it is shown.
  const hostile = '<img src=x onerror=window.hit=1><script>window.hit=2</script>\\u202e"\'';
  await page.goto(`${base}#/`);
  await page.locator('#text').waitFor();
  await write(page, STUDY.replace(/^title = .*$/m, `title = "${hostile.replace(/"/g, '\\"')}"`));
  await page.locator('#look').click();
  await page.locator('figure.picture.live').waitFor();
  await page.locator('#reps').fill('2');
  await page.locator('#run').click();
  await page.waitForFunction(() => document.querySelector('#state')?.textContent === 'done');
  await page.locator('#see').click();
  await page.locator('figure.picture.live').waitFor();
  assert.match(await page.locator('h1').first().textContent(), /<img src=x onerror/);
  assert.equal(await page.evaluate(() => window.hit), undefined);
  const [exported] = await Promise.all([page.waitForEvent('download'), page.locator('#export').click()]);
  const saved = join(home, 'export.html');
  await exported.saveAs(saved);
  const alone = await tab();
  alone.removeAllListeners('request');
  await alone.goto(`file://${saved}`);
  await alone.locator('figure.picture.live').waitFor();
  assert.equal(await alone.evaluate(() => window.hit), undefined);
  await shot(alone, 'export');
  await alone.context().close();
  say('a hostile title stays text in the page and in its export');

  // A set that does not exist: one sentence with a link to the queue, no headings.
  await page.goto(`${base}#/set/99999`);
  await page.locator('#absent a[href="#/queue"]').waitFor();
  assert.equal(await page.locator('#main h2:visible').count(), 0);
  say('an absent set is one sentence with a link to the queue');

  // Compare, and a capture.
  await page.goto(`${base}#/compare`);
  await page.locator('select[aria-label="First set"] option').nth(1).waitFor({ state: 'attached' });
  await page.locator('select[aria-label="First set"]').selectOption({ index: 0 });
  await page.locator('select[aria-label="Second set"]').selectOption({ index: 1 });
  await page.locator('#compare').click();
  await page.locator('#main table').first().waitFor();
  await shot(page, 'compare');
  execFileSync(williwaw, ['run', file, '--out', join(home, 'captured'), '--pcap', '--reps', '1', '-q']);
  const capture = execFileSync('find', [join(home, 'captured'), '-name', '*.pcapng']).toString().trim().split('\n').sort()[0];
  await page.goto(`${base}#/captures`);
  await page.locator('#file').setInputFiles(capture);
  await page.locator('.story').first().waitFor();
  await page.locator('figure.picture.live').waitFor();
  await shot(page, 'capture');
  say(`a capture: ${(await page.locator('.story').first().textContent()).slice(0, 110)}`);

  // The report with sliders: from disk, without a server; the numbers are those of the run.
  const grid = join(home, 'grid.toml');
  const lengths = ['10 s', '20 s', '40 s', '60 s', '80 s', '120 s'];
  const limits = [3, 5, 7, 10, 15, 20].map((n) => `${n} packets`);
  writeFileSync(grid, `${STUDY}\n[grid]\n"state-machine.radio.state.good.lasts" = ${JSON.stringify(lengths)}\n"hop.gsm.queue.drop-tail.limit" = ${JSON.stringify(limits)}\n`);
  const ran = JSON.parse(execFileSync(williwaw, ['run', grid, '--reps', process.env.REPS ?? '10', '--report', '--json', '-q', '--out', join(home, 'grid')], { maxBuffer: 1 << 28 }));
  const report = join(home, 'grid', 'explore.html');
  const sliders = await tab();
  sliders.removeAllListeners('request');
  await sliders.goto(`file://${report}`);
  await sliders.locator('#figures figure.picture.live').first().waitFor();
  const paint = await sliders.evaluate(() => Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1));
  for (const [i, j] of [[0, 0], [4, 1], [5, 5]]) {
    for (const [axis, value] of [[0, i], [1, j]]) {
      await sliders.locator(`#axis-${axis}`).evaluate((slider, to) => { slider.value = String(to); slider.dispatchEvent(new Event('input')); }, value);
    }
    const told = ran.cells[i * limits.length + j];
    assert.deepEqual([told.params['state-machine.radio.state.good.lasts'], told.params['hop.gsm.queue.drop-tail.limit']], [lengths[i], limits[j]]);
    const cells = (await sliders.locator('#table tr[data-metric="completion_time_s"] td').allTextContents()).map((t) => t.replace(/\u202f/g, ''));
    const m = told.metrics.completion_time_s;
    assert.deepEqual(cells, [m.mean, m.p10, m.median, m.p90].map(shown), `cell ${i}, ${j}`);
    await sliders.locator('#figures figure.picture.live').first().waitFor();
  }
  await sliders.locator('#axis-0').focus();
  await sliders.keyboard.press('ArrowLeft');
  assert.equal(await sliders.locator('#axes output').first().textContent(), lengths[4]);
  await shot(sliders, 'explore');
  say(`36 cells of ${ran.repetitions} repetitions: ${readFileSync(report).length} bytes, first paint after ${paint} ms; the sliders show the numbers of the run`);
  await sliders.context().close();

  // Commands are shown and confirmed.
  await page.goto(`${base}#/`);
  await page.locator('#text').waitFor();
  await write(page, `${STUDY}\n[[command]]\nname = "greet"\nat = "phone"\nrun = "echo hello"\n`);
  await page.locator('#run').click();
  await page.locator('dialog pre', { hasText: 'echo hello' }).first().waitFor();
  await page.locator('dialog button', { hasText: 'Cancel' }).click();
  assert.match(page.url(), /#\/$/);
  say('commands are shown in full before they run; Cancel runs nothing');
}, async () => {
  server.removeAllListeners('exit');
  server.kill('SIGTERM');
  await ended(server);
});
