// Time slider over one repetition: where every packet is, how full the queues are, what the window and the radio do.

import { button, h, number } from './dom';
import type { WindowCurve } from './picture';

export interface Film {
  links: string[];
  between: [string, string][];
  until: number;
  left_out: number;
  weather: [string, number, number][];
  hops: { link: number[]; packet: number[]; size: number[]; kind: number[]; enqueued: number[]; started: (number | null)[]; ended: (number | null)[]; dropped: boolean[] };
}

const ROW = 66, LEFT = 150, QUEUE = 130;

/** First index of the sorted column whose value is above `x`. */
function above(column: number[], x: number): number {
  let low = 0, high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle]! <= x) low = middle + 1; else high = middle;
  }
  return low;
}

export function film(box: HTMLElement, film: Film, window?: WindowCurve): void {
  const { hops } = film;
  if (!hops.enqueued.length) return;
  // The longest stay of a packet on each link says how far back one has to look.
  let longest = 0;
  hops.enqueued.forEach((t, i) => { longest = Math.max(longest, (hops.ended[i] ?? film.until) - t); });
  const canvas = h('canvas', { class: 'film', role: 'img', 'aria-label': 'Packets on the links at the time of the slider' });
  const slider = h('input', { type: 'range', min: 0, max: film.until, step: film.until / 2000, value: 0, id: 'time', 'aria-label': 'Time of the run, seconds' });
  const clock = h('output', { for: 'time', class: 'clock' });
  const state = h('p', { class: 'moment', id: 'moment' });
  const speed = h('select', { 'aria-label': 'Speed' });
  for (const factor of [0.1, 0.5, 1, 5, 20]) speed.append(h('option', { value: factor, selected: factor === 5 }, `${factor}×`));
  let now = 0, direction = 0, before = 0;

  const colours = (): (name: string) => string => {
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue(name).trim();
  };

  const draw = (): void => {
    const width = Math.max(300, box.clientWidth - 2), height = film.links.length * ROW + 8;
    const ratio = Math.min(3, devicePixelRatio || 1);
    canvas.width = width * ratio; canvas.height = height * ratio;
    canvas.style.height = `${height}px`;
    const g = canvas.getContext('2d')!, c = colours();
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.font = '12px system-ui, sans-serif';
    g.textBaseline = 'middle';
    const narrow = width < 600, left = narrow ? 8 : LEFT, queue = narrow ? 84 : QUEUE, wire = left + queue, end = width - 14;
    const kinds = [c('--ack'), c('--ink'), c('--unneeded')];
    const waiting = film.links.map(() => 0), flying = film.links.map(() => 0), lost = film.links.map(() => 0);
    film.links.forEach((name, i) => {
      const y = i * ROW + 40;
      g.fillStyle = c('--ink');
      g.textAlign = 'left';
      const ends = film.between[i];
      const words = ends?.[0] ? `${name}: ${ends[0]} → ${ends[1]}` : name;
      g.fillText(words, narrow ? left : 8, i * ROW + 12);
      g.strokeStyle = c('--edge');
      g.strokeRect(left + 0.5, y - 11.5, queue - 6, 23);
      g.beginPath(); g.moveTo(wire, y); g.lineTo(end, y); g.stroke();
    });
    const from = above(hops.enqueued, now - longest - 1e-9), until = above(hops.enqueued, now);
    for (let i = from; i < until; i++) {
      const link = hops.link[i]!, started = hops.started[i] ?? null, ended = hops.ended[i] ?? film.until + 1;
      if (ended <= now) { if (hops.dropped[i] && now - ended < film.until / 200) lost[link]!++; continue; }
      const y = link * ROW + 40;
      g.fillStyle = kinds[hops.kind[i]!] ?? '#888';
      if (started === null || started > now) {
        const place = waiting[link]!++;
        const step = Math.min(8, (queue - 14) / 14);
        if (place < 14) g.fillRect(left + queue - 12 - place * step, y - 8, Math.max(2, step - 2), 16);
      } else {
        flying[link]!++;
        const share = (now - started) / Math.max(1e-9, ended - started);
        const big = hops.size[i]! > 120;
        g.fillRect(wire + share * (end - wire - 10), y - (big ? 8 : 5), big ? 9 : 5, big ? 16 : 10);
      }
    }
    g.textAlign = 'right';
    film.links.forEach((_, i) => {
      g.fillStyle = lost[i] ? c('--lost') : c('--soft');
      g.fillText(`${waiting[i]} waiting, ${flying[i]} in flight${lost[i] ? `, ${lost[i]} lost` : ''}`, end, i * ROW + 12);
    });
    clock.textContent = `${now.toFixed(2)} s`;
    const weather = film.weather.filter(([, a, b]) => a <= now && now < b).map(([name]) => name);
    const at = window ? above(window.t, now) - 1 : -1;
    const cwnd = at >= 0 ? `window ${number(window!.cwnd[at])} B, in flight ${number(window!.flight[at])} B` : 'no window yet';
    state.textContent = `${cwnd}; ${weather.length ? weather.join(', ') : 'link undisturbed'}; ${waiting.reduce((a, b) => a + b, 0)} packets in queues, ${flying.reduce((a, b) => a + b, 0)} on links`;
  };

  const go = (t: number): void => { now = Math.max(0, Math.min(film.until, t)); slider.value = String(now); draw(); };
  const tick = (at: number): void => {
    if (!direction || !canvas.isConnected) { direction = 0; return; }
    go(now + direction * Number(speed.value) * (at - before) / 1000);
    before = at;
    if ((direction > 0 && now >= film.until) || (direction < 0 && now <= 0)) direction = 0;
    else requestAnimationFrame(tick);
  };
  const play = (which: number): void => {
    const still = direction === 0;
    direction = direction === which ? 0 : which;
    before = performance.now();
    if (still && direction) requestAnimationFrame(tick);
  };
  slider.addEventListener('input', () => { direction = 0; go(Number(slider.value)); });
  const events = hops.ended.filter((t, i): t is number => hops.dropped[i] === true && t !== null).sort((a, b) => a - b);
  box.append(h('section', { class: 'film-box', 'aria-label': 'Film of the repetition' },
    h('h3', {}, 'Film of the repetition'),
    h('div', { class: 'toolbar' },
      button('◀ back', () => play(-1), { 'aria-label': 'Play backwards' }), button('▶ play', () => play(1), { 'aria-label': 'Play forwards', id: 'play' }), speed,
      events.length ? button('Next loss', () => { const next = events.find((t) => t > now + 1e-9); if (next !== undefined) go(next); }, { id: 'next-loss' }) : null,
      h('span', { class: 'space' }), clock),
    slider, canvas, state,
    film.left_out ? h('p', { class: 'soft' }, `${number(film.left_out)} hops after the first ${number(hops.link.length)} are left out.`) : null));
  new ResizeObserver(draw).observe(box);
  draw();
}
