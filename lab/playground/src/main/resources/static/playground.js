'use strict';

const KEPT = 600_000;       // milliseconds of claims and marks that the page keeps
const FUTURE = 0.06;        // the part of the timeline right of now; more if a lease is longer
const LOG_LINES = 500;
const LANE = 38;
const LABEL = 92;
const FIRST = ['kill', 'start', 'pause', 'resume', 'cut-both', 'heal', 'delete-row'];   // the others are behind "more"
const UNDO = { kill: 'start', pause: 'resume', 'cut-both': 'heal' };                   // one of each pair is shown
const GLYPHS = { kill: '✕', stop: '■', start: '▲', row: '◆', aside: '↓' };
const CUTS = { none: '', both: ', cut off from the database', answers: ', gets no answers' };
const calm = matchMedia('(prefers-reduced-motion: reduce)');

const $ = (id) => document.getElementById(id);
const spans = new Map();
const marks = new Map();
const view = { span: 45_000, end: null };   // end: null follows the present
let state = null;
let clock = null;           // performance.now() at the server's zero
let drawnAt = 0;
let nobodySince = null;

function element(name, text, parent) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function set(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const seconds = (ms) => ms < 95 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;

/* ---------- the clock of the server, which moves evenly here ---------- */

function adjust(now) {
  const offset = performance.now() - now;
  if (clock === null || Math.abs(offset - clock) > 500) clock = offset;
  else clock += (offset - clock) * 0.1;
}

const present = () => clock === null ? 0 : performance.now() - clock;

/* ---------- what the server sends ---------- */

function connect() {
  const events = new EventSource('events');
  const on = (type, act) => events.addEventListener(type, (event) => act(JSON.parse(event.data)));
  on('state', show);
  on('claims', (all) => all.forEach((span) => spans.set(span.id, span)));
  on('marks', (all) => all.forEach((mark) => marks.set(mark.id, mark)));
  on('log', (all) => all.forEach(addLine));
  on('history', showHistory);
  events.onopen = () => { spans.clear(); marks.clear(); lines.clear(); $('log').replaceChildren(); refreshActions(); };
  let silentSince = null;
  setInterval(() => {
    const lost = events.readyState !== EventSource.OPEN;
    silentSince = lost ? silentSince ?? new Date() : null;
    $('silent').hidden = !lost;
    document.body.classList.toggle('dim', lost);
    if (lost) set($('silent'), `No connection since ${silentSince.toLocaleTimeString()}. The playground may have ended.`);
    if (events.readyState === EventSource.CLOSED) location.reload();
  }, 1000);
}

function forgetOld() {
  const oldest = present() - KEPT;
  for (const map of [spans, marks]) {
    for (const [id, each] of map) if (each.to !== null && each.to < oldest) map.delete(id);
  }
}

/* ---------- the parts of the page ---------- */

let shape = '';

function show(next) {
  state = next;
  adjust(next.now);
  const leader = next.nodes.find((node) => node.kind === 'election' && node.leads);
  showLeader(next, leader);
  set($('overlaps'), `Two leaders at once: ${next.overlaps} times, ${Math.round(next.overlapMs)} ms`);
  $('overlaps').classList.toggle('warn', next.overlaps > 0);
  $('wrong-overlaps').hidden = next.wrongOverlaps === null;
  set($('wrong-overlaps'), `With hand-written SQL: ${next.wrongOverlaps} times, ${Math.round(next.wrongOverlapMs)} ms`);
  $('failure').hidden = !next.failure;
  set($('failure'), next.failure ?? '');
  $('progress').hidden = next.phase === 'running';
  if ($('progress').childElementCount !== next.progress.length) {
    $('progress').replaceChildren(...next.progress.map((line) => element('li', line)));
  }
  next.nodes.filter((node) => node.kind === 'election').forEach(showNode);
  if (next.settings.database) showDatabase(next);
  const now = JSON.stringify([next.settings.databaseState, next.nodes.map((node) => [node.id, node.state, node.cut, node.aside, node.leads])]);
  if (now !== shape) {
    shape = now;
    refreshActions();
  }
}

function showLeader(next, leader) {
  const nobody = !leader && next.phase === 'running';
  set($('who'), leader ? `${leader.id} leads in term ${leader.term}` : nobody ? 'Nobody leads' : next.failure ? 'Nothing runs' : 'Starting');
  $('leader').classList.toggle('nobody', nobody);
  if (!nobody) nobodySince = null;
  else nobodySince ??= gaps(-Infinity, Infinity, next.now).at(-1)?.[0] ?? next.now;
  showSince();
}

function showSince() {
  set($('since'), nobodySince === null ? '' : `for ${(Math.max(0, present() - nobodySince) / 1000).toFixed(1)} s`);
}

const cards = new Map();

function card(id, title) {
  let made = cards.get(id);
  if (!made) {
    const root = element('article');
    root.className = 'card';
    $('cards').insertBefore(root, id === 'database' ? null : cards.get('database')?.root ?? null);
    root.setAttribute('aria-label', title);
    made = { root, title: element('h3', title, root), text: element('p', '', root), body: element('div', null, root) };
    made.buttons = element('div', null, root);
    made.buttons.className = 'bar';
    const more = element('details', null, root);
    element('summary', 'more', more);
    made.more = element('div', null, more);
    made.more.className = 'bar';
    made.answer = element('p', '', root);
    made.answer.setAttribute('role', 'status');
    made.explanation = element('p', 'Tap a button, point at it, or move to it with the Tab key, to read what it will do.', root);
    made.explanation.className = 'explanation';
    made.explanation.id = `explanation-${cards.size}`;
    made.made = new Map();
    cards.set(id, made);
  }
  return made;
}

function showNode(node) {
  const its = card(node.id, node.id);
  if (!its.meter) {
    its.meter = element('meter', null, its.body);
    its.meter.max = state.settings.leaseMs;
    its.meter.setAttribute('aria-label', `lease remaining of ${node.id}`);
    its.remaining = element('p', '', its.body);
    its.link = element('a', 'its own page', element('p', null, its.body));
    its.link.target = '_blank';
    its.link.rel = 'noopener';
    its.lines = element('pre', '', its.body);
  }
  its.root.classList.toggle('leads', node.leads);
  its.link.href = node.url;
  its.node = node;
  const doing = node.leads ? `leads in term ${node.term}` : node.state === 'running' ? 'follows' : '';
  set(its.text, [node.state, doing].filter(Boolean).join(', ') + (CUTS[node.cut] ?? '') + (node.aside ? ', stands aside' : ''));
  const lines = (node.lastLines ?? []).join('\n');
  set(its.lines, lines);
  its.lines.hidden = !lines;
  showRemaining(its);
}

function showRemaining(its) {
  if (!its.meter) return;
  const left = its.node.deadline === null ? 0 : Math.max(0, its.node.deadline - present());
  its.meter.value = left;
  set(its.remaining, left > 0 ? `lease remaining: ${(left / 1000).toFixed(1)} s` : 'no lease');
}

function showDatabase(next) {
  const its = card('database', 'The database');
  if (!its.row) {
    its.load = element('p', '', its.body);
    const wide = element('div', null, its.body);
    wide.className = 'wide';
    its.row = element('tbody', null, element('table', null, wide));
    its.changed = element('p', '', its.body);
  }
  const problem = next.settings.databaseProblem;
  set(its.text, `${next.settings.database}: ${next.settings.databaseState}${problem ? `. The console cannot read it: ${problem}` : ''}`);
  its.text.classList.toggle('warn', Boolean(problem));
  set(its.load, `requests a second: leader ${next.load.leader.toFixed(1)}, followers ${next.load.followers.toFixed(1)}, the console ${next.load.other.toFixed(1)}; the page and the job of the sample included`);
  const cells = next.row ? next.row.cells : [];
  const text = JSON.stringify(cells);
  if (text !== its.shown) {
    its.shown = text;
    its.row.replaceChildren(...cells.map((cell) => {
      const row = element('tr');
      element('th', cell.name, row);
      const value = element('td', (cell.changed ? '● ' : '') + cell.value, row);
      value.classList.toggle('changed', cell.changed);
      return row;
    }));
  }
  set(its.changed, next.row ? `● changed ${Math.round((next.now - next.row.changedAt) / 1000)} s ago` : 'There is no record now.');
}

function showHistory(all) {
  $('history').replaceChildren(...all.map((past) => {
    const row = element('tr');
    for (const text of [past.term, past.leader, new Date(past.at).toLocaleTimeString(), past.reason]) element('td', text, row);
    return row;
  }));
}

const lines = new Map();
const LEVELS = { info: '·', change: '→', warn: '⚠' };

function addLine(line) {
  if (lines.has(line.id)) return;
  lines.set(line.id, line);
  const item = document.createElement('li');
  const ago = new Date(Date.now() - (present() - line.at));
  element('time', `${ago.toLocaleTimeString()} `, item);
  element('span', `${LEVELS[line.level] ?? ''} ${line.text}. `, item);
  if (line.link) {
    const link = element('a', 'why', item);
    link.href = line.link;
    link.target = '_blank';
    link.rel = 'noopener';
  }
  $('log').prepend(item);
  if ($('log').childElementCount > LOG_LINES) {
    $('log').lastChild.remove();
    lines.delete(lines.keys().next().value);
  }
}

/* ---------- buttons ---------- */

async function refreshActions() {
  try {
    const answer = await fetch('actions');
    for (const action of await answer.json()) showAction(action);
  } catch (failure) {
    if (!(failure instanceof TypeError)) throw failure;   // the stream tells that the connection is gone
  }
}

function showAction(action) {
  const its = cards.get(action.target);
  if (!its) return;
  let made = its.made.get(action.action);
  if (!made) {
    const bar = FIRST.includes(action.action) ? its.buttons : its.more;
    made = { button: element('button', action.label, bar) };
    made.button.dataset.action = action.action;
    made.button.setAttribute('aria-label', `${action.label} ${action.target === 'database' ? 'of the database' : action.target}`);
    if (action.seconds !== null) made.seconds = field(bar, 'number', action.seconds, `seconds of ${action.label}`);
    if (action.value !== null) made.value = field(bar, 'text', action.value, `value of ${action.label}`);
    made.button.setAttribute('aria-describedby', its.explanation.id);
    const explain = (more = '') => set(its.explanation, made.action.explanation + (made.action.reason ? ` Off now: ${made.action.reason}.` : more));
    // A finger cannot point without a tap, so the first tap explains and the second one acts.
    let tapped = false;
    made.button.addEventListener('pointerdown', (event) => { tapped = event.pointerType === 'touch' && its.explained !== made; });
    made.button.addEventListener('click', () => {
      its.explained = made;
      if (tapped) explain(' Tap again to do it.'); else act(its, made);
      tapped = false;
    });
    made.button.addEventListener('focus', () => explain());
    made.button.addEventListener('pointerenter', () => explain());
    its.made.set(action.action, made);
  }
  made.action = action;
  // aria-disabled keeps the button in the order of the Tab key, so that its reason can be read.
  made.button.setAttribute('aria-disabled', String(!action.enabled));
  for (const [does, undoes] of Object.entries(UNDO)) showOneOf(its.made.get(does), its.made.get(undoes));
}

function showOneOf(does, undoes) {
  if (!does || !undoes) return;
  const [shown, hidden] = undoes.action.enabled ? [undoes, does] : [does, undoes];
  const focused = document.activeElement === hidden.button;
  for (const each of [does, undoes]) {
    each.button.hidden = each !== shown;
    if (each.seconds) each.seconds.parentNode.hidden = each !== shown;
  }
  if (focused) shown.button.focus();
}

function field(bar, type, value, label) {
  const unit = element('label', null, bar);
  const input = element('input', null, unit);
  input.type = type;
  input.value = value;
  input.setAttribute('aria-label', label);
  if (type === 'number') { input.min = 1; input.max = 600; unit.append(' s'); }
  return input;
}

async function act(its, made) {
  if (made.button.getAttribute('aria-disabled') === 'true') {
    set(its.answer, made.action.reason ?? '');
    return;
  }
  made.button.setAttribute('aria-disabled', 'true');     // until the node's state tells otherwise
  const wish = { target: made.action.target, action: made.action.action,
    seconds: made.seconds ? Number(made.seconds.value) : null, value: made.value ? made.value.value : null };
  try {
    const answer = await fetch('actions', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(wish) });
    const text = (await answer.json()).text ?? `The playground answered ${answer.status}`;
    set(its.answer, answer.ok ? `${made.action.label}: done` : text);
  } catch (failure) {
    set(its.answer, `The playground did not answer: ${failure.message}`);
  }
  refreshActions();
}

/* ---------- the timeline: one layout for the canvas and for the saved picture ---------- */

const future = () => Math.max(view.span * FUTURE, state.settings.leaseMs * 1.1);

const lanesOf = () => state.nodes.map((node) => node.id);

function gaps(from, to, now) {
  const own = new Set(state.nodes.filter((node) => node.kind === 'election').map((node) => node.id));
  const all = [...spans.values()].filter((span) => own.has(span.node)).sort((a, b) => a.from - b.from);
  const found = [];
  let end = null;
  for (const span of all) {
    if (end !== null && span.from - end > 1) found.push([end, span.from]);
    end = Math.max(end ?? 0, span.to ?? now);
  }
  if (end !== null && now - end > 1) found.push([end, now]);
  return found.filter(([begin, stop]) => stop > from && begin < to);
}

/** Calls pen.box, pen.line, pen.text with lengths in CSS pixels; draws nothing itself. */
function layout(pen, width, now) {
  const end = view.end ?? now + future();
  const from = end - view.span;
  const x = (ms) => LABEL + (Math.min(Math.max(ms, from), end) - from) / view.span * (width - LABEL);
  const ids = lanesOf();
  const bottom = (ids.length + 1) * LANE;
  ids.forEach((id, i) => {
    pen.text(0, i * LANE + 24, id, 'text', LABEL - 6);
    pen.line(LABEL, i * LANE + LANE - 1, width, i * LANE + LANE - 1, 'line');
  });
  pen.text(0, ids.length * LANE + 24, 'nobody', 'dim', LABEL - 6);
  const lane = (id) => ids.indexOf(id);
  for (const mark of marks.values()) {
    const stop = mark.to ?? now;
    if (stop < from || mark.from > end || mark.kind === 'job') continue;
    const first = mark.node === 'database' ? 0 : lane(mark.node);
    const count = mark.node === 'database' ? ids.length : 1;
    if (first < 0) continue;
    if (stop > mark.from) pen.hatch(x(mark.from), first * LANE + 2, Math.max(2, x(stop) - x(mark.from)), count * LANE - 5);
  }
  for (const span of spans.values()) {
    const stop = span.to ?? now;
    if (stop < from || span.from > end || lane(span.node) < 0) continue;
    const wide = Math.max(2, x(stop) - x(span.from));
    const wrong = state.nodes[lane(span.node)].kind === 'wrong';
    pen.box(x(span.from), lane(span.node) * LANE + 8, wide, LANE - 16, wrong ? 'warn' : 'lead',
      `${span.node} ${wrong ? 'led' : `led in term ${span.term}`} for ${(stop - span.from).toFixed(1)} ms, from ${span.from.toFixed(1)} ms to ${stop.toFixed(1)} ms${span.to === null ? ', and goes on' : ''}`);
    if (wide > 34) pen.text(x(span.from) + 5, lane(span.node) * LANE + 24, wrong ? 'leads' : `term ${span.term}`, 'on-lead', wide - 8);
  }
  for (const mark of marks.values()) {
    if (mark.from < from || mark.from > end) continue;
    const at = mark.node === 'database' ? 0 : lane(mark.node);
    if (at < 0) continue;
    if (mark.kind === 'job') pen.line(x(mark.from), at * LANE + LANE - 7, x(mark.from), at * LANE + LANE - 2, 'text');
    else pen.text(x(mark.from) + (mark.to === mark.from ? -5 : 3), at * LANE + 12, GLYPHS[mark.kind] ?? `${mark.node === 'database' ? 'database ' : ''}${mark.kind}`, mark.kind === 'kill' ? 'warn' : 'pause', 140);
  }
  for (const [begin, stop] of gaps(from, end, now)) {
    const wide = Math.max(1, x(stop) - x(begin));
    pen.frame(x(begin), ids.length * LANE + 8, wide, LANE - 16);
    if (wide > 30) pen.text(x(begin) + 4, ids.length * LANE + 24, seconds(stop - begin), 'text', wide - 6);
  }
  for (const node of state.nodes) {
    if (node.deadline && node.deadline > now && node.deadline < end) {
      pen.line(x(node.deadline), lane(node.id) * LANE + 3, x(node.deadline), lane(node.id) * LANE + LANE - 4, 'pause');
    }
  }
  if (now >= from && now <= end) pen.line(x(now), 0, x(now), bottom, 'dim');
  const step = [1, 2, 5, 10, 30, 60, 120].map((s) => s * 1000).find((s) => view.span / s <= Math.max(3, (width - LABEL) / 80)) ?? 120_000;
  for (let t = Math.ceil((from - now) / step) * step; t + now <= end; t += step) {
    if (t + now > from + view.span * 0.02) pen.text(x(now + t) - 12, bottom + 14, t === 0 ? 'now' : `${Math.round(t / 1000)} s`, 'dim', 60);
  }
  return bottom + 20;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function canvasPen(context) {
  const colours = {};
  const fill = (name) => { context.fillStyle = colours[name] ??= colour(name); };
  const stroke = (name) => { context.strokeStyle = colours[name] ??= colour(name); };
  return {
    box(x, y, w, h, name) { fill(name); context.fillRect(x, y, w, h); },
    frame(x, y, w, h) { stroke('warn'); context.setLineDash([4, 3]); context.strokeRect(x, y, w, h); context.setLineDash([]); },
    hatch(x, y, w, h) {
      stroke('pause');
      context.save();
      context.beginPath();
      context.rect(x, y, w, h);
      context.clip();
      context.beginPath();
      for (let at = -h; at < w; at += 9) { context.moveTo(x + at, y + h); context.lineTo(x + at + h, y); }
      context.stroke();
      context.restore();
      context.strokeRect(x, y, w, h);
    },
    line(x1, y1, x2, y2, name) { stroke(name); context.beginPath(); context.moveTo(x1, y1); context.lineTo(x2, y2); context.stroke(); },
    text(x, y, text, name, most) { fill(name); context.fillText(text, x, y, Math.max(10, most)); },
  };
}

function svgPen(root) {
  const make = (name, text) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const add = (name, attributes, text, title) => {
    const made = make(name, text);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (title !== undefined) made.append(make('title', title));
    root.append(made);
  };
  const round = (n) => Math.round(n * 10) / 10;
  return {
    box(x, y, w, h, name, title) { add('rect', { x: round(x), y, width: round(w), height: h, fill: colour(name) }, undefined, title); },
    frame(x, y, w, h) { add('rect', { x: round(x), y, width: round(w), height: h, fill: 'none', stroke: colour('warn'), 'stroke-dasharray': '4 3' }); },
    hatch(x, y, w, h) {
      add('rect', { x: round(x), y, width: round(w), height: h, fill: colour('pause'), 'fill-opacity': 0.15, stroke: colour('pause') });
      for (let at = 0; at + h < w; at += 9) add('line', { x1: round(x + at), y1: y + h, x2: round(x + at + h), y2: y, stroke: colour('pause') });
    },
    line(x1, y1, x2, y2, name) { add('line', { x1: round(x1), y1, x2: round(x2), y2, stroke: colour(name) }); },
    text(x, y, text, name) { add('text', { x: round(x), y, fill: colour(name) }, text); },
  };
}

function draw() {
  const canvas = $('lanes');
  const width = canvas.clientWidth;
  const ratio = devicePixelRatio || 1;
  const height = (lanesOf().length + 1) * LANE + 20;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '12px system-ui, sans-serif';
  layout(canvasPen(context), width, present());
}

function frame(at) {
  const pause = calm.matches ? 500 : 33;
  if (state && !document.hidden && at - drawnAt >= pause) {
    drawnAt = at;
    if (state.nodes.length) draw();
    cards.forEach(showRemaining);
    showSince();
  }
  requestAnimationFrame(frame);
}

function save() {
  const root = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const width = 1000;
  root.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  root.setAttribute('font-family', 'system-ui, sans-serif');
  root.setAttribute('font-size', '12');
  const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
  title.textContent = `Who led when: ${seconds(view.span)} of the election ${state.settings.serviceId}, lease ${seconds(state.settings.leaseMs)}`;
  root.append(title);
  const pen = svgPen(root);
  pen.box(0, 0, width, (lanesOf().length + 1) * LANE + 20, 'back');
  const height = layout(pen, width, present());
  root.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(root)], { type: 'image/svg+xml' }));
  link.download = 'election.svg';
  link.click();
  URL.revokeObjectURL(link.href);
}

function tabulate() {
  const rows = [...spans.values()].sort((a, b) => b.from - a.from).slice(0, 50);
  $('claims').replaceChildren(...rows.map((span) => {
    const row = element('tr');
    const began = new Date(Date.now() - (present() - span.from));
    for (const text of [span.node, span.term || '', began.toLocaleTimeString(), seconds((span.to ?? present()) - span.from) + (span.to === null ? ', still' : '')]) element('td', text, row);
    return row;
  }));
}

/* ---------- moving about in time ---------- */

function hold(wanted) {
  view.end = wanted ? present() + future() : null;
  $('hold').setAttribute('aria-pressed', String(wanted));
  set($('hold'), wanted ? 'Follow the present' : 'Pause the page');
}

function zoom(factor) {
  view.span = Math.min(Math.max(view.span * factor, 10_000), KEPT);
}

function step(direction) {
  if (view.end === null) hold(true);
  const now = present();
  view.end = Math.min(Math.max(view.end + direction * view.span / 4, now - KEPT + view.span), now + future());
}

$('hold').onclick = () => hold(view.end === null);
$('in').onclick = () => zoom(0.5);
$('out').onclick = () => zoom(2);
$('earlier').onclick = () => step(-1);
$('later').onclick = () => step(1);
$('save').onclick = save;
$('lanes').addEventListener('keydown', (event) => {
  const act = { ' ': () => hold(view.end === null), '+': () => zoom(0.5), '-': () => zoom(2), ArrowLeft: () => step(-1), ArrowRight: () => step(1) }[event.key];
  if (act) { act(); event.preventDefault(); }
});
setInterval(forgetOld, 5000);
setInterval(tabulate, 2000);
connect();
requestAnimationFrame(frame);
