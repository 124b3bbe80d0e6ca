// Compare two sets, open a capture, call the triggers of a running emulation.

import { get, live, post, put, remove } from './api';
import { button, called, coded, fail, fill, h, number } from './dom';
import { picture } from './picture';
import { follow } from './queue';

export function compare(main: HTMLElement): void {
  const select = (label: string): HTMLSelectElement => h('select', { 'aria-label': label });
  const a = select('First set'), b = select('Second set'), answer = h('div', { 'aria-live': 'polite' });
  fill(main, h('h1', {}, 'Compare two sets'), h('p', { class: 'soft' }, 'Equal repetitions of both sets have equal random conditions: the difference is that of the pairs.'),
    h('div', { class: 'toolbar' }, a, 'with', b, button('Compare', async () => {
      fill(answer, h('p', { class: 'soft' }, 'Comparing…'));
      try { fill(answer, ...compared(await get<Compared>(`compare?a=${a.value}&b=${b.value}`))); } catch (error) { fill(answer); throw error; }
    }, { class: 'primary', id: 'compare' })), answer);
  let shown = '';
  follow(answer, () => {
    const sets = live.sets.filter((set) => set.done > 0);
    const key = sets.map((set) => `${set.id}${set.state}`).join();
    if (key === shown) return;
    shown = key;
    for (const [node, at] of [[a, sets.length - 2], [b, sets.length - 1]] as const) {
      const kept = node.value;
      fill(node, ...sets.map((set, i) => h('option', { value: set.id, selected: kept ? kept === String(set.id) : i === at }, `${set.id}: ${set.title || set.name}`)));
    }
  });
}

interface Contrast { mean?: number | null; ci95?: [number, number] | null }
interface Compared { sentence?: string; cells?: { sentence?: string; metrics?: Record<string, { a?: Contrast; b?: Contrast; difference?: Contrast; relative?: number | null; less?: number; more?: number; pairs?: number }> }[] }

function compared(document: Compared): HTMLElement[] {
  const out: HTMLElement[] = [];
  const single = document.cells?.length === 1;
  if (document.sentence && !single) out.push(h('p', { class: 'story' }, document.sentence));
  for (const cell of document.cells ?? []) {
    if (cell.sentence) out.push(h('p', { class: 'story' }, cell.sentence));
    const body = h('tbody');
    for (const [name, m] of Object.entries(cell.metrics ?? {})) {
      if (!m.difference || m.difference.mean === null || m.difference.mean === undefined) continue;
      body.append(h('tr', {}, h('th', { scope: 'row' }, ...called(name)), h('td', {}, number(m.a?.mean)), h('td', {}, number(m.b?.mean)), h('td', {}, number(m.difference.mean)),
        h('td', {}, m.difference.ci95 ? `${number(m.difference.ci95[0])} … ${number(m.difference.ci95[1])}` : '–')));
    }
    out.push(h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Differences' }, h('table', {}, h('thead', {}, h('tr', {}, ...['metric', 'first', 'second', 'difference', '95 % interval'].map((t) => h('th', { scope: 'col' }, t)))), body)));
  }
  return out;
}

interface Analysis { story: string[]; frames: number; flows: { client: string; server: string; packets: number; data_bytes: number; duration_s: number; retransmissions: number; unneeded_retransmissions: number | null; timeouts: { kind: string }[] }[] }

export async function captures(main: HTMLElement, readOnly: boolean, open?: string): Promise<void> {
  const list = h('ul', { class: 'captures' }), answer = h('div', { 'aria-live': 'polite' });
  const file = h('input', { type: 'file', id: 'file', accept: '.pcap,.pcapng,.gz,.cap' });
  file.addEventListener('change', async () => {
    const chosen = file.files?.[0];
    if (!chosen) return;
    try {
      const name = chosen.name.replace(/[^A-Za-z0-9._ -]+/g, '-').replace(/^[. ]+/, '').slice(0, 64) || 'capture.pcap';
      await put(`captures/${encodeURIComponent(name)}`, chosen);
      location.hash = `#/captures/${encodeURIComponent(name)}`;
      if (open === name) dispatchEvent(new Event('hashchange'));
    } catch (error) { fail(error); }
  });
  fill(main, h('h1', {}, 'Captures'), !readOnly && h('p', {}, h('label', { for: 'file' }, 'Open a pcap or pcapng file: '), file), list, answer);
  const names = await get<string[]>('captures');
  fill(list, ...names.map((name) => h('li', {}, h('a', { href: `#/captures/${encodeURIComponent(name)}` }, name), ' ',
    !readOnly && button('Delete', async () => { await remove(`captures/${encodeURIComponent(name)}`); location.hash = '#/captures'; dispatchEvent(new Event('hashchange')); }, { class: 'quiet', 'aria-label': `Delete ${name}` }))));
  if (!open) return;
  fill(answer, h('p', { class: 'soft' }, `Reading ${open}…`));
  const { analysis, html } = await get<{ analysis: Analysis; html: string | null }>(`captures/${encodeURIComponent(open)}`);
  const rows = analysis.flows.slice(0, 100).map((flow) => h('tr', {}, h('th', { scope: 'row' }, `${flow.client} – ${flow.server}`), h('td', {}, number(flow.packets)), h('td', {}, number(flow.data_bytes)),
    h('td', {}, number(flow.duration_s)), h('td', {}, number(flow.retransmissions)), h('td', {}, number(flow.unneeded_retransmissions)), h('td', {}, number(flow.timeouts.length)), h('td', {}, number(flow.timeouts.filter((t) => t.kind === 'spurious').length))));
  fill(answer, h('h2', {}, open), ...analysis.story.filter(Boolean).map((line) => h('p', { class: 'story' }, line)),
    h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Connections' }, h('table', {}, h('thead', {}, h('tr', {}, ...['connection', 'packets', 'bytes', 'seconds', 'retransmissions', 'unneeded', 'timeouts', 'spurious'].map((t) => h('th', { scope: 'col' }, t)))), h('tbody', {}, ...rows))),
    analysis.flows.length > 100 ? h('p', { class: 'soft' }, `${number(analysis.flows.length - 100)} more connections.`) : null);
  picture(answer, { html });
}

export function running(main: HTMLElement, readOnly: boolean): void {
  const list = h('div', { 'aria-live': 'polite' });
  fill(main, h('h1', {}, 'Running emulations'), h('p', { class: 'soft' }, ...coded('Emulations of `williwaw emulate`, `williwaw shell` and of sets in real time. Press the name of a trigger to change the link now.')), list);
  let shown = '';
  const look = async (): Promise<void> => {
    if (!list.isConnected) return;
    try {
      const { running: all } = await get<{ running: { run: string; process: number; names: string[] }[] }>('running');
      const key = JSON.stringify(all);
      if (key !== shown) {
        shown = key;
        fill(list, ...(all.length ? all.map((one) => h('article', { class: 'set' }, h('h2', {}, `${one.run} (process ${one.process})`),
          one.names.length ? h('div', { class: 'toolbar' }, ...one.names.map((name) => button(name, async () => {
            const { t } = await post<{ t: number }>(`trigger?process=${one.process}&name=${encodeURIComponent(name)}`);
            list.append(h('p', { class: 'soft' }, `${name} at ${t.toFixed(3)} s`));
          }, { disabled: readOnly }))) : h('p', { class: 'soft' }, ...coded('It has no triggers. A scenario has them by `[[trigger]]` and by states with names.')))) : [h('p', { class: 'soft' }, 'No emulation is running on this machine.')]));
      }
    } catch (error) { fail(error); return; }
    setTimeout(() => void look(), 1500);
  };
  void look();
}
