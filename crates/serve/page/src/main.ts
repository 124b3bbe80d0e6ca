// The page: its parts, and which of them is shown.

import './style.css';
import { listen, live, takeToken } from './api';
import { ALONE, client, unquoted, type State } from './client';
import { captures, compare, running } from './compare';
import { compose } from './compose';
import { coded, fail, fill, forget, h, noteArea } from './dom';
import { queue, set } from './queue';

const PARTS = [['#/', 'Compose'], ['#/queue', 'Queue'], ['#/compare', 'Compare'], ['#/captures', 'Captures'], ['#/running', 'Running']] as const;

const main = h('main', { id: 'main', tabindex: -1 });
// Without a server behind the page only the first part has something to show.
const links = PARTS.map(([href, text], i) => h('a', client.here && i > 0 ? { href, 'aria-disabled': 'true', title: unquoted(ALONE) } : { href }, text));
const link = h('span', { class: 'connection', role: 'status' });
let state: State | null = null;

async function show(): Promise<void> {
  if (!client.here) takeToken();
  const [part = '', rest = ''] = location.hash.replace(/^#\/?/, '').split(/\/(.*)/s);
  const known = part === 'set' ? 'queue' : part;
  links.forEach((node, i) => {
    const current = PARTS[i]![0].slice(2) === known;
    if (current) node.setAttribute('aria-current', 'page'); else node.removeAttribute('aria-current');
  });
  document.title = 'williwaw';
  // What an earlier view still waits for ends up in its own box, which is no longer shown.
  const view = h('div', { class: 'view' });
  fill(main, view);
  try {
    state ??= await client.state();
    const { read_only: locked, cores } = state;
    document.documentElement.classList.toggle('read-only', locked);
    const absent = client.here && part ? PARTS.find(([href]) => href === `#/${known}`) : undefined;
    if (absent) fill(view, h('h1', {}, absent[1]), h('p', { id: 'alone' }, ...coded(ALONE)));
    else if (part === 'queue') queue(view, locked);
    else if (part === 'set') await set(view, Number(rest), locked);
    else if (part === 'compare') compare(view);
    else if (part === 'captures') await captures(view, locked, rest ? decodeURIComponent(rest) : undefined);
    else if (part === 'running') running(view, locked);
    else await compose(view, locked, cores);
  } catch (error) {
    fail(error);
  }
}

function stranger(): void {
  state = null;
  fill(main, h('h1', {}, 'This page needs its token'),
    h('p', { id: 'stranger' }, ...coded('Open the address that `williwaw serve` printed, with the part after `#`. The token keeps other programs and web pages out.')));
}

if (!client.here) takeToken();
document.getElementById('app')!.append(
  h('a', { class: 'skip', href: '#main', onclick: (event: Event) => { event.preventDefault(); main.focus(); } }, 'To the content'),
  h('header', { class: 'top' }, h('strong', { class: 'brand' }, 'williwaw'), h('nav', { 'aria-label': 'Parts' }, ...links), link),
  noteArea(), main);
if (client.here) {
  link.className = 'connection good';
  link.textContent = 'computes in this page';
} else live.listeners.add(() => {
  const runs = live.sets.filter((one) => one.state === 'running').length;
  if (live.connected) forget('the server does not answer');
  link.className = `connection ${live.connected ? 'good' : 'bad'}`;
  link.textContent = live.connected ? (runs ? 'running' : 'connected') : 'not connected';
});
addEventListener('hashchange', () => void show());
addEventListener('unauthorized', stranger);
if (!client.here) void listen();
// For the console, and for programs that drive the page.
if (client.here) Object.assign(globalThis, { williwaw: client });
void show();
