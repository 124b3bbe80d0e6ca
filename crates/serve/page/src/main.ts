// The page: its parts, and which of them is shown.

import './style.css';
import { get, listen, live, takeToken } from './api';
import { captures, compare, running } from './compare';
import { compose } from './compose';
import { fail, fill, forget, h, noteArea } from './dom';
import { queue, set } from './queue';

interface State { version: string; read_only: boolean; cores: number }

const PARTS = [['#/', 'Compose'], ['#/queue', 'Queue'], ['#/compare', 'Compare'], ['#/captures', 'Captures'], ['#/running', 'Running']] as const;

const main = h('main', { id: 'main', tabindex: -1 });
const links = PARTS.map(([href, text]) => h('a', { href }, text));
const link = h('span', { class: 'connection', role: 'status' });
let state: State | null = null;

async function show(): Promise<void> {
  takeToken();
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
    state ??= await get<State>('state');
    const { read_only: locked, cores } = state;
    document.documentElement.classList.toggle('read-only', locked);
    if (part === 'queue') queue(view, locked);
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
    h('p', { id: 'stranger' }, 'Open the address that `williwaw serve` printed, with everything behind the #. The token keeps other programs and web pages out.'));
}

takeToken();
document.getElementById('app')!.append(
  h('a', { class: 'skip', href: '#main', onclick: (event: Event) => { event.preventDefault(); main.focus(); } }, 'To the content'),
  h('header', { class: 'top' }, h('strong', { class: 'brand' }, 'williwaw'), h('nav', { 'aria-label': 'Parts' }, ...links), link),
  noteArea(), main);
live.listeners.add(() => {
  const runs = live.sets.filter((one) => one.state === 'running').length;
  if (live.connected) forget('the server does not answer');
  link.className = `connection ${live.connected ? 'good' : 'bad'}`;
  link.textContent = live.connected ? (runs ? 'running' : 'connected') : 'not connected';
});
addEventListener('hashchange', () => void show());
addEventListener('unauthorized', stranger);
void listen();
void show();
