// Compose: the form, the text beside it, the reader's mistakes, what the scenario will do and cost.

import { get, post, put, remove, Refused } from './api';
import { ALONE, client, unquoted, type Beginnings, type Checked } from './client';
import { button, coded, download, duration, fail, fill, h, number, say } from './dom';
import { form, type Change, type Mistake, type Schema, type Step } from './form';
import { here } from './here';
import { picture } from './picture';
import { film } from './film';

const DRAFT = 'williwaw-draft';

let schema: Schema | null = null;
let beginnings: Beginnings | null = null;

/** The draft outlives a reload: it is work in hand. */
const draft = {
  name: '',
  text: '',
  load(): void {
    try {
      const kept = JSON.parse(sessionStorage.getItem(DRAFT) ?? '{}');
      this.name = typeof kept.name === 'string' ? kept.name : '';
      this.text = typeof kept.text === 'string' ? kept.text : '';
    } catch { /* a draft that cannot be read is none */ }
  },
  keep(): void {
    try { sessionStorage.setItem(DRAFT, JSON.stringify({ name: this.name, text: this.text })); } catch { /* full: it is in the page */ }
  },
};

export async function compose(main: HTMLElement, readOnly: boolean, cores: number): Promise<void> {
  draft.load();
  const [loadedSchema, loadedBeginnings, saved] = await Promise.all([
    schema ?? client.schema(), beginnings ?? client.beginnings(), client.saved(),
  ]);
  schema = loadedSchema;
  beginnings = loadedBeginnings;

  const formBox = h('div', { class: 'pane', id: 'form' });
  const text = h('textarea', { id: 'text', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', wrap: 'off', 'aria-label': 'Scenario text (TOML)', rows: 26 });
  const gutter = h('div', { class: 'gutter', 'aria-hidden': 'true' });
  const mistakesBox = h('ul', { class: 'mistakes', 'aria-label': 'Mistakes', 'aria-live': 'polite' });
  const preview = h('div', { class: 'preview', id: 'preview', 'aria-live': 'polite' });
  const name = h('input', { id: 'name', type: 'text', maxlength: 64, placeholder: 'name', value: draft.name, spellcheck: 'false', autocomplete: 'off' });
  const repetitions = h('input', { id: 'reps', type: 'number', min: 1, step: 1, placeholder: 'as written' });
  const looked = h('div', { class: 'looked' });
  const results = h('section', { class: 'here', id: 'here', 'aria-label': 'Results' });
  const runs = client.here && here(results, looked, client.here);
  const wanted = (): number | undefined => (Number(repetitions.value) >= 1 ? Math.trunc(Number(repetitions.value)) : undefined);
  let checked: Checked | null = null;
  let asked = 0;

  const lines = (mistakes: Mistake[]): void => {
    const wrong = new Map(mistakes.map((m) => [m.line, m.severity]));
    const count = text.value.split('\n').length;
    fill(gutter, ...Array.from({ length: count }, (_, i) => h('span', { class: wrong.get(i + 1) ?? '' }, String(i + 1))));
    gutter.scrollTop = text.scrollTop;
  };
  text.addEventListener('scroll', () => { gutter.scrollTop = text.scrollTop; });

  const show = (): void => {
    const now = checked;
    if (!now) return;
    const focus = keepFocus(formBox);
    fill(formBox, form(schema!, now.tree, now.diagnostics, readOnly, (path, change) => void edit(path, change)));
    focus();
    lines(now.diagnostics);
    fill(mistakesBox, ...now.diagnostics.map((m) => h('li', { class: m.severity },
      h('button', { type: 'button', class: 'link', onclick: () => jump(text, m) }, `line ${m.line}, column ${m.column}`),
      ' ', ...coded(m.message), ...coded(m.label ? ` (${m.label})` : ''), m.help ? h('span', { class: 'soft' }, ' — ', ...coded(m.help)) : null)));
    fill(preview, ...words(now, cores));
    runs?.changed(text.value, now, wanted());
  };

  const check = async (): Promise<void> => {
    const mine = ++asked;
    draft.text = text.value;
    draft.keep();
    try {
      const answer = await client.check(text.value);
      if (mine !== asked) return;
      checked = answer;
      show();
    } catch (error) {
      if (mine === asked) fail(error);
    }
  };
  let timer = 0;
  const later = (): void => { clearTimeout(timer); lines(checked?.diagnostics ?? []); timer = window.setTimeout(() => void check(), 350); };
  text.addEventListener('input', later);
  const take = (words: string, called: string): void => {
    text.value = words;
    name.value = called;
    draft.name = called;
    fill(looked);
    text.setSelectionRange(0, 0);
    text.scrollTop = 0;
    void check();
  };
  const edit = async (path: Step[], change: Change): Promise<void> => {
    try {
      const changed = await client.edit(text.value, path, change);
      const { scrollTop, selectionStart } = text;
      text.value = changed;
      text.setSelectionRange(selectionStart, selectionStart);
      text.scrollTop = scrollTop;
      await check();
    } catch (error) {
      fail(error);
      show();
    }
  };
  name.addEventListener('input', () => { draft.name = name.value; draft.keep(); });

  const queue = async (clock: 'virtual' | 'real'): Promise<void> => {
    await check();
    if (!checked?.good) { say('The scenario has mistakes: see the marked lines.', 'bad'); return; }
    if (clock === 'real' && !(await rights())) return;
    let confirm = false;
    if (checked.commands?.length && !checked.confirmed) {
      confirm = await confirmed(text.value, checked.commands);
      if (!confirm) return;
    }
    const set = { name: name.value.trim() || 'scenario', text: text.value, clock, repetitions: wanted(), confirm };
    const { id } = await post<{ id: number }>('sets', set);
    location.hash = `#/set/${id}`;
  };

  const look = async (): Promise<void> => {
    const answer = await client.look(text.value, { cell: 0, rep: 0, flow: 0 });
    fill(looked, h('h2', {}, 'Repetition 0'));
    picture(looked, answer);
    film(looked, answer.film, answer.window);
    looked.scrollIntoView({ block: 'start', behavior: 'smooth' });
  };

  const save = async (): Promise<void> => {
    const called = name.value.trim();
    if (!called) { name.focus(); say('Give the scenario a name first.', 'bad'); return; }
    await put(`scenarios/${encodeURIComponent(called)}`, { text: text.value });
    say(`Saved as ${called}.toml.`);
  };

  const begin = chooser(saved, take, readOnly);
  const beside = h('section', { class: 'beside', 'aria-label': 'Text and preview' },
    h('div', { class: 'editor' }, gutter, text), mistakesBox, preview,
    h('div', { class: 'toolbar run' },
      button('Look at one repetition', look, { id: 'look' }),
      !readOnly && h('span', { class: 'together' }, h('label', { for: 'reps' }, 'Repetitions'), repetitions),
      !readOnly && button('Run in virtual time', () => (runs ? runs.run() : queue('virtual')), { id: 'run', class: 'primary' }),
      !readOnly && button('Run in real time', () => queue('real'), { id: 'emulate', disabled: runs !== null, title: runs ? unquoted(ALONE) : undefined })));
  fill(main,
    h('div', { class: 'toolbar' }, begin,
      h('label', { for: 'name' }, 'Name'), name,
      !readOnly && !runs && button('Save', save, { id: 'save' }),
      button('Download', () => download(`${name.value.trim() || 'scenario'}.toml`, [text.value], 'application/toml')),
      // A narrow window has the form above text and preview: a long way to scroll.
      button('To text and run', () => beside.scrollIntoView({ block: 'start' }), { class: 'narrow' })),
    h('div', { class: 'columns' }, h('section', { 'aria-label': 'Form' }, formBox), beside),
    runs && results, looked);
  if (runs) repetitions.addEventListener('input', later);
  if (!draft.text && beginnings.first) name.value = 'first';
  text.value = draft.text || beginnings.first || beginnings.empty;
  text.setSelectionRange(0, 0);
  await check();
}

/** After the form was made anew the key in hand keeps the focus. */
function keepFocus(box: HTMLElement): () => void {
  const active = document.activeElement;
  if (!active || !box.contains(active)) return () => {};
  const all = [...box.querySelectorAll<HTMLElement>('input, select, button, summary')];
  const index = all.indexOf(active as HTMLElement);
  return () => { box.querySelectorAll<HTMLElement>('input, select, button, summary')[index]?.focus({ preventScroll: true }); };
}

function jump(text: HTMLTextAreaElement, mistake: Mistake): void {
  const at = (line: number, column: number): number => text.value.split('\n').slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0) + column - 1;
  text.focus();
  text.setSelectionRange(at(mistake.line, mistake.column), at(mistake.end_line, mistake.end_column));
  text.scrollTop = Math.max(0, (mistake.line - 6) * parseFloat(getComputedStyle(text).lineHeight));
}

function words(checked: Checked, cores: number): (Node | null)[] {
  if (!checked.good || !checked.cost) return [h('p', { class: 'soft' }, checked.diagnostics.length ? 'Nothing can be run yet.' : '')];
  const { cells, repetitions, runs, simulated_s, packets, seconds } = checked.cost;
  const what = `${number(runs)} repetition${runs === 1 ? '' : 's'}${cells > 1 ? ` (${number(cells)} cells of ${number(repetitions)})` : ''}`;
  return [
    h('p', { class: 'cost' }, h('strong', {}, what), `: about ${duration(simulated_s)} simulated, ${number(+packets.toPrecision(2))} packets, `,
      h('strong', {}, checked.real ? `in real time up to ${duration(simulated_s)}` : `${duration(seconds / cores)} ${client.here ? 'in this page' : 'on this machine'}`), checked.ask ? '. This is a large run.' : ''),
    checked.commands?.length ? h('p', { class: 'warning' }, `It runs ${checked.commands.length} command${checked.commands.length > 1 ? 's' : ''} on this machine: `, checked.commands.map((c) => c.name).join(', '), '.') : null,
    h('details', {}, h('summary', {}, 'Description of the run'), h('pre', {}, checked.describe ?? '')),
  ];
}

/** Where to begin: an empty scenario, the starter, a link with a name, a published experiment, a saved scenario. */
function chooser(saved: string[], take: (text: string, name: string) => void, readOnly: boolean): HTMLElement {
  const select = h('select', { id: 'begin', 'aria-label': 'Begin with' });
  const option = (value: string, text: string, about = ''): HTMLOptionElement => h('option', { value, title: about }, text);
  const part = (label: string, options: HTMLOptionElement[]): HTMLElement => {
    const node = h('optgroup', { label });
    node.append(...options);
    return node;
  };
  select.append(option('', 'Begin with…'));
  if (beginnings!.first) select.append(option('first', 'the first scenario'));
  select.append(option('empty', 'an empty scenario'), option('starter', 'the commented starter'));
  if (saved.length) select.append(part('Saved', saved.map((name) => option(`saved:${name}`, name))));
  select.append(part('A download over', beginnings!.presets.map((b) => option(`preset:${b.name}`, b.name, b.about))));
  select.append(part('Published experiments', beginnings!.published.map((b) => option(`published:${b.name}`, b.name, b.about))));
  select.addEventListener('change', async () => {
    const [kind, name = ''] = select.value.split(/:(.*)/s);
    select.value = '';
    try {
      if (kind === 'empty') take(beginnings!.empty, '');
      else if (kind === 'first') take(beginnings!.first!, 'first');
      else if (kind === 'starter') take(beginnings!.starter, 'first');
      else if (kind === 'preset') take(beginnings!.presets.find((b) => b.name === name)!.text, name);
      else if (kind === 'published') take(beginnings!.published.find((b) => b.name === name)!.text, name.replace('/', '-'));
      else if (kind === 'saved') take((await get<{ text: string }>(`scenarios/${encodeURIComponent(name)}`)).text, name);
    } catch (error) {
      fail(error);
    }
  });
  const box = h('span', { class: 'begin' }, select);
  if (!readOnly && saved.length) {
    box.append(button('Delete a saved scenario…', async () => {
      const name = await pick('Delete which scenario?', saved);
      if (!name) return;
      await remove(`scenarios/${encodeURIComponent(name)}`);
      dispatchEvent(new Event('hashchange'));
    }, { class: 'quiet' }));
  }
  return box;
}

function pick(title: string, names: string[]): Promise<string> {
  const select = h('select', { 'aria-label': title });
  for (const name of names) select.append(h('option', { value: name }, name));
  return dialog(title, [select], 'Delete').then((yes) => (yes ? select.value : ''));
}

/** A question in a dialog of the page; true if it was answered with the button named `yes`. */
export function dialog(title: string, content: Node[], yes: string): Promise<boolean> {
  return new Promise((done) => {
    const box = h('dialog', { 'aria-label': title });
    const answer = (value: boolean): void => { box.close(); box.remove(); done(value); };
    box.append(h('h2', {}, title), ...content, h('div', { class: 'toolbar' },
      h('button', { type: 'button', class: 'primary', onclick: () => answer(true) }, yes),
      h('button', { type: 'button', onclick: () => answer(false) }, 'Cancel')));
    box.addEventListener('cancel', () => answer(false));
    document.body.append(box);
    box.showModal();
  });
}

/** A scenario with commands is shown in full, and confirmed once for each text. */
function confirmed(text: string, commands: NonNullable<Checked['commands']>): Promise<boolean> {
  const list = h('ul', { class: 'commands' });
  for (const c of commands) list.append(h('li', {}, h('strong', {}, `${c.name} at ${c.node}`), h('pre', {}, c.run)));
  return dialog('Run these commands on this machine?', [
    h('p', {}, 'They run with your permissions, connected by the link of the scenario. The commands and the whole scenario:'),
    list, h('details', {}, h('summary', {}, 'The whole text'), h('pre', {}, text)),
  ], 'Run them');
}

/** Real time needs rights of this machine: they are named before anything starts. */
async function rights(): Promise<boolean> {
  type Check = { what: string; needed: boolean; there: boolean; found: string; mend: string };
  let checks: Check[];
  try {
    checks = (await get<{ checks: Check[] }>('doctor')).checks;
  } catch (error) {
    if (error instanceof Refused) { fail(error); return false; }
    throw error;
  }
  const missing = checks.filter((c) => c.needed && !c.there);
  const line = (c: Check): HTMLElement => h('li', { class: c.there ? 'good' : c.needed ? 'error' : 'soft' }, ...coded(`${c.what}: ${c.found}`), ...coded(!c.there && c.mend ? ` — ${c.mend}` : ''));
  const list = h('ul', {}, ...checks.filter((c) => c.needed || !c.there).map(line));
  if (missing.length) {
    await dialog('This machine cannot run in real time', [h('p', {}, 'Missing requirements, and how to meet them:'), list], 'Close');
    return false;
  }
  return dialog('Run in real time', [h('p', {}, 'The run creates its own network namespaces and TUN devices, and lasts as long as its simulated time. This machine offers:'), list], 'Run');
}
