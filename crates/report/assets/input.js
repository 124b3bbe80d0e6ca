// Moving about: wheel, drag, box, pinch, keys. Every handler changes the view and asks for a frame.

/** Shows `t0..t1`; all pictures follow where the reader asked for it. */
function show(p, t0, t1, alone) {
  const { from, until } = p.data, all = until - from, least = Math.max(all * 1e-6, 1e-4), most = all * 1.04;
  let span = Math.min(Math.max(t1 - t0, least), most);
  if (!(span > 0)) return;
  const middle = (t0 + t1) / 2;
  t0 = Math.max(from - all * 0.02, Math.min(middle - span / 2, until + all * 0.02 - span));
  p.t0 = t0; p.t1 = t0 + span;
  frame(p);
  if (!alone && shared.together) for (const other of shared.pictures) if (other !== p) show(other, p.t0, p.t1, true);
}

/** Magnifies time by `factor` around the moment `t`. */
function zoom(p, factor, t) {
  show(p, t - (t - p.t0) / factor, t + (p.t1 - t) / factor);
}

/** Magnifies the sequence axis around the value `v`. */
function zoomY(p, factor, v) {
  p.autoY = false;
  p.y0 = v - (v - p.y0) / factor; p.y1 = v + (p.y1 - v) / factor;
  frame(p);
}

function reset(p) {
  p.autoY = true;
  const { from, until } = p.data, edge = (until - from) * 0.01;
  show(p, from - edge, until + edge);
}

/** From timeout to timeout. */
function step(p, direction) {
  const list = p.data.timeouts, middle = (p.t0 + p.t1) / 2, small = (p.t1 - p.t0) * 0.01;
  const whole = p.t1 - p.t0 >= p.data.until - p.data.from;
  const next = direction > 0 ? list.find((m) => whole || m.t > middle + small)
    : [...list].reverse().find((m) => whole || m.t < middle - small);
  if (next) visit(p, next);
}

/** Shows a timeout with what led to it and what followed. */
function visit(p, m) {
  const d = p.data, e = d.episodes.find((e) => e.t === m.t);
  const spike = d.spikes.find((s) => s.from <= m.t && s.until >= m.t - 2);
  let from = spike ? Math.min(spike.from, m.t) : m.t, until = spike ? Math.max(spike.until, m.t) : m.t;
  if (e && e.unneeded) until = Math.max(until, e.until);
  const pad = Math.max((until - from) * 0.35, (d.until - d.from) * 0.01);
  p.autoY = true;
  // The moment itself in the middle, so that stepping on finds the next one.
  const half = Math.max(m.t - from, until - m.t) + pad;
  show(p, m.t - half, m.t + half);
}

function frame(p) {
  if (p.asked) return;
  p.asked = requestAnimationFrame(() => { p.asked = 0; draw(p); hover(p); });
}

function glance(p) {
  if (p.glanced || p.asked) return;
  p.glanced = requestAnimationFrame(() => { p.glanced = 0; hover(p); });
}

function listen(p) {
  const view = p.canvas, fingers = new Map();
  const place = (e) => { const r = view.getBoundingClientRect(); return { x: e.clientX - r.left, y: e.clientY - r.top, touch: e.pointerType !== 'mouse' }; };
  const value = (py) => { const m = p.layout.plots[0]; return p.y0 + (m.bottom - py) / (m.bottom - m.top) * (p.y1 - p.y0); };
  let drag = null;

  view.addEventListener('wheel', (e) => {
    if (document.activeElement !== view && !e.ctrlKey) { p.hint('Click the picture, then the wheel zooms'); return; }
    const at = place(e), delta = e.deltaY || e.deltaX, factor = Math.exp(-Math.max(-300, Math.min(300, delta)) * 0.0022);
    if (!e.shiftKey && factor < 1 && p.t1 - p.t0 >= p.data.until - p.data.from) return;
    e.preventDefault();
    if (e.shiftKey) zoomY(p, factor, value(at.y)); else zoom(p, factor, p.time(at.x));
  }, { passive: false });

  view.addEventListener('pointerdown', (e) => {
    if (e.button > 0) return;
    const at = place(e);
    fingers.set(e.pointerId, at);
    view.setPointerCapture(e.pointerId);
    if (e.pointerType === 'mouse') view.focus({ preventScroll: true });
    if (fingers.size === 1) {
      drag = { at, t0: p.t0, t1: p.t1, y0: p.y0, y1: p.y1, moved: false };
      if (e.shiftKey) p.box = { x0: at.x, y0: at.y, x1: at.x, y1: at.y };
    } else if (fingers.size === 2) {
      const [a, b] = [...fingers.values()];
      drag = { pinch: Math.max(10, Math.abs(a.x - b.x)), middle: p.time((a.x + b.x) / 2), t0: p.t0, t1: p.t1 };
    }
  });
  view.addEventListener('pointermove', (e) => {
    const at = place(e);
    p.pointer = at;
    if (fingers.has(e.pointerId)) fingers.set(e.pointerId, at);
    if (!drag || !fingers.size) { glance(p); return; }
    const l = p.layout, wide = l.right - l.left, main = l.plots[0];
    if (drag.pinch) {
      if (fingers.size < 2) return;
      const [a, b] = [...fingers.values()];
      const span = (drag.t1 - drag.t0) * drag.pinch / Math.max(10, Math.abs(a.x - b.x));
      const share = ((a.x + b.x) / 2 - l.left) / wide;
      show(p, drag.middle - span * share, drag.middle + span * (1 - share));
      return;
    }
    if (p.box) {
      p.box.x1 = Math.max(l.left, Math.min(l.right, at.x)); p.box.y1 = Math.max(main.top, Math.min(main.bottom, at.y));
      glance(p);
      return;
    }
    const dx = at.x - drag.at.x, dy = at.y - drag.at.y;
    if (!drag.moved && Math.hypot(dx, dy) < 5) return;
    drag.moved = true;
    p.pointer = null;
    view.classList.add('moving');
    if (!p.autoY) {
      const up = dy / (main.bottom - main.top) * (drag.y1 - drag.y0);
      p.y0 = drag.y0 + up; p.y1 = drag.y1 + up;
    }
    const shift = dx / wide * (drag.t1 - drag.t0);
    show(p, drag.t0 - shift, drag.t1 - shift);
  });
  const release = (e) => {
    fingers.delete(e.pointerId);
    view.classList.remove('moving');
    if (p.box) {
      const { x0, y0, x1, y1 } = p.box;
      p.box = null;
      if (Math.abs(x1 - x0) > 6 && Math.abs(y1 - y0) > 6) {
        const high = value(Math.min(y0, y1)), low = value(Math.max(y0, y1));
        p.autoY = false; p.y0 = low; p.y1 = high;
        show(p, p.time(Math.min(x0, x1)), p.time(Math.max(x0, x1)));
      }
    }
    if (!fingers.size) drag = null;
    glance(p);
  };
  view.addEventListener('pointerup', release);
  view.addEventListener('pointercancel', (e) => { p.box = null; p.pointer = null; release(e); });
  view.addEventListener('pointerleave', () => { if (!fingers.size) { p.pointer = null; glance(p); } });
  view.addEventListener('dblclick', () => reset(p));
  view.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const span = p.t1 - p.t0, middle = (p.t0 + p.t1) / 2, high = p.y1 - p.y0;
    const up = (share) => { p.autoY = false; p.y0 += high * share; p.y1 += high * share; frame(p); };
    const keys = {
      '+': () => zoom(p, 1.5, middle), '=': () => zoom(p, 1.5, middle), '-': () => zoom(p, 1 / 1.5, middle),
      ArrowLeft: () => show(p, p.t0 - span * 0.15, p.t1 - span * 0.15),
      ArrowRight: () => show(p, p.t0 + span * 0.15, p.t1 + span * 0.15),
      ArrowUp: () => up(0.15), ArrowDown: () => up(-0.15),
      0: () => reset(p), Home: () => reset(p), n: () => step(p, 1), p: () => step(p, -1),
      Escape: () => { p.pointer = null; p.box = null; glance(p); },
    };
    if (keys[e.key]) { keys[e.key](); e.preventDefault(); }
  });
}
