// What every rank did in a step: ranks one below the other, time to the right.

import { onTheme, stylesheet } from '../charts.js';
import { el, fill, freshId, setText } from '../dom.js';
import { bytes, count, percent, seconds } from '../format.js';
import { kinds, lanesOf, sharesOf, transferKind } from '../grid/model.js';
import { paintSample } from '../grid/painter.js';
import { GridView } from '../grid/view.js';
import { empty, failed, note, panel, table } from '../parts.js';

function legend(t) {
  const samples = kinds.map((kind) => [kind, el('canvas', { 'aria-hidden': 'true' })]);
  const paint = () => samples.forEach(([kind, canvas]) => paintSample(canvas, kind));
  const node = el('ul', { class: 'plain grid-legend' }, samples.map(([kind, canvas]) => el('li', {}, canvas, t(`grid.kind.${kind.key}`))));
  return { node, paint };
}

function sharesTable(t, lanes, whole) {
  const share = (part) => el('td', { class: 'n' }, percent(whole > 0 ? part / whole : null, 1));
  const shown = kinds.map((kind, k) => ({ kind, k })).filter(({ k }) => k !== transferKind);
  const rows = lanes.map((lane) => {
    const { sums, idle } = sharesOf(lane, whole);
    return el('tr', {}, el('th', { scope: 'row', class: 'n' }, count(lane.rank)), el('td', {}, lane.host),
      shown.map(({ k }) => share(sums[k])), share(idle));
  });
  return table(t('grid.shares'), [{ text: t('grid.rank'), n: true }, { text: t('grid.host') },
    ...shown.map(({ kind }) => ({ text: t(`grid.kind.${kind.key}`), n: true })), { text: t('grid.kind.idle'), n: true }], rows);
}

function sentence(t, lanes, { lane, track, i }) {
  const { rank, host } = lanes[lane];
  const events = lanes[lane][track];
  const told = t('grid.told', {
    rank: count(rank), host, kind: t(`grid.kind.${kinds[events.kinds[i]].key}`), instruction: events.texts[i],
    begin: seconds(events.begins[i]), length: seconds(events.ends[i] - events.begins[i]),
  });
  return events.bytes[i] > 0 ? `${told} ${t('grid.told.bytes', { bytes: bytes(events.bytes[i]) })}` : told;
}

export function mount(parent, { run, api, t }) {
  const ids = { help: freshId('grid-help'), step: freshId('grid-step') };
  const told = el('p', { class: 'grid-told', role: 'status' }, t('grid.pick'));
  const remark = el('div', {});
  const title = el('h2', {});
  const room = el('div', { class: 'grid-room' });
  const shares = el('div', {});
  const steps = el('select', { id: ids.step, onchange: () => read(Number(steps.value)) });
  const words = legend(t);
  let lanes = [];
  let asked = 0;
  let gone = false;

  const grid = new GridView(room, { label: t('grid.chart'), describedBy: ids.help },
    { told: (event) => setText(told, event === null ? t('grid.pick') : sentence(t, lanes, event)) });
  const button = (how, sign) => el('button', {
    type: 'button', class: 'quiet', title: t(`grid.zoom.${how}`), 'aria-label': t(`grid.zoom.${how}`), onclick: () => grid.step(how),
  }, sign);
  const stepChoice = el('span', { class: 'control' }, el('label', { for: ids.step }, t('grid.step')), steps);
  const node = el('div', { class: 'grid-page' },
    el('div', { class: 'toolbar' }, stepChoice, el('button', { type: 'button', class: 'quiet', onclick: () => read(null) }, t('grid.again')),
      el('span', { class: 'control', role: 'group', 'aria-label': t('grid.zoom') },
        button('in', '+'), button('out', '−'), button('left', '←'), button('right', '→'),
        el('button', { type: 'button', class: 'quiet', onclick: () => grid.step('whole') }, t('grid.zoom.whole')))),
    remark, el('section', { class: 'panel' }, title, words.node, room, told, el('p', { id: ids.help, class: 'muted' }, t('grid.help'))),
    panel(t('grid.shares'), shares));
  parent.append(node);

  function show(answer) {
    const { step, simulated = false, notes = [] } = answer;
    lanes = lanesOf(answer);
    stepChoice.hidden = answer.steps.length === 0;
    fill(steps, answer.steps.map((one) => el('option', { value: one }, count(one))));
    steps.value = String(step);
    fill(remark, simulated ? note('info', t('grid.simulated')) : null, notes.map((text) => note('info', text)));
    setText(title, t(step === null ? 'grid.title.any' : 'grid.title', { step: count(step), seconds: seconds(answer.seconds) }));
    setText(told, t('grid.pick'));
    grid.show(lanes, answer.seconds);
    fill(shares, lanes.length === 0 ? empty(t('grid.none')) : sharesTable(t, lanes, answer.seconds));
  }

  // Null: the last one.
  async function read(step) {
    asked += 1;
    const mine = asked;
    try {
      const answer = await api.get(api.run(run, 'grid'), { step });
      if (mine === asked && !gone) show(answer);
    } catch (error) {
      if (mine === asked && !gone) fill(remark, failed(error));
    }
  }

  const off = onTheme(() => {
    grid.recolour();
    words.paint();
  });
  stylesheet('charts.css').catch(() => {}).then(() => {
    if (gone) return;
    words.paint();
    grid.draw();
  });
  read(null);
  return {
    unmount() {
      gone = true;
      off();
      grid.destroy();
      node.remove();
    },
  };
}
