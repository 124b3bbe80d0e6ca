// Small tools: search in sorted columns, round ticks, words for numbers, elements.

/** First index of the sorted column `a` whose value is at least `x`. */
function lower(a, x) {
  let lo = 0, hi = a.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (a[mid] < x) lo = mid + 1; else hi = mid;
  }
  return lo;
}

/** Index of the last value of the sorted column `a` that is at most `x`, or -1. */
function last(a, x) {
  let lo = 0, hi = a.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (a[mid] <= x) lo = mid + 1; else hi = mid;
  }
  return lo - 1;
}

/** Round values between `low` and `high`, about `wanted` of them, and the decimals they need. */
function ticks(low, high, wanted) {
  const raw = (high - low) / Math.max(1, wanted);
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw * 0.999999) || raw;
  const decimals = Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9)));
  const values = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-6 && values.length < 500; i++) {
    values.push(i * step);
  }
  return { values, decimals };
}

/** A whole number in groups of three, apart by a thin space. */
function grouped(n) {
  const s = String(Math.round(n));
  return s.length < 5 ? s : s.replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/** A moment, with the decimals that `span` seconds on screen deserve. */
function moment(t, span) {
  return t.toFixed(span >= 10 ? 1 : span >= 1 ? 2 : span >= 0.1 ? 3 : 4) + ' s';
}

/** A stretch of time, three digits. */
function stretch(seconds) {
  return +seconds.toPrecision(3) + ' s';
}

/** An element with attributes and children; strings become text, never markup. */
function element(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const key in attributes || {}) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), attributes[key]);
    else node.setAttribute(key, attributes[key]);
  }
  node.append(...children);
  return node;
}

/** The page's colours as they are now. */
function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = {};
  for (const name of ['paper', 'panel', 'ink', 'soft', 'grid', 'edge', 'needed', 'unneeded', 'needed-words',
    'unneeded-words', 'unknown', 'unknown-words', 'arrival', 'ack', 'lost', 'advertised', 'sack', 'spike', 'spike-words',
    'layer', 'layer-words', 'link']) {
    of[name] = style.getPropertyValue('--' + name).trim() || '#888';
  }
  return of;
}

const FACE = 'system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif';

/** Rows of labels that do not touch each other. */
function lanes(rows) {
  const taken = Array.from({ length: rows }, () => []);
  return (from, to) => {
    const row = taken.findIndex((spans) => spans.every(([a, b]) => to < a || from > b));
    if (row >= 0) taken[row].push([from, to]);
    return row;
  };
}
