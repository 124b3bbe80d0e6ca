// Brings every picture of the page to life.

const shared = { pictures: [], together: false };

/** The layers: key, name, what it means, glyph, and how many there are in the data. */
const LAYERS = [
  ['fresh', 'sent', 'a segment leaves the sender for the first time', '<path d="M12 3V17" stroke="var(--ink)" stroke-width="2.4"/>',
    (d) => d.sent.k.reduce((n, k) => n + (k === 0), 0)],
  ['needed', 'retransmission, needed', 'no earlier copy ever arrives', '<path d="M12 4L18 10L12 16L6 10z" fill="var(--needed)"/>',
    (d) => d.sent.k.reduce((n, k) => n + (k === 1), 0)],
  ['unneeded', 'unneeded retransmission', 'an earlier copy reaches the receiver', '<path d="M12 3L19 16H5z" fill="var(--unneeded)"/>',
    (d) => d.sent.k.reduce((n, k) => n + (k === 2), 0)],
  ['unknown', 'retransmission, need unknown', 'the capture does not show whether an earlier copy arrived', '<path d="M7 5H17V15H7z" fill="var(--unknown)"/>',
    (d) => d.sent.k.reduce((n, k) => n + (k === 3), 0)],
  ['received', 'arrives', (d) => 'a segment reaches the receiver' + (d.received.k.includes(1) ? '; a ring marks a duplicate' : ''),
    '<path d="M7 4V16" stroke="var(--arrival)" stroke-width="2.6"/><circle cx="16" cy="10" r="3" fill="none" stroke="var(--arrival)" stroke-width="1.6"/>', (d) => d.received.t.length],
  ['acks', 'acknowledged', (d) => 'cumulative acknowledgement: everything below this line has arrived' + (d.acks.dup.includes(1) ? '; a small tick marks a duplicate acknowledgement' : ''),
    '<path d="M3 15H10V6H21" fill="none" stroke="var(--ack)" stroke-width="1.8"/>', (d) => d.acks.t.length],
  ['sacks', 'selectively acknowledged', 'SACK blocks: ranges above the line that have arrived', '<path d="M12 4V16" stroke="var(--sack)" stroke-width="2"/>',
    (d) => d.sacks.t.length],
  ['advertised', 'advertised window', 'the sender may not send above this line', '<path d="M2 10H22" stroke="var(--advertised)" stroke-width="1.8" stroke-dasharray="2 3"/>',
    (d) => d.acks.win.reduce((n, w) => n + (w > 0), 0)],
  ['drops', 'lost', 'the network dropped this segment', '<path d="M7 5L17 15M17 5L7 15" stroke="var(--lost)" stroke-width="2.4"/>',
    (d) => d.drops.t.length],
  ['timeouts', 'timer expires', (d) => [
    d.timeouts.some((m) => m.spurious) && 'dashed: spurious, the segment was not lost', d.timeouts.some((m) => !m.spurious && !m.unknown) && 'solid: genuine, after a loss',
    d.timeouts.some((m) => m.unknown) && 'grey: unknown',
    d.timeouts.some((m) => m.detected !== null) && 'a hollow mark: detected by the sender'].filter(Boolean).join('; '),
    '<path d="M8 2V18" stroke="var(--unneeded)" stroke-width="2" stroke-dasharray="4 3"/><path d="M16 2V18" stroke="var(--needed)" stroke-width="2"/>',
    (d) => d.timeouts.length],
  ['fast', 'fast retransmit', 'duplicate acknowledgements caused a retransmission; vermillion: spurious',
    '<circle cx="12" cy="10" r="7" fill="none" stroke="var(--soft)" stroke-width="1.8"/>', (d) => d.fast.length],
  ['spikes', 'link disturbed', 'an outage or a delay spike: few packets or none pass', '<path d="M3 3H21V17H3z" fill="var(--spike)" stroke="var(--edge)"/>',
    (d) => d.spikes.length],
  ['below', 'lower layers', 'events of the radio and link layers; the line of a timeout continues through them', '<path d="M3 7H14V13H3zM17 15V5l4 2l-4 2" fill="var(--layer)" stroke="var(--layer-words)"/>',
    (d) => d.below.reduce((n, layer) => n + layer.events.length, 0)],
  ['panels', 'lines below', (d) => d.panels.flatMap((panel) => panel.lines.map((line) => line.name)).join(', '), '<path d="M3 16V12H8V8H13V4H17V14H21" fill="none" stroke="var(--ink)" stroke-width="1.8"/>',
    (d) => d.panels.length],
  ['window', 'window', 'congestion window, slow-start threshold and data in flight', '<path d="M3 16V12H8V8H13V4H17V14H21" fill="none" stroke="var(--ink)" stroke-width="1.8"/>',
    (d) => d.window.t.length],
  ['timer', 'timer', 'retransmission timeout and smoothed round-trip time', '<path d="M3 14H9V5H14V12H21" fill="none" stroke="var(--ink)" stroke-width="1.8"/>',
    (d) => d.timer.t.length],
];

function glyph(markup) {
  // Our own markup, never a user's.
  const box = document.createElement('template');
  box.innerHTML = '<svg width="24" height="20" viewBox="0 0 24 20" aria-hidden="true">' + markup + '</svg>';
  return box.content.firstChild;
}

function toggle(pressed, attributes, act, ...children) {
  const button = element('button', { type: 'button', 'aria-pressed': String(pressed), ...attributes }, ...children);
  button.addEventListener('click', () => {
    const now = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', String(now));
    act(now);
  });
  return button;
}

function save(name, type, parts) {
  const link = element('a', { href: URL.createObjectURL(new Blob(parts, { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function start(figure) {
  const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
  const stage = figure.querySelector('.stage');
  const still = figure.querySelector('.static');
  if (!(data.until > data.from)) data.until = data.from + 1;
  const p = {
    data, autoY: true, t0: data.from, t1: data.until, y0: 0, y1: 1, unit: 'segments', offset: false, layers: {},
    colours: colours(), pointer: null, box: null, asked: 0, glanced: 0, rows: 0,
  };
  p.shift = () => (p.offset ? 25 * data.segment : 0);
  p.amount = (bytes) => (p.unit === 'bytes' ? grouped(bytes) + ' B' : (bytes < 1000 * data.segment ? String(+(bytes / data.segment).toFixed(1)) : grouped(bytes / data.segment)) + ' seg');
  p.place = (seq) => 'Segment ' + grouped(Math.floor(seq / data.segment) + 1) + ' (from byte ' + grouped(seq) + ')';
  p.canvas = element('canvas', { class: 'view', tabindex: '0', role: 'img', 'aria-describedby': figure.id + '-story',
    'aria-label': 'Time-sequence picture of ' + (data.title || 'a flow') + '. Plus and minus zoom, arrows move, 0 shows everything, n and p go from timeout to timeout. The events follow as a table.' });
  p.over = element('canvas', { class: 'over', 'aria-hidden': 'true' });
  p.tip = element('div', { class: 'tip', hidden: '' });
  const note = element('div', { class: 'hint', 'aria-hidden': 'true' });
  let fade = 0;
  p.hint = (text) => {
    note.textContent = text; note.classList.add('on');
    clearTimeout(fade); fade = setTimeout(() => note.classList.remove('on'), 1200);
  };

  const legend = element('ul', { class: 'legend', 'aria-label': 'Legend: press to show or hide' });
  for (const [key, name, meaning, markup, amount] of LAYERS) {
    const n = amount(data), panel = key === 'window' || key === 'timer' || key === 'panels';
    p.layers[key] = n > 0 && key !== 'advertised';
    if (!n) continue;
    legend.append(element('li', {}, toggle(p.layers[key], {}, (on) => { p.layers[key] = on; frame(p); }, glyph(markup),
      element('span', { class: 'name' }, name + (panel || key === 'acks' || key === 'advertised' ? '' : ' (' + grouped(n) + ')')),
      element('span', { class: 'words' }, typeof meaning === 'string' ? meaning : meaning(data)))));
  }

  const tools = element('div', { class: 'tools' });
  const button = (text, act, attributes) => tools.append(element('button', { type: 'button', onclick: act, ...attributes }, text));
  if (data.timeouts.length) {
    button('Whole picture', () => reset(p));
    data.timeouts.slice(0, 8).forEach((m) => button('Timeout at ' + moment(m.t, data.until), () => visit(p, m),
      { class: 'go ' + (m.spurious ? 'spurious' : m.unknown ? 'unknown' : 'genuine'), title: m.label }));
    if (data.timeouts.length > 8) button('Next timeout', () => step(p, 1));
  }
  tools.append(element('span', { class: 'space' }));
  button('\u2212', () => zoom(p, 1 / 1.5, (p.t0 + p.t1) / 2), { 'aria-label': 'Zoom out' });
  button('+', () => zoom(p, 1.5, (p.t0 + p.t1) / 2), { 'aria-label': 'Zoom in' });
  tools.append(toggle(false, { class: 'choice' }, (on) => { p.unit = on ? 'bytes' : 'segments'; frame(p); }, 'Bytes'));
  if (data.received.t.length) {
    tools.append(toggle(false, { class: 'choice', title: 'Lifts the receiver\u2019s trace by 25 segments, as papers print it' },
      (on) => { p.offset = on; frame(p); }, 'Receiver +25'));
  }
  if (document.querySelectorAll('figure.picture').length > 1) {
    const all = toggle(false, { class: 'choice together', title: 'All pictures of the page show the same time interval' }, (on) => {
      shared.together = on;
      document.querySelectorAll('.together').forEach((b) => b.setAttribute('aria-pressed', String(on)));
      if (on) show(p, p.t0, p.t1);
    }, 'Move together');
    tools.append(all);
  }
  const file = (data.title || 'picture').replace(/[^\w-]+/g, '-').slice(0, 60);
  if (still.querySelector('svg')) button('Save SVG', () => save(file + '.svg', 'image/svg+xml', [still.querySelector('svg').outerHTML]));
  button('Save PNG', () => p.canvas.toBlob((blob) => blob && save(file + '.png', 'image/png', [blob])));

  const help = element('p', { class: 'help' });
  for (const part of ['Drag to move. Click, then use the wheel to zoom time, with ', ['Shift'], ' the sequence; ', ['Shift'],
    ' and drag for a box; double click for everything. Keys: ', ['+'], ' ', ['\u2212'], ' ', ['\u2190'], ' ', ['\u2192'], ' ', ['0'], ', ', ['n'], ' next timeout.']) {
    help.append(Array.isArray(part) ? element('kbd', {}, part[0]) : part);
  }
  stage.append(p.canvas, p.over, p.tip, note);
  stage.before(tools);
  stage.after(legend, help);
  figure.classList.add('live');

  p.measure = () => {
    p.width = Math.max(280, stage.clientWidth);
    const busy = data.timeouts.length + data.spikes.length;
    p.rows = Math.min(busy, p.width < 720 ? 4 : 3);
  };
  p.measure();
  shared.pictures.push(p);
  new ResizeObserver(() => { const w = p.width; p.measure(); if (p.width !== w) { draw(p); hover(p); } }).observe(stage);
  listen(p);
  p.t0 = data.from - (data.until - data.from) * 0.01; p.t1 = data.until + (data.until - data.from) * 0.01;
  draw(p);
}

document.querySelectorAll('figure.picture').forEach(start);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const p of shared.pictures) { p.colours = colours(); frame(p); }
});
