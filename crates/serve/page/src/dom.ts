// Elements, and words for numbers. Text is always text, never markup.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | EventListener | ((event: never) => void) | undefined>;

/** An element with attributes, listeners (`onclick`) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(name: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') node.addEventListener(key.slice(2), value as EventListener);
    else node.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children) if (child) node.append(child);
  return node;
}

/** A button that does something; while it does, it cannot be pressed again, and a failure is shown. */
export function button(text: string, act: () => unknown, attributes: Attributes = {}): HTMLButtonElement {
  const node = h('button', { type: 'button', ...attributes }, text);
  node.addEventListener('click', async () => {
    node.disabled = true;
    try {
      await act();
    } catch (error) {
      fail(error);
    } finally {
      node.disabled = false;
    }
  });
  return node;
}

/** The parts of a text: words between backticks become code elements. */
export function coded(text: string): (Node | string)[] {
  const parts = text.split('`');
  // An unpaired backtick is a character like any other.
  if (parts.length % 2 === 0) return [text];
  return parts.flatMap((part, i) => (part ? [i % 2 ? h('code', {}, part) : part] : []));
}

/** Replaces the children of a node. */
export function fill(node: Element, ...children: Child[]): void {
  node.replaceChildren(...children.filter((child): child is Node | string => Boolean(child)));
}

let notes: HTMLElement | null = null;

/** Where messages appear. */
export function noteArea(): HTMLElement {
  notes ??= h('div', { class: 'notes', role: 'status', 'aria-live': 'polite' });
  return notes;
}

export function say(text: string, kind: 'good' | 'bad' = 'good'): void {
  const note = h('p', { class: `note ${kind}` }, ...coded(text));
  const close = h('button', { type: 'button', class: 'plain', 'aria-label': 'Dismiss', onclick: () => note.remove() }, '×');
  note.append(close);
  noteArea().append(note);
  if (kind === 'good') setTimeout(() => note.remove(), 6000);
  while (noteArea().children.length > 4) noteArea().firstElementChild?.remove();
}

/** Removes what was said of a fault that is over. */
export function forget(words: string): void {
  for (const note of noteArea().children) if (note.textContent?.includes(words)) note.remove();
}

export function fail(error: unknown): void {
  say(error instanceof Error ? error.message : String(error), 'bad');
}

/** A metric in words, with its unit in pale letters; without one the unit follows from the end of its name. */
export function called(name: string, unit = /_bps$/.test(name) ? 'bit/s' : /_s$/.test(name) ? 's' : ''): (Node | string)[] {
  const words = name.replace(/_(bps|s)$/, '').replace(/_/g, ' ');
  return unit ? [words, h('span', { class: 'soft' }, ` ${unit}`)] : [words];
}

/** Four significant digits, groups of three apart. */
export function number(x: number | null | undefined): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return '–';
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return grouped(x.toFixed(0));
  const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(Math.abs(x)))));
  return grouped(x.toFixed(digits));
}

function grouped(text: string): string {
  const [whole = '', part] = text.split('.');
  const spaced = whole.length < 5 ? whole : whole.replace(/\B(?=(\d{3})+$)/g, '\u202f');
  return part === undefined ? spaced : `${spaced}.${part}`;
}

/** Seconds in words. */
export function duration(seconds: number): string {
  if (!(seconds > 0)) return '0 s';
  if (seconds < 1e-3) return 'less than 1 ms';
  if (seconds < 1) return `${number(seconds * 1000)} ms`;
  if (seconds < 180) return `${number(+seconds.toPrecision(3))} s`;
  if (seconds < 3 * 3600) return `${number(Math.round(seconds / 60))} min`;
  if (seconds < 3 * 86400) return `${number(Math.round(seconds / 3600))} h`;
  return `${number(Math.round(seconds / 86400))} days`;
}

/** Saves text or bytes as a file of the user. */
export function download(name: string, parts: BlobPart[], type: string): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = h('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
