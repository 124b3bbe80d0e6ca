// What lies under the pointer, and the life of the segment it belongs to.

/** The event nearest to a point, or null; what matters more may lie a little farther away. */
function nearest(p, px, py, reach) {
  const { data: d, layers } = p, main = p.layout.plots[0];
  if (py < main.top - 6 || py > main.bottom + 6) return null;
  let best = null, least = reach;
  const look = (what, column, shift, bonus, keep) => {
    const from = lower(column.t, p.time(px - reach)), n = last(column.t, p.time(px + reach)) + 1;
    for (let i = from; i < n; i++) {
      if (keep && !keep(i)) continue;
      const a = p.y(column.end[i] + shift), b = p.y(column.seq[i] + shift);
      const dy = py < a ? a - py : py > b ? py - b : 0;
      const away = Math.hypot(p.x(column.t[i]) - px, dy) - bonus;
      if (away < least) { least = away; best = { what, i, t: column.t[i], seq: column.seq[i] }; }
    }
  };
  const sent = [layers.fresh, layers.needed, layers.unneeded, layers.unknown];
  look('sent', d.sent, 0, 2, (i) => sent[d.sent.k[i]]);
  if (layers.received) look('received', d.received, p.shift(), 0);
  if (layers.drops) look('drop', d.drops, 0, 3);
  return best;
}

/** Everything that happened to the byte `seq`, in order of time, at most `most` lines. */
function life(p, seq, most) {
  const d = p.data, lines = [];
  const covers = (column, i) => column.seq[i] <= seq && seq < column.end[i];
  const each = (column, line) => {
    for (let i = 0; i < column.t.length; i++) if (covers(column, i)) lines.push({ t: column.t[i], i, ...line(i) });
  };
  each(d.sent, (i) => [
    { what: 'sent', words: 'sent' },
    { what: 'sent', words: 'retransmission, needed' },
    { what: 'sent', words: 'unneeded retransmission', bad: true },
    { what: 'sent', words: 'retransmission, need unknown' },
  ][d.sent.k[i]]);
  each(d.received, (i) => ({ what: 'received', words: d.received.k[i] ? 'arrives again (duplicate)' : 'arrives' }));
  each(d.drops, (i) => ({ what: 'drop', words: 'lost' + (d.places[d.drops.k[i]] ? ': ' + d.places[d.drops.k[i]] : '') }));
  for (const m of d.timeouts) if (m.seq === seq) lines.push({ t: m.t, what: 'timeout', i: -1, words: m.spurious ? 'timer expires, spurious' : 'timer expires' });
  const a = d.acks;
  for (let i = 0; i < a.t.length; i++) if (a.ack[i] > seq) { lines.push({ t: a.t[i], what: 'ack', i, words: 'acknowledged' }); break; }
  const order = ['drop', 'received', 'ack', 'timeout', 'sent'];
  lines.sort((u, v) => u.t - v.t || order.indexOf(u.what) - order.indexOf(v.what));
  return lines.slice(0, most);
}

/** Draws what the pointer shows on the upper canvas and fills the tip. */
function hover(p) {
  const { over, tip, data: d, colours: c } = p, l = p.layout;
  const g = prepare(over, l.width, l.height);
  g.clearRect(0, 0, l.width, l.height);
  tip.hidden = true;
  if (p.box) {
    const { x0, y0, x1, y1 } = p.box;
    g.fillStyle = c.link; g.globalAlpha = 0.15; g.fillRect(x0, y0, x1 - x0, y1 - y0);
    g.globalAlpha = 1; g.strokeStyle = c.link; g.strokeRect(x0, y0, x1 - x0, y1 - y0);
    return;
  }
  const at = p.pointer;
  if (!at || at.x < l.left - 4 || at.x > l.right + 4 || at.y > l.plots[l.plots.length - 1].bottom + 8) return;
  const main = l.plots[0], t = p.time(Math.max(l.left, Math.min(l.right, at.x)));
  const found = nearest(p, at.x, at.y, at.touch ? 30 : 20);
  const line = Math.round(found ? p.x(found.t) : at.x) + 0.5;
  g.strokeStyle = c.soft; g.lineWidth = 1;
  g.beginPath();
  for (const plot of l.plots) { g.moveTo(line, plot.top); g.lineTo(line, plot.bottom); }
  g.stroke();
  tip.replaceChildren();
  if (found) {
    const lines = life(p, found.seq, 10);
    const y = p.y(found.seq + d.segment / 2);
    const show = lines.filter((e) => e.t >= p.t0 && e.t <= p.t1);
    if (show.length && y > main.top && y < main.bottom) {
      g.strokeStyle = c.link; g.setLineDash([2, 3]);
      g.beginPath(); g.moveTo(p.x(show[0].t), y); g.lineTo(p.x(show[show.length - 1].t), y); g.stroke();
      g.setLineDash([]);
    }
    for (const e of show) {
      if (e.what === 'timeout') continue;
      const shift = e.what === 'received' ? p.shift() : 0;
      const py = p.y(found.seq + d.segment / 2 + shift);
      if (py < main.top || py > main.bottom) continue;
      g.strokeStyle = c.link; g.lineWidth = e.what === found.what && e.i === found.i ? 3 : 1.3;
      g.beginPath(); g.arc(p.x(e.t), py, 7, 0, 7); g.stroke();
    }
    const span = Math.max(p.t1 - p.t0, 0.001);
    tip.append(element('b', {}, p.place(found.seq)), element('ol', {}, ...lines.map((e) => element('li',
      { class: (e.what === found.what && e.i === found.i ? 'here ' : '') + (e.bad ? 'bad' : '') },
      element('span', {}, moment(e.t, Math.min(span, 9))), element('span', {}, e.words)))));
  } else {
    tip.append(element('b', {}, 'at ' + moment(t, p.t1 - p.t0)));
    const list = element('ol', {});
    for (const m of d.timeouts) if (p.layers.timeouts && Math.abs(p.x(m.t) - at.x) < 7) tip.append(element('div', {}, m.label));
    for (const s of d.spikes) if (p.layers.spikes && t >= s.from && t <= s.until) tip.append(element('div', {}, s.name || 'link disturbed'));
    for (const layer of p.layers.below ? d.below : []) for (const e of layer.events) {
      const end = e.until === null ? e.t : e.until, near = Math.abs(p.x(e.t) - at.x) < 6;
      if (near || (t >= e.t && t <= end)) tip.append(element('div', {}, layer.name + ': ' + e.name + (e.until === null ? '' : ', ' + stretch(end - e.t)) + (e.detail ? ' (' + e.detail + ')' : '')));
    }
    const add = (name, value) => list.append(element('li', {}, element('span', {}, value), element('span', {}, name)));
    const a = last(d.acks.t, t), w = last(d.window.t, t), m = last(d.timer.t, t);
    if (a >= 0) add('acknowledged', p.amount(d.acks.ack[a]));
    if (w >= 0) {
      add('window', p.amount(d.window.cwnd[w]));
      if (d.window.ssthresh[w] !== null) add('slow-start threshold', p.amount(d.window.ssthresh[w]));
      add('in flight', p.amount(d.window.flight[w]));
    }
    if (m >= 0) {
      add('retransmission timeout', d.timer.rto[m].toFixed(2) + ' s');
      add('smoothed round-trip time', d.timer.srtt[m].toFixed(2) + ' s');
      add('round-trip variation', d.timer.rttvar[m].toFixed(2) + ' s');
    }
    for (const panel of p.layers.panels ? d.panels : []) for (const line of panel.lines) {
      const i = last(line.t, t);
      if (i >= 0 && line.v[i] !== null) add(line.name, +line.v[i].toPrecision(4) + ' ' + panel.unit);
    }
    if (list.children.length) tip.append(list);
  }
  tip.hidden = false;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  const x = at.x + 18 + w > l.width ? Math.max(0, at.x - 18 - w) : at.x + 18;
  tip.style.left = x + 'px';
  tip.style.top = Math.max(0, Math.min(l.height - h, at.y + 14)) + 'px';
}
