// What a run does now: its figures, what needs a look, ranks and who waits for whom, hosts, links, the last events.

import { api, isAbort } from '../../api.js';
import { append, el, fill, svg } from '../../dom.js';
import { count, date, isKnown, loss, number, seconds, short } from '../../format.js';
import { live } from '../../live.js';
import { makeLivePart } from '../../live_table.js';
import { empty, fact, failed, note, panel } from '../../parts.js';
import { hashOf } from '../../routes.js';
import { t } from '../../texts.js';
import { makeEventTable } from './event_table.js';
import { makeHostTable } from './hosts.js';
import { makeLinkTable } from './links.js';
import { makeRankTable } from './ranks.js';

const lastEvents = 8;

// The course of a series over the whole run, without axes.
function spark(points, label, className = 'spark') {
  const known = points.filter(isKnown);
  if (known.length < 2) return null;
  const low = Math.min(...known);
  const span = Math.max(...known) - low || 1;
  let path = '';
  let draws = false;  // a gap begins a new line
  points.forEach((point, at) => {
    if (!isKnown(point)) return void (draws = false);
    path += `${draws ? 'L' : 'M'}${((at / (points.length - 1)) * 100).toFixed(1)} ${(22 - ((point - low) / span) * 20).toFixed(1)}`;
    draws = true;
  });
  return svg('svg', { class: className, viewBox: '0 0 100 24', preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    svg('path', { d: path }));
}

// The loss of the whole run, as large as the page, with what its ends are; all else is in the curves.
function course({ name, curve }) {
  const known = curve.points.filter(isKnown);
  if (known.length < 2) return null;
  return [
    el('div', { class: 'course' },
      el('div', { class: 'course-range' }, el('span', {}, loss(Math.max(...known))), el('span', {}, loss(Math.min(...known)))),
      spark(curve.points, t('run.spark'), 'spark wide'),
      el('div', { class: 'course-steps' }, el('span', {}, t('run.step', { step: count(curve.first_step) })),
        el('span', {}, t('run.step', { step: count(curve.last_step) })))),
    el('p', {}, el('a', { href: hashOf('run', name, 'curves') }, t('run.course.more'))),
  ];
}

// ends: no time is left to tell. alone: the curve stands above already.
function figures({ p, ends, alone }) {
  const all = [fact(t('run.figure.loss'), loss(p.loss), alone ? null : spark(p.loss_curve.points, t('run.spark')))];
  if (isKnown(p.valid_loss))
    all.push(fact(t('run.figure.valid_loss'), loss(p.valid_loss), ' ', el('small', {}, t('run.at_step', { step: count(p.valid_step) })),
      spark(p.valid_loss_curve.points, t('run.spark_valid'))));
  all.push(fact(t('run.figure.speed'), count(p.tokens_per_second)));
  all.push(fact(t('run.figure.step_seconds'), seconds(p.step_seconds)));
  if (!ends && p.eta_seconds > 0) all.push(fact(t('run.figure.eta'), seconds(p.eta_seconds)));
  all.push(fact(t('run.figure.tokens'), short(p.tokens)));
  all.push(fact(t('run.figure.grad_norm'), number(p.grad_norm, 3)));
  all.push(fact(t('run.figure.lr'), number(p.lr, 3)));
  if (isKnown(p.loss_scale)) all.push(fact(t('run.figure.loss_scale'), count(p.loss_scale)));
  if (p.skipped_steps > 0) all.push(fact(t('run.figure.skipped'), count(p.skipped_steps)));
  if (p.repeated_steps > 0) all.push(fact(t('run.figure.repeated'), count(p.repeated_steps)));
  return el('dl', { class: 'facts figures' }, all);
}

function identity({ run, folder }) {
  const all = [
    [t('run.what.model'), run.model], [t('run.what.parameters'), isKnown(run.parameters) ? short(run.parameters) : ''],
    [t('run.what.layout'), run.layout], [t('run.what.schedule'), run.schedule], [t('run.what.precision'), run.precision],
    [t('run.what.device'), run.device], [t('run.what.attempt'), run.attempt > 0 ? count(run.attempt + 1) : ''],
    [t('run.what.began'), isKnown(run.began) ? date(run.began) : ''], [t('run.what.folder'), folder],
  ];
  return el('dl', { class: 'facts' }, all.filter(([, value]) => value).map(([term, value]) => fact(term, value)));
}

function findings(list) {
  return list.length === 0 ? null : el('div', { class: 'stacked' }, list.map((finding) => note('warn', finding.text)));
}

export function mount(parent, { run: name, goesOn, summary }) {
  const stopping = new AbortController();
  const waiting = empty(t('busy'));
  const looks = makeLivePart({ class: 'findings', 'aria-live': 'polite' }, findings);
  const numbers = makeLivePart({}, figures);
  const what = makeLivePart({}, identity);
  const ranks = makeRankTable();
  const hosts = makeHostTable();
  const links = makeLinkTable();
  const events = makeEventTable(t('run.events.last'));
  const curve = makeLivePart({}, course);
  const ofCurve = panel(t('run.course.title'), curve);
  const ofRanks = panel(t('run.ranks.title'), el('p', { class: 'muted of-many' }, t('run.ranks.how')), ranks.node);
  const ofHosts = panel(t('run.hosts.title'), hosts.node);
  const ofLinks = panel(t('run.links.title'), links.node);
  const noLinks = empty(t('run.links.none'));
  ofLinks.append(noLinks);
  const all = el('div', { class: 'stacked', hidden: true }, looks, ofCurve, panel(t('run.figures.title'), numbers), ofRanks,
    ofHosts,
    el('div', { class: 'panels' },
      panel(t('run.events.last'), events.node, el('p', {}, el('a', { href: hashOf('run', name, 'events') }, t('run.events.all')))),
      ofLinks),
    panel(t('run.what.title'), what));
  append(parent, [waiting, all]);

  function show(view) {
    waiting.hidden = true;
    all.hidden = false;
    looks.show(view.findings);
    const alone = Math.max(view.ranks.length, summary()?.ranks ?? 0) <= 1;
    all.dataset.alone = String(alone);
    curve.show({ name, curve: view.progress.loss_curve });
    ofCurve.hidden = !alone || curve.childElementCount === 0;
    numbers.show({ p: view.progress, ends: !goesOn(), alone });
    what.show({ run: view.run, folder: view.folder });
    ranks.update(view.ranks);
    ofRanks.hidden = view.ranks.length === 0;
    hosts.update(view.hosts);
    ofHosts.hidden = view.hosts.length === 0;
    ofLinks.hidden = alone;
    links.update(view.links);
    links.node.hidden = view.links.length === 0;
    noLinks.hidden = view.links.length > 0;
    events.update(view.events.slice(-lastEvents).reverse());
  }

  let seen = false;
  const off = live.watch(name, {
    view(view) {
      seen = true;
      show(view);
    },
  });
  // The first picture does not wait for the stream.
  if (!seen)
    api.get(api.run(name, 'view'), {}, { signal: stopping.signal }).then((view) => seen || show(view),
      (error) => isAbort(error) || seen || fill(waiting, failed(error)));

  return {
    unmount() {
      off();
      stopping.abort();
    },
  };
}
