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
const duration = (s) => s === undefined || s === null ? 'no bound' : s < 1 ? Math.round(s * 1000) + ' ms' : s < 120 ? s.toFixed(1) + ' s' : Math.round(s / 60) + ' min';
const bytes = (n) => n < 1024 ? n + ' B' : n < 1048576 ? (n / 1024).toFixed(0) + ' kB' : n < 1073741824 ? (n / 1048576).toFixed(1) + ' MB' : (n / 1073741824).toFixed(1) + ' GB';
const clock = (t) => new Date(t).toLocaleTimeString('en-GB');

const kind = {
  up: 'good', behind: 'warn', paused: 'warn', drained: 'warn', ejected: 'warn', unproven: 'warn',
  balanced: 'warn', down: 'bad', writable: 'bad', unknown: '',
};

const history = new Map(); // of each server: {lag, reads}
let keep = 600, every = 1, held = false, newest = 0;

const key = (router, server) => router + '/' + server;

function remember(report) {
  every = report.every_seconds;
  keep = Math.max(2, report.keep_points);
  if (report.history) {
    history.clear();
    for (const h of report.history) history.set(key(h.router, h.server), h.lag_seconds.slice());
    return;
  }
  for (const r of report.routers) {
    for (const s of r.servers) {
      const k = key(r.name, s.name);
      if (!history.has(k)) history.set(k, []);
      const lag = history.get(k);
      lag.push(s.state === 'down' ? null : s.primary ? 0 : s.lag_seconds ?? null);
      if (lag.length > keep) lag.shift();
    }
  }
}

// plot draws lag over time; where nothing is known of it, a shade.
function plot(svg, points) {
  const known = points.filter((v) => v !== null);
  const top = Math.max(0.1, ...known) * 1.1;
  const x = (i) => (i + keep - points.length) / (keep - 1) * 100;
  let path = '', shade = [], from = -1;
  points.forEach((v, i) => {
    if (v === null) {
      if (from < 0) from = i;
      return;
    }
    path += (i === 0 || points[i - 1] === null ? 'M' : 'L') + x(i).toFixed(2) + ' ' + (40 - v / top * 38).toFixed(2);
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
  const p = document.createElementNS(NS, 'path');
  p.setAttribute('d', path || 'M0 40');
  svg.replaceChildren(...parts, p);
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
  c.state = el('span', 'state');
  head.append(c.name, c.state);
  c.advice = el('p', 'advice');
  c.list = el('dl');
  c.values = {};
  for (const [id, label] of [['lag', 'Lag, at most'], ['behind', 'Behind'], ['rate', 'Reads a second'], ['flight', 'In flight'], ['pool', 'Pool'], ['position', 'Position']]) {
    const d = el('div');
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
  c.actions = el('p');
  c.root.append(head, c.advice, c.list, c.svg, c.axis, c.actions);
  cards.set(k, c);
  return c;
}

async function post(what, fields) {
  const answer = await fetch(what, { method: 'POST', body: new URLSearchParams(fields) });
  if (!answer.ok) alert(await answer.text());
}

function server(r, s, may) {
  const c = card(r, s);
  c.root.className = 'server ' + (kind[s.state] ?? 'warn');
  set(c.name, (s.primary ? 'primary' : s.name) + (s.host ? ' · ' + s.host : ''));
  set(c.state, s.state);
  set(c.advice, s.advice ?? '');
  const v = c.values;
  set(v.lag, s.primary ? '–' : duration(s.lag_seconds));
  set(v.behind, s.primary ? '–' : bytes(s.behind_bytes));
  set(v.rate, number(s.reads_per_second));
  set(v.flight, s.primary ? '–' : String(s.in_flight));
  set(v.pool, s.pool.in_use + ' of ' + (s.pool.max || '∞'));
  set(v.position, s.position ?? '–');
  const hidden = s.primary;
  c.svg.style.display = c.axis.style.display = hidden ? 'none' : '';
  if (!hidden) {
    const points = history.get(key(r.name, s.name)) ?? [];
    const top = plot(c.svg, points);
    set(c.left, 'lag, to ' + duration(top));
    set(c.right, 'the last ' + duration(keep * every));
    c.svg.setAttribute('aria-label', 'Lag of ' + s.name + ' over time, now ' + duration(s.lag_seconds));
  }
  if (may && !s.primary) {
    const what = s.state === 'drained' ? 'resume' : 'drain';
    let b = c.actions.firstChild;
    if (!b) c.actions.append(b = el('button'));
    b.type = 'button';
    set(b, what === 'drain' ? 'Take out of service' : 'Put back into service');
    b.setAttribute('aria-label', b.textContent + ': ' + s.name);
    b.onclick = () => post(what, { replica: (r.name ? r.name + '/' : '') + s.name });
  } else {
    c.actions.replaceChildren();
  }
  return c.root;
}

const sections = new Map();

function router(r, may) {
  let s = sections.get(r.name);
  if (!s) {
    s = { root: el('section'), title: el('h2'), numbers: el('dl', 'numbers'), servers: el('ul', 'servers'), actions: el('p'), why: el('h2', '', 'Why statements went where they went'), values: {} };
    for (const [id, label] of [['share', 'Reads by replicas now'], ['all', 'since the start'], ['rate', 'Reads a second'], ['captures', 'Questions for a position'], ['unsure', 'Writes of unknown outcome']]) {
      const d = el('div');
      d.append(el('dt', '', label));
      s.values[id] = el('dd');
      d.append(s.values[id]);
      s.numbers.append(d);
    }
    s.notes = el('p');
    const table = el('table');
    const head = el('tr');
    for (const [t, cls] of [['Reason', ''], ['a second', 'n'], ['since the start', 'n'], ['', '']]) {
      const th = el('th', cls, t);
      th.scope = 'col';
      head.append(th);
    }
    const thead = el('thead');
    thead.append(head);
    s.reasons = el('tbody');
    table.append(thead, s.reasons);
    const scroll = el('div', 'scroll');
    scroll.append(table);
    s.root.append(s.title, s.numbers, s.notes, s.actions, s.servers, s.why, scroll);
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
  if (r.election) notes.push('Primary: ' + r.election.primary + ', timeline ' + r.election.timeline + ', ' + r.election.state + '.');
  const counts = (what, map) => map && notes.push(what + ': ' + Object.entries(map).map(([k, n]) => k + ' ' + n.toLocaleString('en')).join(', ') + '.');
  counts('Run again', r.retries);
  counts('Conflicts with replay', r.conflicts);
  counts('Tokens not accepted', r.tokens);
  set(s.notes, notes.join(' '));
  const list = r.servers.map((x) => server(r, x, may));
  if (list.length !== s.servers.children.length || list.some((e, i) => s.servers.children[i] !== e)) s.servers.replaceChildren(...list);
  if (may && r.name === '') {
    let b = s.actions.firstChild;
    if (!b) s.actions.append(b = el('button'));
    b.type = 'button';
    const on = Boolean(r.traffic?.kill_switch);
    set(b, on ? 'Let reads go to replicas again' : 'Send every read to the primary');
    b.onclick = () => (on || confirm('Send every read of this process to the primary?')) && post('traffic', { kill_switch: String(!on) });
  }
  const most = Math.max(1e-9, ...(r.reasons ?? []).map((x) => x.per_second));
  s.reasons.replaceChildren(...(r.reasons ?? []).map((x) => {
    const row = el('tr');
    const bar = el('td');
    const b = el('span', 'bar');
    b.style.width = Math.round(x.per_second / most * 100) + '%';
    bar.append(b);
    bar.style.width = '40%';
    row.append(el('td', '', x.reason), el('td', 'n', number(x.per_second)), el('td', 'n', x.count.toLocaleString('en')), bar);
    return row;
  }));
}

const rows = (body, list) => body.replaceChildren(...list.map((cells) => {
  const row = el('tr');
  for (const c of cells) row.append(el('td', '', c));
  return row;
}));
const at = (x) => (x.router ? x.router + '/' : '') + x.server;

function draw(report) {
  newest = Date.now();
  remember(report);
  const names = new Set(report.routers.map((r) => r.name));
  for (const [name, s] of sections) if (!names.has(name)) { s.root.remove(); sections.delete(name); }
  for (const r of report.routers) router(r, report.may_operate);
  const bad = report.routers.flatMap((r) => r.servers.filter((s) => s.state !== 'up').map((s) => (r.name ? r.name + '/' : '') + s.name + ' is ' + s.state));
  set($('summary'), bad.length ? bad.join(', ') : 'All servers are up.');
  $('summary').className = bad.length ? (bad.some((t) => /down|writable/.test(t)) ? 'bad-text' : 'warn-text') : 'good-text';
  $('recent').hidden = !report.decisions && !report.changes;
  rows($('changes'), (report.changes ?? []).map((c) => [clock(c.at), at(c), c.state, c.why ?? '']));
  if (!held) rows($('decisions'), (report.decisions ?? []).map((d) => [clock(d.at), at(d), d.reason, String(d.attempts), d.waited_seconds ? duration(d.waited_seconds) : '']));
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
