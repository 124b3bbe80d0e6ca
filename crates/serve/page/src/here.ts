// Runs in the page itself: progress, table, files to save, picture of any repetition. Small scenarios run at every change.

import { ALONE, client, type Checked, type Ran, type Runs, type Which } from './client';
import { button, coded, download, fail, fill, h, number } from './dom';
import { Stopped } from './engine';
import { film } from './film';
import { picture } from './picture';
import { metrics } from './queue';

/** Events up to which every change is run at once, two or three seconds; beyond, the button is pressed. */
const AT_ONCE = 1e6;
/** Events of one repetition up to which its picture is drawn unasked. */
const DRAWN = 3e5;

type Phase = 'wrong' | 'waits' | 'runs' | 'done' | 'stopped';

export interface Here {
  /** The text was changed and checked: whatever is being computed ends. */
  changed(text: string, checked: Checked, repetitions: number | undefined): void;
  /** Runs the text last checked, however long it takes. */
  run(): Promise<void>;
}

/** The section below the form; pictures go to `looked`. */
export function here(box: HTMLElement, looked: HTMLElement, runs: Runs): Here {
  const state = h('p', { id: 'state', role: 'status' });
  const bar = h('progress', { max: 1, value: 0, id: 'bar', 'aria-label': 'Repetitions done', hidden: true });
  const stop = button('Stop', () => runs.stop(), { id: 'stop' });
  const results = h('div', { hidden: true }), table = h('div'), command = h('pre', { class: 'commands' });
  const cell = h('select', { id: 'cell' }), flow = h('select', { id: 'flow' }), rep = h('input', { id: 'rep', type: 'number', min: 0, step: 1, value: 0 });
  let text = '', now: Checked | null = null, repetitions: number | undefined, ran: Ran | null = null, ranText = '', all = false, turn = 0;

  const phase = (name: Phase, words: string): void => {
    box.dataset.phase = name;
    fill(state, ...coded(words));
    bar.hidden = name !== 'runs';
    stop.disabled = name !== 'runs';
  };
  const show = (): void => { if (ran) fill(table, metrics(ran.table, all)); };
  const which = (): Which => ({ cell: Number(cell.value), rep: Math.max(0, Math.trunc(Number(rep.value)) || 0), flow: Number(flow.value) });
  const look = async (): Promise<void> => {
    const mine = turn, at = which();
    const answer = await client.look(ranText, at);
    if (mine !== turn || JSON.stringify(at) !== JSON.stringify(which())) return;
    fill(looked, h('h2', {}, `Cell ${at.cell}, repetition ${at.rep}`));
    picture(looked, answer);
    film(looked, answer.film, answer.window);
  };
  const ready = (done: Ran): void => {
    const { cells, seed } = done.table;
    results.hidden = false;
    command.textContent = `williwaw run scenario.toml --reps ${done.table.repetitions} --seed ${seed}`;
    const named = cells.map(({ params }) => Object.entries(params).map(([key, value]) => `${key.split('.').slice(-1)[0]} = ${String(value)}`).join(', ') || 'the only one');
    options(cell, named);
    options(flow, now?.flows ?? []);
    rep.max = String(done.table.repetitions - 1);
    show();
  };
  const run = async (): Promise<void> => {
    if (!now?.good || now.real || now.commands?.length) return;
    runs.stop();
    const mine = ++turn, asked = text, events = now.cost?.events_per_run ?? 0;
    phase('runs', `${number(total(now, repetitions))} repetitions are being computed.`);
    bar.value = 0;
    try {
      const done = await runs.run(asked, repetitions, (d, t) => { if (mine === turn) { bar.max = Math.max(1, t); bar.value = d; } });
      if (mine !== turn) return;
      [ran, ranText] = [done, asked];
      ready(done);
      box.dataset.seconds = String(done.seconds);
      phase('done', `${number(done.table.cells.length * done.table.repetitions)} repetitions in ${done.seconds.toFixed(2)} s.`);
      if (events <= DRAWN) await look();
    } catch (error) {
      if (mine !== turn) return;
      phase('stopped', error instanceof Stopped ? 'Stopped.' : 'The run ended.');
      if (!(error instanceof Stopped)) fail(error);
    }
  };
  for (const node of [cell, flow, rep]) node.addEventListener('change', () => void look().catch(fail));
  fill(results, h('h2', {}, 'Results'), table,
    h('div', { class: 'toolbar' }, button('All metrics', () => { all = !all; show(); }, { id: 'all' }),
      button('Save flows.parquet', () => download('flows.parquet', [ran!.parquet], 'application/octet-stream'), { id: 'parquet' }),
      button('Save flows.csv', () => download('flows.csv', [ran!.table.csv], 'text/csv'), { id: 'csv' }),
      h('span', { class: 'space' }), h('span', { class: 'together' }, h('label', { for: 'cell' }, 'Cell'), cell), h('span', { class: 'together' }, h('label', { for: 'flow' }, 'Flow'), flow),
      h('span', { class: 'together' }, h('label', { for: 'rep' }, 'Repetition'), rep, button('Look', look, { id: 'see' }))),
    h('p', { class: 'soft' }, 'Command for these results:'), command);
  fill(box, h('div', { class: 'toolbar' }, state, bar, stop), h('p', { class: 'soft', id: 'alone' }, ...coded(ALONE)), results);
  phase('stopped', '');
  return {
    run,
    changed(words, checked, wanted) {
      [text, now, repetitions] = [words, checked, wanted];
      turn += 1;
      runs.stop();
      if (!checked.good) { phase('wrong', ran ? 'The scenario has mistakes; the results below are those of the last valid text.' : 'The scenario has mistakes.'); return; }
      const needs = checked.real ?? checked.commands?.[0]?.name;
      if (needs) { phase('wrong', `\`${needs}\` needs a real kernel, a program or a wire; this page runs models only.`); return; }
      if (checked.cost!.events_per_run * total(checked, wanted) > AT_ONCE) phase('waits', `${number(total(checked, wanted))} repetitions take a while in a page: press Run.`);
      else void run();
    },
  };
}

/** Repetitions of all cells. */
function total(checked: Checked, repetitions: number | undefined): number {
  const cost = checked.cost;
  return cost ? cost.cells * (repetitions ?? cost.repetitions) : 0;
}

/** Fills a choice, and keeps what was chosen where that is still there. */
function options(select: HTMLSelectElement, names: string[]): void {
  const chosen = Number(select.value) || 0;
  fill(select, ...names.map((name, i) => h('option', { value: i, selected: i === chosen }, name)));
}
