// Draws the stream of reports. Elements are made once for each server and changed in
// place: what has the focus, or is being read aloud, stays where it is.
'use strict';

const $ = (id) => document.getElementById(id);
const el = (name, cls, text) => {
  const e = document.createElement(name);
  if (cls) e.className = cls;
  if (text !== undefined) e.textContent = text;
  return e;
};
const set = (e, text) => { if (e.textContent !== text) e.textContent = text; };

const percent = (x) => x === undefined || x === null ? '–' : (100 * x).toFixed(x > 0.995 && x < 1 ? 2 : 1) + ' %';
const number = (x) => x >= 100 ? Math.round(x).toLocaleString('en') : x >= 10 ? x.toFixed(0) : x.toFixed(x === 0 ? 0 : 1);
const duration = (s) => s === undefined || s === null ? 'no bound' : s < 1 ? Math.round(s * 1000) + ' ms' : s < 120 ? s.toFixed(Number.isInteger(s) || s >= 60 ? 0 : 1) + ' s' : Math.round(s / 60) + ' min';
const bytes = (n) => n < 1024 ? n + ' B' : n < 1048576 ? (n / 1024).toFixed(0) + ' kB' : n < 1073741824 ? (n / 1048576).toFixed(1) + ' MB' : (n / 1073741824).toFixed(1) + ' GB';
const clock = (t) => new Date(t).toLocaleTimeString('en-GB');

const history = new Map(); // of each server what its plot shows: its lag, of the primary the reads a second
let keep = 600, every = 1, held = false, newest = 0;

const key = (router, server) => router + '/' + server;

function remember(report) {
  every = report.every_seconds;
  keep = Math.max(2, report.keep_points);
  if (report.history) {
    history.clear();
    const primaries = new Set(report.routers.flatMap((r) => r.servers.filter((s) => s.primary).map((s) => key(r.name, s.name))));
    for (const h of report.history) {
      const k = key(h.router, h.server);
      history.set(k, (primaries.has(k) ? h.reads_per_second : h.lag_seconds).slice());
    }
    return;
  }
  if (report.again) return; // between two looks: points are at equal distances in time
  for (const r of report.routers) {
    for (const s of r.servers) {
      const k = key(r.name, s.name);
      if (!history.has(k)) history.set(k, []);
      const points = history.get(k);
      points.push(s.primary ? s.reads_per_second : s.state === 'down' ? null : s.lag_seconds ?? null);
      if (points.length > keep) points.shift();
    }
  }
}

// plot draws values over time, to scale or more; where nothing is known, a shade.
function plot(svg, points, scale) {
  const known = points.filter((v) => v !== null);
  const top = Math.max(scale, ...known.map((v) => v * 1.1));
  const x = (i) => (i + keep - points.length) / (keep - 1) * 100;
  let path = '', under = '', shade = [], from = -1;
  points.forEach((v, i) => {
    if (v === null) {
      if (from < 0) from = i;
      return;
    }
    const begins = i === 0 || points[i - 1] === null, ends = i === points.length - 1 || points[i + 1] === null;
    const at = x(i).toFixed(2), to = at + ' ' + (40 - v / top * 38).toFixed(2);
    path += (begins ? 'M' : 'L') + to;
    under += (begins ? 'M' + at + ' 40' : '') + 'L' + to + (ends ? 'L' + at + ' 40Z' : '');
    if (from >= 0) { shade.push([from, i]); from = -1; }
  });
  if (from >= 0) shade.push([from, points.length - 1]);
  const NS = 'http://www.w3.org/2000/svg';
  const parts = shade.map(([a, b]) => {
    const r = document.createElementNS(NS, 'rect');
    r.setAttribute('x', x(a)); r.setAttribute('width', Math.max(0.4, x(b) - x(a)));
    r.setAttribute('y', 0); r.setAttribute('height', 40);
    return r;
  });
  const line = document.createElementNS(NS, 'path');
  line.setAttribute('class', 'line');
  line.setAttribute('d', path || 'M0 40');
  const area = document.createElementNS(NS, 'path');
  area.setAttribute('class', 'area');
  area.setAttribute('d', under);
  svg.replaceChildren(...parts, area, line);
  return top;
}

const cards = new Map();

function card(r, s) {
  const k = key(r.name, s.name);
  let c = cards.get(k);
  if (c) return c;
  c = { root: el('li', 'server') };
  const head = el('div', 'head');
  c.name = el('h3', '', s.name);
  const state = el('span', 'state');
  const shape = el('span', 'shape');
  shape.setAttribute('aria-hidden', 'true');
  c.state = el('span');
  state.append(shape, c.state);
  head.append(c.name, state);
  c.advice = el('p', 'advice');
  c.list = el('dl');
  c.values = {};
  const rate = ['rate', 'Reads/s'], pool = ['pool', 'Connections'], position = ['position', 'Position'];
  const shown = s.primary ? [rate, pool, position]
    : [['lag', 'Lag, at most'], ['behind', 'To replay'], rate, ['flight', 'In flight'], pool, position];
  for (const [id, label] of shown) {
    const d = el('div', id === shown[0][0] ? 'first' : '');
    d.append(el('dt', '', label));
    c.values[id] = el('dd');
    d.append(c.values[id]);
    c.list.append(d);
  }
  c.svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  c.svg.setAttribute('viewBox', '0 0 100 40');
  c.svg.setAttribute('preserveAspectRatio', 'none');
  c.svg.setAttribute('role', 'img');
  c.axis = el('div', 'axis');
  c.left = el('span');
  c.right = el('span');
  c.axis.append(c.left, c.right);
  c.actions = el('p', 'actions');
  c.root.append(head, c.advice, c.list);
  c.root.append(c.svg, c.axis, c.actions);
  cards.set(k, c);
  return c;
}

async function post(what, fields) {
  set($('said'), '');
  try {
    const answer = await fetch(what, { method: 'POST', body: new URLSearchParams(fields) });
    if (!answer.ok) set($('said'), await answer.text());
  } catch (e) {
    set($('said'), 'It was not done: the application cannot be reached.');
  }
}

// button keeps one button in its place, so that the focus stays on it.
function button(parent, text, name, click) {
  let b = parent.firstChild;
  if (!b) {
    b = el('button');
    b.type = 'button';
    parent.append(b);
  }
  set(b, text);
  if (name) b.setAttribute('aria-label', name);
  b.onclick = click;
}

function server(r, s, may) {
  const c = card(r, s);
  c.root.className = 'server ' + s.level;
  set(c.name, (s.primary ? 'primary' : s.name) + (s.host ? ' · ' + s.host : ''));
  set(c.state, s.state);
  set(c.advice, s.advice ?? '');
  const v = c.values;
  set(v.rate, number(s.reads_per_second));
  set(v.pool, s.pool.in_use + ' of ' + (s.pool.max || '∞'));
  set(v.position, s.position ?? '–');
  const past = history.get(key(r.name, s.name)) ?? [];
  set(c.left, duration(keep * every) + ' ago');
  if (s.primary) {
    set(c.right, 'reads a second, scale to ' + number(plot(c.svg, past, 10)));
    c.svg.setAttribute('aria-label', 'Reads a second on the primary over the last ' + duration(keep * every) + ', now ' + number(s.reads_per_second));
    return c.root;
  }
  const lag = s.state === 'down' || s.state === 'primary' || s.state === 'writable' ? null : s.lag_seconds ?? null;
  set(v.lag, lag !== null ? duration(lag) : s.state === 'primary' ? '–' : 'unknown');
  set(v.behind, lag === null ? '–' : bytes(s.behind_bytes));
  set(v.flight, String(s.in_flight));
  set(c.right, 'lag, scale to ' + duration(plot(c.svg, past, 1)));
  c.svg.setAttribute('aria-label', 'Lag of ' + s.name + ' over the last ' + duration(keep * every) + ', now ' + duration(lag));
  if (may) {
    const out = s.state === 'drained', text = out ? 'Put back into service' : 'Take out of service';
    button(c.actions, text, text + ': ' + s.name, () => post(out ? 'resume' : 'drain', { replica: r.name + '/' + s.name }));
  } else {
    c.actions.replaceChildren();
  }
  return c.root;
}

const sections = new Map();

// table is a list of reasons, with what each means and what to do.
function table(title, id) {
  const t = { root: el('div'), rows: el('tbody') };
  const h = el('h2', '', title), of = el('table'), head = el('tr'), thead = el('thead'), scroll = el('div', 'scroll');
  h.id = id;
  for (const [text, cls] of [['Because', ''], ['a second', 'n'], ['since the start', 'n']]) {
    const th = el('th', cls, text);
    th.scope = 'col';
    head.append(th);
  }
  const bar = el('td', 'bar-cell');
  bar.setAttribute('aria-hidden', 'true');
  head.append(bar);
  thead.append(head);
  of.setAttribute('aria-labelledby', id);
  of.append(thead, t.rows);
  scroll.tabIndex = 0;
  scroll.setAttribute('role', 'region');
  scroll.setAttribute('aria-labelledby', id);
  scroll.append(of);
  t.root.append(h, scroll);
  return t;
}

function fill(t, reasons) {
  const most = Math.max(1e-9, ...reasons.map((x) => x.per_second));
  t.root.hidden = reasons.length === 0;
  t.rows.replaceChildren(...reasons.map((x) => {
    const row = el('tr'), what = el('td', '', x.because + ' '), bar = el('td', 'bar-cell'), b = el('span', 'bar');
    const note = el('small');
    note.append(el('code', '', x.reason));
    if (x.do) note.append(' ', el('span', 'do', x.do));
    what.append(note);
    bar.setAttribute('aria-hidden', 'true');
    b.style.width = Math.round(x.per_second / most * 100) + '%';
    bar.append(b);
    row.append(what, el('td', 'n', number(x.per_second)), el('td', 'n', x.count.toLocaleString('en')), bar);
    return row;
  }));
}

function router(r, may) {
  let s = sections.get(r.name);
  if (!s) {
    s = { root: el('section'), title: el('h2'), numbers: el('dl', 'numbers'), servers: el('ul', 'servers'), actions: el('p'), values: {} };
    for (const [id, label] of [['share', 'Reads by replicas now'], ['all', 'Since the start'], ['rate', 'Reads a second'], ['captures', 'Questions for a position'], ['unsure', 'Writes of unknown outcome']]) {
      const d = el('div');
      d.append(el('dt', '', label));
      s.values[id] = el('dd');
      d.append(s.values[id]);
      s.numbers.append(d);
    }
    s.notes = el('p', 'notes');
    s.title.id = 'router-' + sections.size;
    s.root.setAttribute('aria-labelledby', s.title.id);
    s.onPrimary = table('Why statements ran on the primary', s.title.id + '-primary');
    s.onReplicas = table('Why reads ran on replicas', s.title.id + '-replicas');
    s.refused = table('Why reads were refused: their users saw an error', s.title.id + '-refused');
    s.root.append(s.title, s.servers, s.numbers, s.notes, s.actions, s.refused.root, s.onPrimary.root, s.onReplicas.root);
    sections.set(r.name, s);
    $('routers').append(s.root);
  }
  set(s.title, r.name ? 'Resolver ' + r.name : 'Servers');
  set(s.values.share, percent(r.reads.replica_share_now));
  set(s.values.all, percent(r.reads.replica_share));
  set(s.values.rate, number(r.reads.per_second));
  set(s.values.captures, r.captures.toLocaleString('en'));
  set(s.values.unsure, r.unsure_writes.toLocaleString('en'));
  const notes = [];
  if (r.traffic?.kill_switch) notes.push('The kill switch is on: every read goes to the primary.');
  if (r.traffic?.percent) notes.push(r.traffic.percent + ' % of the reads may use replicas.');
  if (r.traffic?.shadow) notes.push('Shadow mode: decisions are counted, and every read runs on the primary.');
  if (r.budget) notes.push('Budget of the primary: ' + r.budget.in_use + ' of ' + r.budget.reads + ' in use, ' + r.budget.waiting + ' waiting, ' + r.budget.refused + ' refused.');
  if (r.election) notes.push('Primary: ' + r.election.primary + ', timeline ' + r.election.timeline + ', ' + r.election.state + ', moved ' + r.election.moves + ' times. Hosts: ' + r.election.hosts.map((h) => h.name + ' ' + h.state).join(', ') + '.');
  const counts = (what, map) => map && notes.push(what + ': ' + Object.entries(map).map(([k, n]) => k + ' ' + n.toLocaleString('en')).join(', ') + '.');
  counts('Run again', r.retries);
  counts('Conflicts with replay', r.conflicts);
  counts('Tokens not accepted', r.tokens);
  set(s.notes, notes.join(' '));
  const list = r.servers.map((x) => server(r, x, may));
  if (list.length !== s.servers.children.length || list.some((e, i) => s.servers.children[i] !== e)) s.servers.replaceChildren(...list);
  if (may && r.name === '') {
    const on = Boolean(r.traffic?.kill_switch);
    button(s.actions, on ? 'Let reads go to replicas again' : 'Send every read to the primary', '',
      () => (on || confirm('Send every read of this process to the primary?')) && post('traffic', { kill_switch: String(!on) }));
  }
  fill(s.refused, r.reasons.filter((x) => x.refused));
  fill(s.onPrimary, r.reasons.filter((x) => !x.replica && !x.refused));
  fill(s.onReplicas, r.reasons.filter((x) => x.replica));
}

const rows = (body, list, cells) => body.replaceChildren(...list.map((x) => {
  const row = el('tr');
  row.append(...cells(x));
  return row;
}));
const at = (x) => (x.router ? x.router + '/' : '') + x.server;

function change(c) {
  const what = el('td');
  what.append(el('span', c.bad ? 'bad-news' : '', c.state.replaceAll('_', ' ')));
  if (c.means) what.append(' ', el('small', '', c.means + (c.why ? ': ' + c.why : '')));
  return [el('td', '', clock(c.at)), el('td', '', at(c)), what];
}

const decision = (d) => [
  el('td', '', clock(d.at)), el('td', '', d.refused ? 'refused' : at(d)), el('td', '', d.reason + (d.begins_transaction ? ', begins a transaction' : '')),
  el('td', 'n', String(d.attempts)), el('td', 'n', d.waited_seconds ? duration(d.waited_seconds) : ''),
];

function draw(report) {
  newest = Date.now();
  remember(report);
  const names = new Set(report.routers.map((r) => r.name));
  for (const [name, s] of sections) if (!names.has(name)) { s.root.remove(); sections.delete(name); }
  for (const r of report.routers) router(r, report.may_operate);
  const h = report.headline;
  $('summary').className = h.level;
  if ($('headline').lastChild.textContent !== h.text) {
    const shape = el('span', 'shape');
    shape.setAttribute('aria-hidden', 'true');
    $('headline').replaceChildren(shape, document.createTextNode(h.text));
    document.title = h.text + ' – readsplit';
  }
  set($('detail'), h.detail ?? '');
  const notices = report.notices ?? [];
  if ($('notices').textContent !== notices.join('')) $('notices').replaceChildren(...notices.map((n) => el('li', '', n)));
  $('recent').hidden = !report.decisions && !report.changes;
  rows($('changes'), report.changes ?? [], change);
  if (!held) rows($('decisions'), report.decisions ?? [], decision);
}

$('hold').onclick = () => {
  held = !held;
  $('hold').setAttribute('aria-pressed', String(held));
  set($('hold'), held ? 'Go on' : 'Hold');
};

const stream = new EventSource('events');
stream.onmessage = (e) => draw(JSON.parse(e.data));
setInterval(() => {
  const s = (Date.now() - newest) / 1000;
  const old = newest === 0 || s > 3 * every + 2;
  $('age').className = old ? 'old' : '';
  set($('age'), newest === 0 ? '' : old ? 'No news for ' + duration(s) + ': what is shown is old.' : 'live');
}, 500);
