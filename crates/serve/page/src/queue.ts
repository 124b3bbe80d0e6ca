// Queue: the sets in their order, and what can be asked of them. A set: table, picture, film, export.

import { blob, get, live, post, type SetInfo } from './api';
import type { Table } from './client';
import { button, called, coded, download, fail, fill, h, number } from './dom';
import { dialog } from './compose';
import { film, type Film } from './film';
import { picture, plot, type Drawn } from './picture';

/** Calls `act` now and whenever the sets change, until the view is left. */
export function follow(node: HTMLElement, act: () => void): void {
  const listener = (): void => {
    if (node.isConnected) act();
    else live.listeners.delete(listener);
  };
  live.listeners.add(listener);
  act();
}

const STATE: Record<SetInfo['state'], string> = { queued: 'waits', running: 'runs', paused: 'paused', stopped: 'stopped', done: 'done', failed: 'failed' };

/** Progress of a set as a bar and in words. It grows in place: a button made anew at every step would lose the click that it is under. */
function meter(set: SetInfo, words: (set: SetInfo) => string): { nodes: [HTMLElement, HTMLElement]; show: (set: SetInfo) => void } {
  const bar = h('progress', { max: 1 }), text = h('span');
  const show = (now: SetInfo): void => {
    bar.value = now.total ? now.done / now.total : 0;
    bar.setAttribute('aria-label', `${number(now.done)} of ${number(now.total)} repetitions`);
    text.textContent = words(now);
  };
  show(set);
  return { nodes: [bar, text], show };
}

/** What of the sets is drawn anew when it changes: all but the progress. */
const shape = (sets: SetInfo[]): string => JSON.stringify(sets.map((set) => ({ ...set, done: 0 })));

function actions(set: SetInfo, readOnly: boolean): HTMLElement {
  const box = h('span', { class: 'actions' });
  if (readOnly) return box;
  const ask = (what: string): Promise<unknown> => post(`sets/${set.id}/ask/${what}`);
  const add = (text: string, what: string): void => box.append(button(text, () => ask(what), { 'aria-label': `${text} set ${set.id}` }));
  if (set.state === 'running' || set.state === 'queued') add('Pause', 'pause');
  if (['running', 'queued', 'paused'].includes(set.state)) add('Stop', 'stop');
  if (['paused', 'stopped', 'failed'].includes(set.state)) add('Resume', 'resume');
  if (set.state === 'queued') add('First', 'first');
  if (set.state !== 'running') {
    box.append(button('Delete', async () => {
      if (await dialog(`Delete set ${set.id} and its results?`, [h('p', {}, set.title || set.name)], 'Delete')) await ask('delete');
    }, { 'aria-label': `Delete set ${set.id}` }));
  }
  return box;
}

export function queue(main: HTMLElement, readOnly: boolean): void {
  const list = h('div', { class: 'sets' });
  fill(main, h('h1', {}, 'Queue'), list);
  let shown = '';
  const meters = new Map<number, (set: SetInfo) => void>();
  follow(list, () => {
    const now = shape(live.sets);
    if (now === shown) {
      for (const set of live.sets) meters.get(set.id)?.(set);
      return;
    }
    shown = now;
    meters.clear();
    if (!live.sets.length) {
      fill(list, h('p', { class: 'soft' }, live.connected ? 'Nothing is queued. Compose a scenario and run it.' : 'Connecting…'));
      return;
    }
    fill(list, ...[...live.sets].reverse().map((set) => {
      const progress = meter(set, (s) => ` ${number(s.done)} of ${number(s.total)}`);
      meters.set(set.id, progress.show);
      return h('article', { class: `set ${set.state}` },
        h('h2', {}, h('a', { href: `#/set/${set.id}` }, set.title || set.name)),
        h('p', { class: 'soft' }, `set ${set.id}, ${set.name}, ${set.clock} time, ${number(set.cells)} cell${set.cells === 1 ? '' : 's'} of ${number(set.repetitions)}, queued ${set.created} UTC`),
        h('p', {}, h('strong', { class: 'state' }, STATE[set.state]), ' ', ...progress.nodes),
        set.message ? h('p', { class: 'warning' }, ...coded(set.message)) : null,
        actions(set, readOnly));
    }));
  });
}

interface Detail { set: SetInfo; text: string; table: Table | null; commands: string[]; record?: { version: string; seed: number; hash: string; seconds: number }; folder: string }

/** Metrics of the first table: times, rate, retransmissions and losses. */
const MAIN = ['completion_time_s', 'throughput_bps', 'segments_retransmitted', 'segments_dropped', 'goodput_ratio', 'spurious_timeouts', 'genuine_timeouts', 'queue_delay_s'];

/** The usual metrics of every cell, or all of them. */
export function metrics(table: Table, all: boolean): HTMLElement {
  const known = new Map(table.columns.map((column) => [column.name, column.unit]));
  const names = (all ? table.columns.map((c) => c.name) : MAIN).filter((name) => known.has(name) && table.cells.some((cell) => cell.metrics[name]?.n));
  const keys = [...new Set(table.cells.flatMap((cell) => Object.keys(cell.params)))];
  const head = h('tr', {}, ...keys.map((key) => h('th', { scope: 'col', title: key }, key.split('.').slice(-1)[0] ?? key)),
    ...['metric', '10 %', 'median', '90 %', 'mean', '95 % interval', 'n'].map((text) => h('th', { scope: 'col' }, text)));
  const body = h('tbody');
  for (const cell of table.cells) {
    names.forEach((name, i) => {
      const m = cell.metrics[name];
      if (!m) return;
      // Rates are read in bytes by some and in bits by others: bits here, bytes in the hint.
      const unit = known.get(name) ?? '';
      const hint = unit === 'bit/s' && m.median !== null ? `median ${number(m.median / 8)} B/s` : '';
      const row = h('tr', { class: i === 0 ? 'first' : '' },
        ...keys.map((key) => h('td', {}, i === 0 ? String(cell.params[key] ?? '') : '')),
        h('th', { scope: 'row' }, ...called(name, unit)),
        h('td', {}, number(m.p10)), h('td', { title: hint }, number(m.median)), h('td', {}, number(m.p90)), h('td', {}, number(m.mean)),
        h('td', {}, m.ci95 ? `${number(m.ci95[0])} … ${number(m.ci95[1])}` : '–'), h('td', {}, number(m.n)));
      row.dataset.metric = name;
      body.append(row);
    });
  }
  return h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Results' }, h('table', { id: 'results' }, h('thead', {}, head), body));
}

export async function set(main: HTMLElement, id: number, readOnly: boolean): Promise<void> {
  const head = h('div'), results = h('div'), looked = h('div'), curve = h('div', { class: 'curve' });
  const commands = h('pre', { class: 'commands' });
  const below = h('section', { hidden: true, 'aria-label': 'Results' }, results, curve, looked, h('h2', {}, 'Commands for this set'), commands);
  fill(main, head, below);
  let all = false, shown = '', drawn = '', busy = false, last = '';
  const progress: [number, number][] = [];
  let chart: ReturnType<typeof plot> | null = null;
  const reps = h('input', { type: 'number', min: 0, value: 0, step: 1, id: 'rep', 'aria-label': 'Repetition' });
  const cells = h('input', { type: 'number', min: 0, value: 0, step: 1, id: 'cell', 'aria-label': 'Cell' });

  const load = async (): Promise<void> => {
    const detail = await get<Detail>(`sets/${id}`);
    fill(results, detail.table ? metrics(detail.table, all) : h('p', { class: 'soft' }, 'No repetition has finished yet.'));
    commands.textContent = detail.commands.join('\n');
    last = `${detail.set.title || detail.set.name}`;
  };
  const refresh = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    try { await load(); } catch (error) { fail(error); } finally { busy = false; }
  };
  const see = async (): Promise<void> => {
    const which = `cell=${cells.value}&rep=${reps.value}`;
    const one = await get<Drawn>(`sets/${id}/picture?${which}`);
    fill(looked, h('h2', {}, `Cell ${cells.value}, repetition ${reps.value}`));
    picture(looked, one);
    film(looked, await get<Film>(`sets/${id}/film?${which}`), one.window);
  };
  let grow: ((set: SetInfo) => void) | null = null;
  follow(head, () => {
    const now = live.sets.find((set) => set.id === id);
    const key = now ? JSON.stringify(now) : `absent, connected ${live.connected}`;
    if (key === shown) return;
    shown = key;
    below.hidden = !now;
    if (!now) {
      drawn = '';
      const absent = h('p', { id: 'absent' }, `There is no set ${id}. `, h('a', { href: '#/queue' }, 'Queue'));
      fill(head, ...(live.connected ? [absent] : [h('h1', {}, `Set ${id}`), h('p', { class: 'soft' }, 'Connecting…')]));
      return;
    }
    if (shape([now]) !== drawn) {
      drawn = shape([now]);
      const progress = meter(now, (s) => ` ${number(s.done)} of ${number(s.total)} repetitions, ${s.clock} time`);
      grow = progress.show;
      fill(head, h('h1', {}, now.title || now.name),
        h('p', {}, h('strong', { class: 'state', id: 'state' }, STATE[now.state]), ' ', ...progress.nodes),
        now.message ? h('p', { class: 'warning' }, ...coded(now.message)) : null,
        h('div', { class: 'toolbar' }, actions(now, readOnly),
          button('All metrics', () => { all = !all; return load(); }),
          button('Edit a copy', async () => { const d = await get<Detail>(`sets/${id}`); sessionStorage.setItem('williwaw-draft', JSON.stringify({ name: d.set.name, text: d.text })); location.hash = '#/'; }),
          button('Export page', async () => download(`williwaw-${id}.html`, [await blob(`sets/${id}/export`)], 'text/html'), { id: 'export' }),
          h('span', { class: 'space' }), h('span', { class: 'together' }, h('label', { for: 'cell' }, 'Cell'), cells), h('span', { class: 'together' }, h('label', { for: 'rep' }, 'Repetition'), reps, button('Look', see, { id: 'see' }))));
    }
    grow?.(now);
    if (now.state === 'running') {
      progress.push([performance.now() / 1000, now.done]);
      const t0 = progress[0]![0];
      const data = [progress.map(([t]) => t - t0), progress.map(([, done]) => done)];
      if (!chart && progress.length > 2) chart = plot(curve, 'elapsed time (s)', 'repetitions', data[0]!, [{ label: 'finished', values: data[1]!, colour: '--needed' }]);
      else chart?.setData(data as [number[], number[]]);
    }
    void refresh();
    document.title = `${last || 'set'} · williwaw`;
  });
}
