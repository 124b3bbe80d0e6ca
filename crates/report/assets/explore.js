// Sliders over the axes of a grid: the cell they name is shown.

const grid = JSON.parse(document.getElementById('grid').textContent);
const chosen = grid.axes.map(() => 0);

/** Four significant digits. */
function digits(x) {
  if (x === null || x === undefined) return '\u2013';
  if (Number.isInteger(x)) return grouped(x);
  return x.toFixed(Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(Math.abs(x))))));
}

function cellNumber() {
  return grid.axes.reduce((at, axis, i) => at * axis.values.length + chosen[i], 0);
}

function sliders() {
  const box = document.getElementById('axes');
  grid.axes.forEach((axis, i) => {
    const id = 'axis-' + i;
    const shown = element('output', { for: id }, axis.values[0]);
    const slider = element('input', { type: 'range', id, min: 0, max: axis.values.length - 1, step: 1, value: 0, 'aria-valuetext': axis.values[0] });
    slider.addEventListener('input', () => {
      chosen[i] = Number(slider.value);
      shown.textContent = axis.values[chosen[i]];
      slider.setAttribute('aria-valuetext', axis.values[chosen[i]]);
      cell();
    });
    box.append(element('div', { class: 'axis' }, element('label', { for: id }, axis.name), slider, shown));
  });
}

function cell() {
  const number = cellNumber(), here = grid.cells[number];
  const rows = grid.metrics.map((metric, i) => [metric, here.summaries[i]]).filter(([, summary]) => summary);
  const table = element('table', { class: 'plain', 'data-cell': number }, element('thead', {}, element('tr', {}, ...['metric', 'mean', '10 %', 'median', '90 %'].map((t) => element('th', { scope: 'col' }, t)))),
    element('tbody', {}, ...rows.map(([metric, summary]) => element('tr', { 'data-metric': metric.name }, element('th', { scope: 'row' }, metric.name.replace(/_(bps|s)$/, '').replace(/_/g, ' ') + (metric.unit ? ' [' + metric.unit + ']' : '')), ...summary.map((x) => element('td', {}, digits(x)))))));
  document.getElementById('table').replaceChildren(element('h2', {}, here.repetitions + ' repetitions'), table);
  spread(here, number);
  figures(number);
}

/** Every repetition as a tick, this cell's above those of all others, on one axis. */
function spread(here, number) {
  const all = grid.cells.flatMap((c) => c.values).filter((v) => v !== null), metric = grid.metrics[0];
  const box = document.getElementById('spread');
  if (!all.length) { box.replaceChildren(); return; }
  const low = Math.min(...[0], ...all.slice(0, 50000)), high = all.reduce((a, b) => Math.max(a, b), 0) || 1;
  const width = 900, x = (v) => 10 + (v - low) / (high - low) * (width - 20);
  const mark = (v, y, size, ink) => '<path d="M' + x(v).toFixed(1) + ' ' + y + 'v' + size + '" stroke="var(' + ink + ')" stroke-opacity="' + (ink === '--grid' ? 1 : 0.55) + '"/>';
  const numbers = ticks(low, high, 8).values.map((v) => '<text x="' + x(v).toFixed(1) + '" y="72" text-anchor="middle" fill="var(--soft)" font-size="12">' + digits(v) + '</text>').join('');
  const holder = element('div', { class: 'spread', role: 'img', 'aria-label': 'Values of ' + metric.name + ' in this cell and in all cells' });
  // Numbers of our own only.
  holder.innerHTML = '<svg viewBox="0 0 ' + width + ' 78">' + all.slice(0, 5000).map((v) => mark(v, 34, 20, '--edge')).join('') + here.values.filter((v) => v !== null).map((v) => mark(v, 6, 24, '--needed')).join('') + numbers + '</svg>';
  box.replaceChildren(element('h2', {}, metric.name.replace(/_(bps|s)$/, '').replace(/_/g, ' ') + ' of every repetition: this cell above, all cells below'), holder);
  box.dataset.cell = number;
}

function figures(number) {
  const box = document.getElementById('figures');
  shared.pictures.length = 0;
  box.replaceChildren();
  for (const template of document.querySelectorAll('template[data-cell="' + number + '"]')) {
    box.append(element('h2', {}, 'The ' + template.dataset.name + ' repetition (' + template.dataset.repetition + ')'), template.content.cloneNode(true));
  }
  box.querySelectorAll('figure.picture').forEach(start);
}

sliders();
cell();
