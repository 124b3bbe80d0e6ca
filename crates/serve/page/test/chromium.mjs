// Headless Chromium for tests of pages: Debian's browser, driven by playwright-core.
//
// A session keeps a temporary folder, writes screenshots, and records requests to other hosts and errors of the page.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Ends the test as skipped, and says which program is missing. */
function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(0);
}

/** Starts the browser. `name` is in the names of the temporary folder and of a failure's screenshots, which go to `folder`. */
export async function launch(name, folder) {
  const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
  if (!executablePath) skip('there is no Chromium; apt-get install chromium');
  const { chromium } = await import('playwright-core').catch(() => ({}));
  if (!chromium) skip('playwright-core is not installed; npm ci in crates/serve/page');

  const home = mkdtempSync(join(tmpdir(), `williwaw-${name}-`));
  mkdirSync(folder, { recursive: true });
  const begun = Date.now();
  const say = (text) => console.log(`${((Date.now() - begun) / 1000).toFixed(1).padStart(6)} s  ${text}`);
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run', '--disable-gpu'],
  });
  const [strangers, faults] = [[], []];
  const shot = (page, title) => page.screenshot({ path: join(folder, `${title}.png`), fullPage: true });

  /** A page whose requests may go to `allowed` only; `timeout` in milliseconds bounds each wait. */
  async function tab(allowed, timeout, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(timeout);
    page.on('request', (request) => {
      if (!request.url().startsWith(allowed) && !/^(data|blob):/.test(request.url())) strangers.push(request.url());
    });
    page.on('pageerror', (error) => faults.push(String(error)));
    return page;
  }

  /** Runs the test and `cleanup`; the exit status is 1 after an error, a request to another host or a fault of the page. */
  async function run(test, cleanup) {
    try {
      await test();
      assert.deepEqual(strangers, [], 'requests to other hosts');
      assert.deepEqual(faults, [], 'faults of the page');
      say(`no request to another host, no fault of the page; screenshots in ${folder}`);
    } catch (error) {
      console.error(error);
      console.error('faults of the page:', faults);
      for (const context of browser.contexts()) for (const page of context.pages()) await shot(page, `${name}-failed`).catch(() => {});
      process.exitCode = 1;
    } finally {
      await browser.close();
      await cleanup();
      rmSync(home, { recursive: true, force: true });
    }
  }
  return { home, say, browser, faults, shot, tab, run };
}
