// The page: text of a scenario, results of its repetitions, picture of one of them.

const FIRST = document.getElementById('scenario').textContent;
const USUAL = ['download_time_s', 'completion_time_s', 'throughput_bps', 'goodput_ratio', 'unneeded_retransmissions', 'spurious_timeouts', 'genuine_timeouts', 'packets_dropped'];
/** Packets times links up to which every change is run at once; beyond, the button is pressed. */
const AT_ONCE = 2e6;

const find = (id) => document.getElementById(id);
const [text, state, bar] = [find('text'), find('state'), find('bar')];

/** Bytes of a script element that holds base64. */
function packed(id) {
  const words = atob(find(id).textContent.trim());
  return Uint8Array.from(words, (c) => c.charCodeAt(0));
}

async function unpacked(bytes) {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}

let module;
let worker = null;
let serial = 0;
const waiting = new Map();

/** Ends the worker, with whatever it computes. */
function end() {
  worker?.terminate();
  worker = null;
  for (const { no } of waiting.values()) no(new Error('stopped'));
  waiting.clear();
}

function start_worker() {
  const source = new Blob([find('worker').textContent], { type: 'text/javascript' });
  const address = URL.createObjectURL(source);
  worker = new Worker(address);
  worker.onmessage = ({ data }) => {
    if (data.ready) { URL.revokeObjectURL(address); return; }
    if (data.total !== undefined) { bar.max = Math.max(1, data.total); bar.value = data.done; return; }
    const asked = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.broken) {
      end();
      asked?.no(new Error(data.broken));
    } else asked?.yes(data);
  };
  worker.postMessage({ module });
}

/** Puts a request to the engine; the answer's document, its bytes, and the seconds it took. */
function ask(request) {
  if (!worker) start_worker();
  return new Promise((yes, no) => {
    waiting.set(++serial, { yes, no });
    worker.postMessage({ id: serial, request });
  });
}

function phase(name, words) {
  document.body.dataset.phase = name;
  state.textContent = words;
  bar.hidden = name !== 'runs';
  find('stop').disabled = name !== 'runs';
}

function mistakes(list) {
  text.setAttribute('aria-invalid', String(list.some((d) => d.severity !== 'warning')));
  find('mistakes').replaceChildren(...list.map((d) => {
    const words = (d.line ? 'line ' + d.line + ', column ' + d.column + ': ' : '') + d.message + (d.help ? ' \u2014 ' + d.help : '');
    return element('li', { class: d.severity, 'data-line': d.line || '' }, element('button', { type: 'button', onclick: () => select(d) }, words));
  }));
}

/** Selects in the text what a mistake underlines. */
function select(d) {
  if (!d.line) return;
  const lines = text.value.split('\n');
  const at = (line, column) => lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0) + column - 1;
  text.focus();
  text.setSelectionRange(at(d.line, d.column), at(d.end_line, d.end_column));
}

const whole = (id) => Math.max(0, Math.trunc(Number(find(id).value)) || 0);
let current = 0;
let results = null;

/** Checks the text and, if it is sound and `press` or small, runs it. Whatever was being computed ends. */
async function recompute(press) {
  const mine = ++current;
  if (waiting.size > 0) end();
  const asked = { text: text.value, repetitions: Math.max(1, whole('repetitions')), seed: whole('seed') };
  try {
    const { document: said } = await ask({ do: 'check', text: asked.text });
    if (mine !== current) return;
    mistakes(said.diagnostics || []);
    if (!said.good) { phase('wrong', said.error || 'The scenario has mistakes; the results below are of the last sound one.'); return; }
    find('describe').textContent = said.describe;
    if (said.real) { phase('wrong', '`' + said.real + '` asks for a real kernel, a program or a wire: `williwaw run` or `emulate` play it.'); return; }
    const runs = said.cells * asked.repetitions;
    if (!press && said.packet_hops / said.repetitions * asked.repetitions > AT_ONCE) {
      phase('waits', 'Sound: ' + grouped(runs) + ' repetitions. That is much for a page; press Run.');
      return;
    }
    phase('runs', grouped(runs) + ' repetitions are being computed.');
    const ran = await ask({ do: 'run', ...asked });
    if (mine !== current) return;
    if (!ran.document.good) { mistakes(ran.document.diagnostics || []); phase('wrong', ran.document.error || 'The scenario has mistakes.'); return; }
    results = { ...ran, asked, flows: said.flows };
    show();
    phase('done', grouped(runs) + ' repetitions in ' + ran.seconds.toFixed(2) + ' s.');
    document.body.dataset.seconds = ran.seconds;
    await look();
  } catch (error) {
    if (mine === current) phase('stopped', error.message === 'stopped' ? 'Stopped.' : 'The engine ended: ' + error.message);
  }
}

/** Four significant digits. */
function digits(x) {
  if (x === null || x === undefined) return '\u2013';
  if (Number.isInteger(x)) return grouped(x);
  return x.toFixed(Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(Math.abs(x))))));
}

const spoken = (metric, unit) => metric.replace(/_(bps|s)$/, '').replace(/_/g, ' ') + (unit ? ' [' + unit + ']' : '');
const short = (key) => key.split('.').pop();

function show() {
  const { document: run, asked } = results;
  const measured = Object.keys(run.cells[0]?.metrics || {}).filter((m) => run.cells.some((c) => c.metrics[m].n > 0));
  const usual = USUAL.filter((m) => measured.includes(m));
  const columns = find('all').checked || usual.length === 0 ? measured : usual;
  const axes = Object.keys(run.cells[0]?.params || {});
  const heads = [...axes.map((key) => element('th', { scope: 'col', title: key }, short(key))), ...columns.map((m) => element('th', { scope: 'col', class: 'number' }, spoken(m, run.units[m])))];
  const body = run.cells.map((cell, number) => {
    const names = axes.map((key, i) => element(i ? 'td' : 'th', i ? {} : { scope: 'row' }, String(cell.params[key])));
    const values = columns.map((m) => {
      const s = cell.metrics[m];
      const interval = s.ci95 ? [element('span', { class: 'second' }, '\u00b1 ' + +((s.ci95[1] - s.ci95[0]) / 2).toPrecision(2))] : [];
      return element('td', { class: 'number', 'data-metric': m, 'data-mean': s.mean ?? '' }, digits(s.mean), ...interval);
    });
    return element('tr', { 'data-cell': number }, ...names, ...values);
  });
  find('table').replaceChildren(element('thead', {}, element('tr', {}, ...heads)), element('tbody', {}, ...body));
  find('results').hidden = false;
  find('command').textContent = 'williwaw run scenario.toml --reps ' + asked.repetitions + ' --seed ' + asked.seed;
  const named = (cell) => axes.map((key) => short(key) + ' = ' + cell.params[key]).join(', ') || 'the only one';
  options('cell', run.cells.map(named));
  options('flow', results.flows);
  find('repetition').max = asked.repetitions - 1;
}

/** Fills a choice, and keeps what was chosen where that is still there. */
function options(id, names) {
  const chosen = find(id).value;
  find(id).replaceChildren(...names.map((name, i) => element('option', { value: i }, name)));
  if (Number(chosen) < names.length) find(id).value = chosen || '0';
}

/** Draws the chosen repetition. */
async function look() {
  if (!results) return;
  const { asked } = results;
  const drawn = await ask({ do: 'picture', text: asked.text, seed: asked.seed, cell: whole('cell'), repetition: whole('repetition'), flow: whole('flow') });
  find('look').hidden = false;
  shared.pictures.length = 0;
  if (!drawn.document.good) { find('figure').replaceChildren(element('p', {}, drawn.document.error || 'This cell cannot be drawn.')); return; }
  // The markup comes from the engine's own library, which escapes every name in it.
  const template = element('template');
  template.innerHTML = drawn.document.html;
  find('figure').replaceChildren(template.content);
  find('figure').querySelectorAll('figure.picture').forEach(start);
}

let timer;
function soon() {
  clearTimeout(timer);
  phase('typed', 'Changed.');
  timer = setTimeout(() => recompute(false), 300);
}

function reset() {
  text.value = FIRST;
  find('repetitions').value = 100;
  find('seed').value = 1;
  soon();
}

async function begin() {
  text.value = FIRST;
  module = await WebAssembly.compile(await unpacked(packed('engine')));
  for (const id of ['text', 'repetitions', 'seed']) find(id).addEventListener('input', soon);
  for (const id of ['cell', 'flow', 'repetition']) find(id).addEventListener('input', () => look().catch(() => {}));
  find('run').addEventListener('click', () => { clearTimeout(timer); recompute(true); });
  find('stop').addEventListener('click', end);
  find('first').addEventListener('click', reset);
  find('all').addEventListener('change', show);
  find('parquet').addEventListener('click', () => save('flows.parquet', 'application/octet-stream', [results.bytes]));
  find('csv').addEventListener('click', () => save('flows.csv', 'text/csv', [results.document.csv]));
  find('toml').addEventListener('click', () => save('scenario.toml', 'text/plain', [results.asked.text]));
  await recompute(true);
}

// For the console, and for programs that drive the page.
globalThis.williwaw = { ask };
begin().catch((error) => phase('broken', 'This browser cannot run the engine: ' + error.message));
