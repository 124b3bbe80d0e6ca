// The form: one field per key of the grammar, made from the JSON Schema that the reader's own tables give.

import { coded, h } from './dom';

export type Step = string | number;
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Change = { set: Json } | { append: Json } | 'remove';

export interface Schema {
  type?: string | string[];
  description?: string;
  enum?: string[];
  anyOf?: Schema[];
  allOf?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  prefixItems?: Schema[];
  examples?: string[];
  default?: Json;
  minimum?: number;
  maximum?: number;
  additionalProperties?: unknown;
}

export interface Mistake {
  severity: string;
  message: string;
  label: string;
  help: string;
  line: number;
  column: number;
  end_line: number;
  end_column: number;
  path: Step[];
}

/** Sends one change of the text. */
export type Send = (path: Step[], change: Change) => void;

interface Context {
  send: Send;
  mistakes: Mistake[];
  locked: boolean;
}

let ids = 0;

/** A list that reads well without brackets. */
const plainList = (value: Json | undefined): value is string[] => Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string' && !/[,[{]/.test(one));

const object = (value: Json | undefined): value is { [key: string]: Json } => typeof value === 'object' && value !== null && !Array.isArray(value);

/** All forms that a value may take, choices inside choices laid flat. */
function forms(schema: Schema): Schema[] {
  return schema.anyOf ? schema.anyOf.flatMap(forms) : [schema];
}

const tables = (schema: Schema): Schema | undefined => (schema.type === 'array' && schema.items?.properties ? schema.items : undefined);

/** A form that is a table with one key: a named alternative. */
function alternative(schema: Schema): [string, Schema] | undefined {
  const keys = Object.keys(schema.properties ?? {});
  const [key] = keys;
  if (schema.type !== 'object' || keys.length !== 1 || key === undefined || schema.required?.[0] !== key) return undefined;
  return [key, schema.properties![key]!];
}

/** The root form of a scenario. */
export function form(schema: Schema, tree: Json, mistakes: Mistake[], locked: boolean, send: Send): HTMLElement {
  const context = { send, mistakes, locked };
  const root = h('div', { class: 'form' });
  if (!object(tree)) {
    root.append(h('p', { class: 'soft' }, 'The text is not TOML at the marked line; the form appears when it is.'));
    return root;
  }
  const order = ['title', 'hop', 'node', 'link', 'flow', 'command', 'run', 'state-machine', 'trigger', 'system', 'grid', 'expect'];
  for (const key of order) {
    const inner = schema.properties?.[key];
    if (!inner) continue;
    const here = tree[key];
    const list = tables(inner);
    if (list) {
      if (here !== undefined || ['hop', 'flow'].includes(key)) root.append(cards(context, key, list, here, [key]));
    } else if (key === 'title') {
      root.append(field(context, key, inner, here, [key], false));
    } else if (here !== undefined || key === 'run') {
      root.append(group(context, heading(key), inner, here ?? {}, [key], true));
    }
  }
  const absent = order.filter((key) => schema.properties?.[key] && tree[key] === undefined && !['title', 'hop', 'flow', 'run'].includes(key));
  if (!locked && absent.length) {
    root.append(adder('Add to the scenario', absent, (key) => {
      const inner = schema.properties![key]!;
      const list = tables(inner);
      if (list) send([key], { append: fresh(list, key) });
      else send([key], { set: {} });
    }, (key) => schema.properties![key]!.description));
  }
  return root;
}

function heading(key: string): string {
  return key.replace(/-/g, ' ').replace(/^./, (c) => c.toUpperCase());
}

/** What a new table begins with: its required keys, each with a value to be changed. */
function fresh(schema: Schema, key: string): { [key: string]: Json } {
  const begun: Record<string, { [key: string]: Json }> = {
    hop: { name: 'radio', between: ['server', 'phone'], rate: '1 Mbit/s', delay: '50 ms' },
    flow: { name: 'download', from: 'server', to: 'phone', transport: 'tcp', app: { bulk: { bytes: '100 kB' } } },
    gate: { name: 'handover', every: '30 s', lasts: '3 s' },
  };
  if (begun[key]) return begun[key];
  const out: { [key: string]: Json } = {};
  for (const need of schema.required ?? []) out[need] = example(schema.properties?.[need] ?? {}, need);
  return out;
}

function example(schema: Schema, key: string): Json {
  const first = forms(schema)[0] ?? {};
  if (schema.default !== undefined) return schema.default;
  if (first.enum?.[0] !== undefined) return first.enum[0];
  if (first.examples?.[0] !== undefined) return first.examples[0];
  if (first.type === 'boolean') return false;
  if (first.type === 'integer' || first.type === 'number') return first.minimum ?? 1;
  if (first.prefixItems) return first.prefixItems.map((inner, i) => example(inner, `${key}-${i + 1}`));
  if (first.type === 'array') return [];
  if (first.type === 'object') return fresh(first, '');
  return key;
}

function cards(context: Context, key: string, schema: Schema, value: Json | undefined, path: Step[]): HTMLElement {
  const list = Array.isArray(value) ? value : [];
  const box = h('section', { class: 'cards' });
  list.forEach((entry, i) => {
    const own = object(entry) ? entry : {};
    const name = typeof own.name === 'string' ? own.name : String(i + 1);
    const card = group(context, `${heading(key)} ${name}`, schema, own, [...path, i], true);
    if (!context.locked) {
      card.querySelector('summary')?.append(h('button', {
        type: 'button', class: 'plain', 'aria-label': `Remove ${key} ${name}`,
        onclick: (event: Event) => { event.preventDefault(); context.send([...path, i], 'remove'); },
      }, '×'));
    }
    box.append(card);
  });
  if (!context.locked) {
    box.append(h('button', { type: 'button', class: 'add', onclick: () => context.send(path, { append: named(fresh(schema, key), list) }) }, `+ ${heading(key)}`));
  }
  return box;
}

/** The table with a name that no other has. */
function named(table: { [key: string]: Json }, others: Json[]): { [key: string]: Json } {
  if (typeof table.name !== 'string') return table;
  const taken = new Set(others.map((other) => (object(other) ? other.name : undefined)));
  let name = table.name;
  for (let n = 2; taken.has(name); n++) name = `${table.name}-${n}`;
  return { ...table, name };
}

/** A table: the keys that are there, and a way to add others. */
function group(context: Context, title: string, schema: Schema, value: Json, path: Step[], open: boolean): HTMLElement {
  const own = object(value) ? value : {};
  const box = h('details', { class: 'group', open });
  box.dataset.path = JSON.stringify(path);
  box.append(h('summary', schema.description ? { title: schema.description } : {}, title));
  const properties = schema.properties;
  if (!properties) {
    box.append(free(context, own, path));
  } else {
    for (const [key, inner] of Object.entries(properties)) {
      if (own[key] !== undefined) box.append(entry(context, key, inner, own[key], [...path, key], !schema.required?.includes(key)));
    }
    const absent = Object.keys(properties).filter((key) => own[key] === undefined);
    if (absent.length && !context.locked) {
      box.append(adder('Add a key', absent, (key) => {
        const inner = properties[key]!;
        const list = tables(inner);
        if (list) context.send([...path, key], { append: fresh(list, key) });
        else context.send([...path, key], { set: example(inner, key) });
      }, (key) => properties[key]!.description));
    }
  }
  mark(context, box, path);
  return box;
}

/** A list of keys to add one of. */
function adder(label: string, keys: string[], add: (key: string) => void, words: (key: string) => string | undefined): HTMLElement {
  const select = h('select', { class: 'adder', 'aria-label': label });
  select.append(h('option', { value: '' }, `${label}…`));
  for (const key of keys) select.append(h('option', { value: key, title: words(key) ?? '' }, key));
  select.addEventListener('change', () => { if (select.value) add(select.value); });
  return select;
}

function entry(context: Context, key: string, schema: Schema, value: Json, path: Step[], removable: boolean): HTMLElement {
  const list = tables(schema);
  if (list && Array.isArray(value)) return cards(context, key, list, value, path);
  const options = forms(schema);
  const named = options.map(alternative).filter((a): a is [string, Schema] => a !== undefined);
  if (named.length) return choice(context, key, schema, options, named, value, path, removable);
  if (object(value)) {
    const inner = options.find((option) => option.properties && Object.keys(value).every((k) => option.properties![k])) ?? options.find((option) => option.properties) ?? {};
    const box = group(context, key, { ...inner, description: schema.description ?? inner.description ?? '' }, value, path, true);
    if (removable && !context.locked) box.querySelector('summary')?.append(remover(context, key, path));
    return box;
  }
  return field(context, key, schema, value, path, removable);
}

function remover(context: Context, key: string, path: Step[]): HTMLElement {
  return h('button', { type: 'button', class: 'plain', 'aria-label': `Remove ${key}`, title: 'Remove', onclick: (event: Event) => { event.preventDefault(); context.send(path, 'remove'); } }, '×');
}

/** A key that takes one of several named forms: which one, and then its own keys. */
function choice(context: Context, key: string, schema: Schema, options: Schema[], named: [string, Schema][], value: Json, path: Step[], removable: boolean): HTMLElement {
  const bare = new Set(options.flatMap((option) => option.enum ?? []));
  const current = typeof value === 'string' ? value : object(value) ? Object.keys(value)[0] : undefined;
  const known = current !== undefined && (bare.has(current) || named.some(([name]) => name === current));
  if (!known && !object(value)) return field(context, key, schema, value, path, removable);
  const id = `f${++ids}`;
  const select = h('select', { id, disabled: context.locked });
  for (const name of new Set([...named.map(([name]) => name), ...bare])) select.append(h('option', { value: name, selected: name === current }, name));
  select.addEventListener('change', () => {
    const inner = named.find(([name]) => name === select.value)?.[1];
    context.send(path, { set: bare.has(select.value) || !inner ? select.value : { [select.value]: example(inner, select.value) } });
  });
  const row = h('div', { class: 'row' }, h('label', { for: id, title: schema.description ?? '' }, key), select);
  if (removable && !context.locked) row.append(remover(context, key, path));
  const box = h('div', { class: 'choice' }, row);
  const inner = named.find(([name]) => name === current)?.[1];
  if (inner && object(value)) {
    const below = value[current!]!;
    box.append(object(below) ? group(context, current!, inner, below, [...path, current!], true) : entry(context, current!, inner, below, [...path, current!], false));
  } else if (inner?.properties && typeof value === 'string' && !context.locked) {
    box.append(adder('Add a key', Object.keys(inner.properties), (added) => context.send([...path, value, added], { set: example(inner.properties![added]!, added) }), (k) => inner.properties![k]!.description));
  } else if (object(value) && !inner) {
    box.append(group(context, key, options.find((option) => option.properties && Object.keys(value).every((k) => option.properties![k])) ?? {}, value, path, true));
  }
  mark(context, row, path);
  return box;
}

/** A single value. */
function field(context: Context, key: string, schema: Schema, value: Json | undefined, path: Step[], removable: boolean): HTMLElement {
  const id = `f${++ids}`;
  const options = forms(schema);
  const words = options.flatMap((option) => option.enum ?? []);
  const label = h('label', { for: id, title: schema.description ?? '' }, key);
  let input: HTMLElement;
  if (options.some((option) => option.type === 'boolean') && (typeof value === 'boolean' || options.length === 1)) {
    const box = h('input', { id, type: 'checkbox', checked: value === true, disabled: context.locked });
    box.addEventListener('change', () => context.send(path, { set: box.checked }));
    input = box;
  } else if (words.length && options.every((option) => option.enum)) {
    const select = h('select', { id, disabled: context.locked });
    for (const word of words) select.append(h('option', { value: word, selected: word === value }, word));
    select.addEventListener('change', () => context.send(path, { set: select.value }));
    input = select;
  } else {
    const examples = options.flatMap((option) => option.examples ?? []);
    const shown = value === undefined ? '' : plainList(value) ? value.join(', ') : typeof value === 'object' ? JSON.stringify(value) : String(value);
    const text = h('input', { id, type: 'text', value: shown, placeholder: examples[0] ?? '', spellcheck: 'false', autocomplete: 'off', disabled: context.locked });
    if (words.length || examples.length) {
      const list = h('datalist', { id: `${id}l` });
      for (const word of [...words, ...examples]) list.append(h('option', { value: word }));
      text.setAttribute('list', `${id}l`);
      text.after(list);
      label.append(list);
    }
    text.addEventListener('change', () => {
      const parsed = parse(text.value, options, value);
      if (parsed === undefined) return;
      context.send(path, { set: parsed });
    });
    input = text;
  }
  const row = h('div', { class: 'row' }, label, input);
  if (removable && !context.locked) row.append(remover(context, key, path));
  mark(context, row, path, input);
  return row;
}

/** What was typed, as the kind of value that the key takes. */
function parse(text: string, options: Schema[], before: Json | undefined): Json | undefined {
  const trimmed = text.trim();
  const kinds = options.flatMap((option) => option.type ?? []);
  if (/^[[{]/.test(trimmed)) {
    try { return JSON.parse(trimmed); } catch { return trimmed; }
  }
  if (plainList(before)) return trimmed.split(',').map((part) => part.trim());
  const numeric = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(trimmed);
  if (numeric && (kinds.includes('integer') || kinds.includes('number'))) return Number(trimmed);
  return trimmed;
}

/** A table whose keys are the user's: the axes of the grid, expectations. */
function free(context: Context, value: { [key: string]: Json }, path: Step[]): HTMLElement {
  const box = h('div', { class: 'free' });
  for (const [key, inner] of Object.entries(value)) box.append(field(context, key, {}, inner, [...path, key], true));
  if (context.locked) return box;
  const key = h('input', { type: 'text', 'aria-label': 'New key', placeholder: path[0] === 'grid' ? 'flow.download.transport.tcp.recovery' : 'download.download_time_s.mean', spellcheck: 'false' });
  const entry = h('input', { type: 'text', 'aria-label': 'Its value', placeholder: path[0] === 'grid' ? '["reno", "sack"]' : '< 150 s', spellcheck: 'false' });
  entry.addEventListener('change', () => { if (key.value.trim()) context.send([...path, key.value.trim()], { set: parse(entry.value, [], undefined) ?? '' }); });
  box.append(h('div', { class: 'row' }, key, entry));
  return box;
}

/** Marks what the reader complains of at this place. */
function mark(context: Context, node: HTMLElement, path: Step[], input?: HTMLElement): void {
  const own = context.mistakes.filter((mistake) => mistake.path.length === path.length && mistake.path.every((step, i) => step === path[i]));
  for (const mistake of own) {
    const words = h('p', { class: `mistake ${mistake.severity}`, id: `m${++ids}` }, ...coded(mistake.message), ...coded(mistake.help ? ` — ${mistake.help}` : ''));
    node.append(words);
    node.classList.add('wrong');
    input?.setAttribute('aria-describedby', words.id);
    input?.setAttribute('aria-invalid', String(mistake.severity === 'error'));
  }
}
