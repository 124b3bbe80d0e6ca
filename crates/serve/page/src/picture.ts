// Time-sequence picture and window curve of one repetition.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { start } from 'virtual:pictures';
import { h } from './dom';

export interface WindowCurve { t: number[]; cwnd: (number | null)[]; ssthresh: (number | null)[]; flight: (number | null)[] }
export interface Drawn { html: string | null; segment?: number; window?: WindowCurve }

/** Appends the picture; the markup comes from the server's own library, which escapes every name in it. */
export function picture(box: HTMLElement, drawn: Drawn): void {
  if (!drawn.html) return;
  const template = document.createElement('template');
  template.innerHTML = drawn.html;
  const figure = template.content.querySelector('figure');
  if (!figure) return;
  box.append(figure);
  start(figure);
  if (drawn.window && drawn.window.t.length > 1) curve(box, drawn.window, drawn.segment ?? 1);
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || '#888';
}

/** Congestion window, threshold and flight over time. */
function curve(box: HTMLElement, w: WindowCurve, segment: number): void {
  const holder = h('div', { class: 'curve' });
  box.append(h('h3', {}, 'Congestion window'), holder);
  const segments = (column: (number | null)[]): (number | null)[] => column.map((v) => (v === null ? null : v / segment));
  plot(holder, 'time (s)', 'segments', w.t, [
    { label: 'window', values: segments(w.cwnd), colour: '--needed' },
    { label: 'threshold', values: segments(w.ssthresh), colour: '--lost' },
    { label: 'in flight', values: segments(w.flight), colour: '--arrival' },
  ]);
}

/** Curves over one axis, in the page's colours, as wide as their box. */
export function plot(box: HTMLElement, across: string, up: string, x: number[], lines: { label: string; values: (number | null)[]; colour: string }[]): uPlot {
  const axis = (label: string): uPlot.Axis => ({ label, stroke: colour('--soft'), grid: { stroke: colour('--grid'), width: 1 }, ticks: { stroke: colour('--grid') } });
  const stepped = uPlot.paths.stepped!({ align: 1 });
  const chart = new uPlot({
    width: Math.max(260, box.clientWidth || 600), height: 220, scales: { x: { time: false } },
    axes: [axis(across), axis(up)],
    series: [{ label: across }, ...lines.map((line): uPlot.Series => ({ label: line.label, stroke: colour(line.colour), width: 1.5, paths: stepped, points: { show: false }, spanGaps: false }))],
  }, [x, ...lines.map((line) => line.values)] as uPlot.AlignedData, box);
  new ResizeObserver(() => { if (box.clientWidth > 0) chart.setSize({ width: Math.max(260, box.clientWidth), height: 220 }); }).observe(box);
  return chart;
}
