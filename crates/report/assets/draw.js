// Drawing one picture on its canvas. `p` holds the data and the state of the view; nothing here
// changes either, except `p.layout`, which says where everything lies.

const ROW = 18;

/** Where the plots lie, in CSS pixels, for a canvas of `width`. */
function layout(p, width) {
  const narrow = width < 720;
  const left = narrow ? 50 : 68;
  const rows = p.rows;
  const plots = [];
  let y = 4 + rows * ROW;
  const add = (name, height) => { plots.push({ name, top: y, bottom: y + height }); y += height + 30; };
  add('main', narrow ? 340 : 430);
  if (p.layers.below && p.data.below.length) add('below', p.data.below.length * ROW + 6);
  if (p.layers.window && p.data.window.t.length) add('window', narrow ? 90 : 110);
  if (p.layers.timer && p.data.timer.t.length) add('timer', narrow ? 80 : 96);
  if (p.layers.panels) p.data.panels.forEach((panel, i) => { add('panel', narrow ? 90 : 120); plots[plots.length - 1].panel = panel; });
  return { left, right: width - 12, top: 4 + rows * ROW, width, height: y + 10, plots, narrow, rows };
}

/** Range of the value axis of the main plot for the times on screen, in bytes. */
function fit(p) {
  const d = p.data, full = p.t0 <= d.from && p.t1 >= d.until, all = [d.low, d.low + Math.max(d.top - d.low, d.segment) * 1.04];
  if (full) return all;
  let low = Infinity, high = -Infinity;
  const take = (a, b) => { if (a < low) low = a; if (b > high) high = b; };
  for (const c of [d.sent, d.received]) {
    const shift = c === d.received ? p.shift() : 0;
    for (let i = lower(c.t, p.t0), n = lower(c.t, p.t1); i < n; i++) take(c.seq[i] + shift, c.end[i] + shift);
  }
  for (const t of [p.t0, p.t1]) {
    const i = last(d.acks.t, t);
    if (i >= 0) take(d.acks.ack[i], d.acks.ack[i]);
  }
  if (low > high) return all;
  const pad = Math.max((high - low) * 0.06, d.segment);
  return [Math.max(low - pad, -d.segment * 0.5), high + pad];
}

function draw(p) {
  const { canvas, data: d } = p, c = p.colours, l = p.layout = layout(p, p.width);
  const g = prepare(canvas, l.width, l.height);
  g.fillStyle = c.paper;
  g.fillRect(0, 0, l.width, l.height);
  if (p.autoY) [p.y0, p.y1] = fit(p);
  const x = (t) => l.left + (t - p.t0) / (p.t1 - p.t0) * (l.right - l.left);
  const main = l.plots[0], end = l.plots[l.plots.length - 1].bottom;
  const y = (v) => main.bottom - (v - p.y0) / (p.y1 - p.y0) * (main.bottom - main.top);
  p.x = x; p.y = y;
  p.time = (px) => p.t0 + (px - l.left) / (l.right - l.left) * (p.t1 - p.t0);

  // Disturbances and the time grid run through all plots.
  if (p.layers.spikes) {
    g.fillStyle = c.spike;
    for (const s of d.spikes) {
      const a = Math.max(l.left, x(s.from)), b = Math.min(l.right, x(s.until));
      if (b > a) for (const plot of l.plots) g.fillRect(a, plot.top, Math.max(1, b - a), plot.bottom - plot.top);
    }
  }
  g.font = '12px ' + FACE;
  const grid = ticks(p.t0, p.t1, (l.right - l.left) / (l.narrow ? 56 : 100));
  g.lineWidth = 1; g.textAlign = 'center'; g.textBaseline = 'top';
  for (const t of grid.values) {
    const px = Math.round(x(t)) + 0.5;
    g.strokeStyle = c.grid;
    g.beginPath();
    for (const plot of l.plots) { g.moveTo(px, plot.top); g.lineTo(px, plot.bottom); }
    g.stroke();
    g.fillStyle = c.soft;
    g.fillText(t.toFixed(grid.decimals), px, end + 6);
  }
  g.fillStyle = c.ink;
  g.fillText('time (s)', (l.left + l.right) / 2, end + 22);

  const unit = p.unit === 'bytes' ? 1 : d.segment;
  axis(g, p, main, p.y0 / unit, p.y1 / unit, p.unit === 'bytes' ? 'sequence number (bytes)' : 'segment number');
  clip(g, l, main, () => sequence(g, p));
  marks(g, p);
  for (const plot of l.plots.slice(1)) PLOTS[plot.name](g, p, plot, unit);
}

/** The colour of a verdict, by its name in the style. */
function verdict(m) { return m.spurious ? 'unneeded' : m.unknown ? 'unknown' : 'needed'; }

/** A context in CSS pixels on a canvas that fits the screen's own. */
function prepare(canvas, width, height) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  canvas.style.height = height + 'px';
  const g = canvas.getContext('2d');
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  return g;
}

function clip(g, l, plot, paint) {
  g.save();
  g.beginPath();
  g.rect(l.left, plot.top, l.right - l.left, plot.bottom - plot.top);
  g.clip();
  paint();
  g.restore();
}

function axis(g, p, plot, low, high, name) {
  const l = p.layout, c = p.colours, size = plot.bottom - plot.top;
  const { values, decimals } = ticks(low, high, Math.max(3, size / 44));
  g.textAlign = 'right'; g.textBaseline = 'middle'; g.lineWidth = 1; g.font = '12px ' + FACE;
  for (const v of values) {
    const at = Math.round(plot.bottom - (v - low) / (high - low) * size) + 0.5;
    g.strokeStyle = c.grid;
    g.beginPath(); g.moveTo(l.left, at); g.lineTo(l.right, at); g.stroke();
    g.fillStyle = c.soft;
    if (v >= 0) g.fillText(short(v, decimals, l.narrow), l.left - 6, at);
  }
  g.strokeStyle = c.soft;
  g.beginPath(); g.moveTo(l.left + 0.5, plot.top); g.lineTo(l.left + 0.5, plot.bottom + 0.5);
  g.lineTo(l.right, plot.bottom + 0.5); g.stroke();
  g.save();
  g.translate(l.narrow ? 9 : 11, (plot.top + plot.bottom) / 2);
  g.rotate(-Math.PI / 2);
  g.textAlign = 'center'; g.fillStyle = c.ink;
  g.fillText(name, 0, 0);
  g.restore();
}

/** A tick that fits the margin: 20 000 stays, 2 000 000 becomes 2 M. */
function short(v, decimals, narrow) {
  if (v >= 1e6 && decimals === 0) return +(v / 1e6).toPrecision(4) + '\u202fM';
  if (v >= (narrow ? 1e4 : 1e5) && decimals === 0) return +(v / 1e3).toPrecision(4) + '\u202fk';
  return decimals ? v.toFixed(decimals) : grouped(v);
}

/** Segments, arrivals, acknowledgements and losses; what matters most is painted last. */
function sequence(g, p) {
  const { data: d, layers, colours: c } = p;
  if (layers.advertised) stair(g, p, d.acks.t, (i) => d.acks.win[i] || NaN, p.y, c.advertised, 1.2, [2, 3]);
  if (layers.acks) {
    stair(g, p, d.acks.t, (i) => d.acks.ack[i], p.y, c.ack, 1.4, []);
    g.fillStyle = c.ack;
    for (const i of visible(p, d.acks.t)) if (d.acks.dup[i]) g.fillRect(p.x(d.acks.t[i]) - 0.6, p.y(d.acks.ack[i]) - 5, 1.2, 5);
  }
  if (layers.sacks) {
    g.fillStyle = c.sack;
    runs(p, d.sacks, 0, () => true, (x, a, b) => g.fillRect(x - 0.8, a, 1.6, Math.max(2, b - a)));
  }
  if (layers.received) {
    g.fillStyle = c.arrival;
    runs(p, d.received, p.shift(), (k) => k === 0, (x, a, b) => g.fillRect(x - 1.2, Math.min(a + gap(a, b), b - 2.5), 2.4, Math.max(2.5, b - a - gap(a, b))));
    g.strokeStyle = c.arrival; g.lineWidth = 1.5; g.beginPath();
    points(p, d.received, (k) => k === 1, (x, y, high, size) => {
      y += p.y(p.shift()) - p.y(0);
      g.moveTo(x + 3 * size, y); g.arc(x, y, 3 * size, 0, 7);
    });
    g.stroke();
  }
  if (layers.fresh) {
    g.fillStyle = c.ink;
    runs(p, d.sent, 0, (k) => k === 0, (x, a, b) => g.fillRect(x - 1, Math.min(a + gap(a, b), b - 3), 2, Math.max(3, b - a - gap(a, b))));
  }
  const shapes = (on, column, k, colour, shape) => {
    if (!on) return;
    g.beginPath();
    points(p, column, k, (x, y, high, size) => {
      if (high > 14) g.rect(x - 1.5, y - high / 2, 3, high);
      shape(g, x, y, size);
    });
    g.lineJoin = 'round'; g.lineWidth = 2; g.strokeStyle = c.paper; g.stroke();
    g.fillStyle = colour; g.fill();
  };
  shapes(layers.unknown, d.sent, (k) => k === 3, c.unknown, square);
  shapes(layers.needed, d.sent, (k) => k === 1, c.needed, diamond);
  shapes(layers.unneeded, d.sent, (k) => k === 2, c.unneeded, triangle);
  if (layers.drops) {
    g.strokeStyle = c.lost; g.lineWidth = 2.2; g.beginPath();
    points(p, d.drops, () => true, (x, y, high, size) => cross(g, x, y, size));
    g.stroke();
  }
}

/**
 * Single marks on screen: one that would hide under the one before is left out, and where there are
 * many they are smaller, down to half.
 */
function points(p, column, wanted, paint) {
  const { t, seq, end, k } = column, from = lower(t, p.t0), n = last(t, p.t1) + 1;
  let amount = 0;
  for (let i = from; i < n; i++) if (wanted(k[i])) amount++;
  const size = Math.max(0.5, Math.min(1, (p.layout.right - p.layout.left) / 5 / Math.max(1, amount)));
  let lx = NaN, ly = NaN;
  for (let i = from; i < n; i++) {
    if (!wanted(k[i])) continue;
    const x = p.x(t[i]), a = p.y(end[i]), b = p.y(seq[i]), y = (a + b) / 2;
    if (Math.abs(x - lx) < 3 * size && Math.abs(y - ly) < 3 * size) continue;
    paint(x, y, b - a, size);
    lx = x; ly = y;
  }
}

/** A hair between two segments that follow each other, where there is room for it. */
function gap(a, b) { return b - a > 5 ? 1 : 0; }

function triangle(g, x, y, s) { g.moveTo(x, y - 6 * s); g.lineTo(x + 5.5 * s, y + 4.5 * s); g.lineTo(x - 5.5 * s, y + 4.5 * s); g.closePath(); }
function diamond(g, x, y, s) { g.moveTo(x, y - 5.5 * s); g.lineTo(x + 5 * s, y); g.lineTo(x, y + 5.5 * s); g.lineTo(x - 5 * s, y); g.closePath(); }
function square(g, x, y, s) { g.rect(x - 4 * s, y - 4 * s, 8 * s, 8 * s); }
function cross(g, x, y, s) { const r = 4 * s; g.moveTo(x - r, y - r); g.lineTo(x + r, y + r); g.moveTo(x + r, y - r); g.lineTo(x - r, y + r); }

/** Indices of a sorted column that are on screen. */
function* visible(p, t) {
  for (let i = lower(t, p.t0), n = last(t, p.t1) + 1; i < n; i++) yield i;
}

/**
 * Upright marks on screen: marks too small to be told apart that touch in one pixel column become one,
 * so that a dense stretch costs a mark per column and no gap is painted over.
 */
function runs(p, column, shift, wanted, paint) {
  const { t, seq, end, k } = column;
  let at = -1, x = 0, top = 0, bottom = 0;
  for (let i = lower(t, p.t0), n = last(t, p.t1) + 1; i < n; i++) {
    if (!wanted(k[i])) continue;
    const px = p.x(t[i]), a = p.y(end[i] + shift), b = p.y(seq[i] + shift), col = Math.floor(px * 2);
    if (col === at && b - a < 5 && a <= bottom + 1 && b >= top - 1) {
      if (a < top) top = a;
      if (b > bottom) bottom = b;
    } else {
      if (at >= 0) paint(x, top, bottom);
      at = col; x = px; top = a; bottom = b;
    }
  }
  if (at >= 0) paint(x, top, bottom);
}

/**
 * A value that stays until it changes. A pixel column with many changes becomes one bar from its lowest
 * to its highest value, which costs far less than the strokes it stands for and loses no extreme.
 */
function stair(g, p, t, value, y, colour, width, dash) {
  const begin = Math.max(0, last(t, p.t0)), n = Math.min(t.length, last(t, p.t1) + 2);
  g.strokeStyle = g.fillStyle = colour; g.lineWidth = width; g.setLineDash(dash); g.lineJoin = 'miter';
  g.beginPath();
  let pen = false, col = NaN, low = 0, high = 0, px = 0, py = 0, changes = 0;
  const flush = () => {
    if (changes > 2) {
      g.fillRect(col, low - width / 2, 1, high - low + width);
      g.moveTo(px, py);
    }
  };
  for (let i = begin; i < n; i++) {
    const v = value(i);
    if (v === null || v !== v) { flush(); pen = false; changes = 0; continue; }
    const ny = y(v);
    if (pen && ny === py) continue;
    const nx = p.x(t[i]), here = Math.floor(nx);
    if (pen && here === col) {
      if (changes <= 2) { g.lineTo(nx, py); g.lineTo(nx, ny); }
      if (ny < low) low = ny;
      if (ny > high) high = ny;
      changes++;
    } else if (pen) {
      const dense = changes > 2 && here === col + 1;
      flush();
      if (!dense) { g.lineTo(nx, py); g.lineTo(nx, ny); }
      low = Math.min(py, ny); high = Math.max(py, ny);
      changes = dense ? 3 : 1;
    } else {
      g.moveTo(nx, ny);
      low = high = ny; changes = 1; pen = true;
    }
    col = here; px = nx; py = ny;
  }
  flush();
  if (pen) { g.moveTo(px, py); g.lineTo(Math.max(px, p.x(p.data.until)), py); }
  g.stroke();
  g.setLineDash([]);
}

/** Words on a halo, so that they stay legible over anything. */
function words(g, p, text, x, y, colour) {
  g.lineJoin = 'round'; g.lineWidth = 4; g.strokeStyle = p.colours.paper; g.strokeText(text, x, y);
  g.fillStyle = colour; g.fillText(text, x, y);
}

/** A small flag that hangs from the top of the plot. */
function pennant(g, x, y) {
  g.beginPath(); g.moveTo(x - 5, y - 1); g.lineTo(x + 5, y - 1); g.lineTo(x, y + 7); g.closePath();
}

/** Labels of disturbances and timeouts, the timers' lines, and what each timeout cost. */
function marks(g, p) {
  const { data: d, layout: l, layers, colours: c } = p, main = l.plots[0];
  const claim = lanes(l.rows);
  const inside = (t) => t >= p.t0 && t <= p.t1;
  g.textAlign = 'left'; g.textBaseline = 'middle';
  const labels = [];
  const label = (x, tries, colour) => {
    for (const text of tries) {
      const size = g.measureText(text).width + 10;
      const start = Math.max(l.left - 30, Math.min(x, l.right - size));
      const row = claim(start, start + size);
      if (row < 0) continue;
      labels.push([text, start + 5, l.top - (l.rows - row) * ROW + ROW / 2, colour]);
      // A line that starts beside its words starts at their height, one that crosses them below.
      return start > x - 4 ? row : row + 1;
    }
    return l.rows;
  };
  g.font = '600 12px ' + FACE;
  if (layers.spikes) {
    for (const s of d.spikes) {
      if (s.until < p.t0 || s.from > p.t1) continue;
      const name = s.name || 'link disturbed';
      label(Math.max(l.left, p.x(s.from)), [name + ', ' + stretch(s.until - s.from), name], c['spike-words']);
    }
  }
  if (layers.timeouts) {
    // Where there are many, their lines would be a curtain.
    const crowd = d.timeouts.filter((m) => inside(m.t)).length > 30;
    for (const m of d.timeouts) {
      if (!inside(m.t)) continue;
      const x = p.x(m.t), kind = verdict(m);
      const row = label(x, [m.label, m.spurious ? 'spurious' : m.unknown ? 'timeout' : 'genuine'], c[kind + '-words']);
      g.strokeStyle = c[kind]; g.lineWidth = 1.5; g.setLineDash(m.spurious ? [5, 4] : []);
      g.beginPath(); g.moveTo(x, l.top - (l.rows - row) * ROW + 2);
      g.lineTo(x, crowd ? main.top : Math.max(main.top, Math.min(main.bottom, p.y(m.seq) - 8))); g.stroke();
      g.setLineDash([]);
      g.fillStyle = c[kind];
      pennant(g, x, main.top);
      g.fill();
    }
    for (const m of d.timeouts) {
      if (m.detected === null || !inside(m.detected)) continue;
      pennant(g, p.x(m.detected), main.top);
      g.strokeStyle = c[verdict(m)]; g.lineWidth = 1.5;
      g.fillStyle = c.paper; g.fill(); g.stroke();
    }
  }
  if (layers.fast) {
    for (const m of d.fast) {
      if (!inside(m.t)) continue;
      const y = p.y(m.seq + d.segment / 2), x = p.x(m.t);
      if (y < main.top || y > main.bottom) continue;
      g.strokeStyle = c[verdict(m)]; g.lineWidth = 1.6;
      g.beginPath(); g.arc(x, y, 9, 0, 7); g.stroke();
    }
  }
  for (const [text, x, y, colour] of labels) words(g, p, text, x, y, colour);
  if (layers.unneeded) {
    g.font = '600 13px ' + FACE;
    const free = lanes(1);
    for (const e of d.episodes) {
      if (e.unneeded < 2 || e.until < p.t0 || e.from > p.t1) continue;
      const size = g.measureText(e.text).width;
      // Below and to the right of what it names: nothing but late copies lies there.
      const x = Math.min(p.x(e.until) - 6, l.right - size - 6);
      const y = Math.min(p.y(e.low) + 16, main.bottom - 10);
      if (y < main.top + 8 || free(x, x + size + 8) < 0) continue;
      words(g, p, e.text, x, y, c['unneeded-words']);
    }
  }
}

function names(g, p, plot, entries) {
  const l = p.layout;
  let x = l.left + 2;
  g.textAlign = 'left'; g.textBaseline = 'middle'; g.font = '12px ' + FACE;
  for (const [name, colour, dash] of entries) {
    g.strokeStyle = colour; g.lineWidth = 2; g.setLineDash(dash);
    g.beginPath(); g.moveTo(x, plot.top - 9); g.lineTo(x + 18, plot.top - 9); g.stroke();
    g.setLineDash([]);
    g.fillStyle = p.colours.ink; g.fillText(name, x + 23, plot.top - 9);
    x += 23 + g.measureText(name).width + 16;
  }
}

/** Highest value of some columns on screen; what began before the screen counts too. */
function highest(p, t, ...columns) {
  let most = 0;
  for (let i = Math.max(0, last(t, p.t0)), n = last(t, p.t1) + 1; i < n; i++) {
    for (const column of columns) if (column[i] > most) most = column[i];
  }
  return most;
}

function windowPlot(g, p, plot, unit) {
  const w = p.data.window, c = p.colours, l = p.layout;
  const high = Math.max(highest(p, w.t, w.cwnd, w.flight), p.data.segment) * 1.15;
  const y = (v) => plot.bottom - v / high * (plot.bottom - plot.top);
  axis(g, p, plot, 0, high / unit, p.unit === 'bytes' ? 'bytes' : 'segments');
  clip(g, l, plot, () => {
    stair(g, p, w.t, (i) => w.flight[i], y, c.arrival, 1.4, []);
    stair(g, p, w.t, (i) => w.ssthresh[i], y, c.soft, 1.4, [6, 4]);
    stair(g, p, w.t, (i) => w.cwnd[i], y, c.ink, 1.8, []);
  });
  names(g, p, plot, [['window', c.ink, []], [l.narrow ? 'threshold' : 'slow-start threshold', c.soft, [6, 4]],
    ['in flight', c.arrival, []]]);
}

function timerPlot(g, p, plot) {
  const m = p.data.timer, c = p.colours, l = p.layout;
  const high = (highest(p, m.t, m.rto, m.srtt) || 1) * 1.15;
  const y = (v) => plot.bottom - v / high * (plot.bottom - plot.top);
  axis(g, p, plot, 0, high, 'seconds');
  clip(g, l, plot, () => {
    stair(g, p, m.t, (i) => m.srtt[i], y, c.arrival, 1.4, []);
    stair(g, p, m.t, (i) => m.rto[i], y, c.ink, 1.8, []);
  });
  names(g, p, plot, [[l.narrow ? 'timeout' : 'retransmission timeout', c.ink, []],
    [l.narrow ? 'round trip' : 'smoothed round trip', c.arrival, []]]);
}

/** Lines that a capture shows: data outstanding, round trips. */
function panelPlot(g, p, plot) {
  const { unit, lines } = plot.panel, c = p.colours;
  const high = (Math.max(...lines.map((line) => highest(p, line.t, line.v))) || 1) * 1.15;
  const y = (v) => plot.bottom - v / high * (plot.bottom - plot.top);
  axis(g, p, plot, 0, high, unit);
  clip(g, p.layout, plot, () => {
    for (const line of [...lines].reverse()) {
      if (!line.dots) { stair(g, p, line.t, (i) => line.v[i], y, c[line.ink], 1.6, line.ink === 'soft' ? [6, 4] : []); continue; }
      g.fillStyle = c[line.ink];
      for (const i of visible(p, line.t)) if (line.v[i] !== null) g.fillRect(p.x(line.t[i]) - 1.5, y(line.v[i]) - 1.5, 3, 3);
    }
  });
  names(g, p, plot, lines.map((line) => [line.name, c[line.ink], line.ink === 'soft' ? [6, 4] : []]));
}

/** A row for each layer below the transport: bands for what lasts, flags for what does not. */
function belowPlot(g, p, plot) {
  const l = p.layout, c = p.colours;
  g.textBaseline = 'middle';
  p.data.below.forEach((layer, i) => {
    const top = plot.top + i * ROW, bottom = top + ROW, middle = (top + bottom) / 2;
    g.font = '12px ' + FACE; g.fillStyle = c.ink; g.textAlign = 'right';
    g.fillText(layer.name, l.left - 6, middle, l.left - 8);
    g.strokeStyle = c.grid; g.lineWidth = 1;
    g.beginPath(); g.moveTo(l.left, bottom + 0.5); g.lineTo(l.right, bottom + 0.5); g.stroke();
    clip(g, l, { top, bottom }, () => {
      g.textAlign = 'left';
      const shown = layer.events.filter((e) => (e.until === null ? e.t : e.until) >= p.t0 && e.t <= p.t1);
      for (const e of shown) {
        const a = p.x(e.t);
        if (e.until === null) {
          g.strokeStyle = c['layer-words']; g.lineWidth = 1.6;
          g.beginPath(); g.moveTo(a, bottom - 2); g.lineTo(a, top + 3); g.lineTo(a + 5, top + 6); g.lineTo(a, top + 9); g.stroke();
        } else {
          g.fillStyle = c.layer; g.fillRect(a, top + 3, Math.max(1.5, p.x(e.until) - a), ROW - 6);
        }
      }
      // What lasts has its words first, what does not where there is room.
      const taken = [];
      for (const e of [...shown.filter((e) => e.until !== null), ...shown.filter((e) => e.until === null)]) {
        const from = Math.max(p.x(e.t), l.left) + 6, until = from + g.measureText(e.name).width;
        if (until > l.right || taken.some(([a, b]) => until + 6 > a && from < b + 6)) continue;
        words(g, p, e.name, from, middle, c['layer-words']);
        taken.push([from, until]);
      }
    });
  });
  for (const m of p.data.timeouts.length > 30 ? [] : p.data.timeouts) {
    if (m.t < p.t0 || m.t > p.t1) continue;
    g.strokeStyle = c[verdict(m)]; g.lineWidth = 1.2; g.setLineDash([2, 3]);
    g.beginPath(); g.moveTo(p.x(m.t), plot.top - 26); g.lineTo(p.x(m.t), plot.bottom); g.stroke();
    g.setLineDash([]);
  }
}

const PLOTS = { window: windowPlot, timer: timerPlot, panel: panelPlot, below: belowPlot };
