// The ranks of a run: what each does now, who waits for whom, and what the last minute went into.

import { el } from '../../dom.js';
import { bytes, count, isKnown, percent, rate, seconds } from '../../format.js';
import { makeLiveTable } from '../../live_table.js';
import { stackedBar, stateMark } from '../../parts.js';
import { t } from '../../texts.js';

const axes = ['dp', 'pp', 'tp', 'cp'];
const shares = ['forward', 'backward', 'wait', 'optimizer', 'load', 'save', 'other'];
const held = ['parameters', 'gradients', 'state', 'activations', 'snapshot'];

function coordinates(rank, used) {
  return used.map((axis) => `${axis} ${rank[axis]}`).join(' ') || '–';
}

function doing(rank) {
  if (rank.standing === 'silent') return t('rank.silent', { span: seconds(rank.silent_seconds) });
  if (['unheard', 'ended'].includes(rank.standing) || !rank.where) return '';
  return t('rank.where', { where: rank.where, span: seconds(rank.seconds) });
}

function chainOf(rank) {
  if (rank.standing !== 'waits') return '';
  const chain = (rank.waits_for ?? []).map((peer) => (peer < 0 ? t('rank.others') : peer));
  return `${chain.length === 0 ? t('rank.others') : chain.join(' → ')}${rank.circle ? ` ${t('rank.circle')}` : ''}`;
}

function doesCell(rank) {
  const said = doing(rank);
  return {
    key: `${rank.standing} ${said} ${rank.slow} ${rank.standing !== 'waits' && rank.held}`,
    make: () => [
      el('div', {}, stateMark(rank.standing, t(`rank.${rank.standing}_word`)), ' ', said),
      rank.slow ? el('span', { class: 'badge warn' }, isKnown(rank.slowness) && rank.slowness > 1
        ? t('rank.slow_by', { times: rank.slowness.toFixed(1) }) : t('rank.slow')) : null,
      rank.slow ? ' ' : null,
      rank.standing !== 'waits' && rank.held > 0 ? el('span', { class: 'badge' }, t('rank.held', { n: count(rank.held) })) : null,
    ],
  };
}

function sharesCell(rank) {
  if (rank.shares === undefined) return '–';
  const parts = shares.map((kind) => ({ kind, word: t(`share.${kind}`), share: rank.shares[kind], said: percent(rank.shares[kind]) }));
  return {
    key: parts.map((part) => part.said).join(' '),
    make: () => stackedBar(parts, { label: t('rank.shares_of', { rank: rank.rank }) }),
  };
}

function memoryCell(rank) {
  if (rank.memory === undefined) return '–';
  const total = held.reduce((sum, kind) => sum + (rank.memory[kind] ?? 0), 0);
  if (total === 0) return '–';  // nothing has been said of it yet
  const said = bytes(total);
  return { key: said, make: () => el('span', { title: isKnown(rank.memory.resident) ? t('rank.resident', { bytes: bytes(rank.memory.resident) }) : null }, said) };
}

function traffic(rank) {
  return isKnown(rank.sent_per_second) || isKnown(rank.received_per_second)
    ? `${rate(rank.sent_per_second)} ↑ ${rate(rank.received_per_second)} ↓` : '–';
}

export function makeRankTable() {
  let used = [];
  const table = makeLiveTable({
    caption: t('run.ranks.title'), className: 'ranks', keyOf: (rank) => rank.rank,
    columns: [
      { id: 'rank', head: t('rank.rank'), rowHead: true, show: (rank) => String(rank.rank) },
      { id: 'host', head: t('rank.host'), class: 'anywhere', show: (rank) => rank.host },
      { id: 'at', head: t('rank.at'), class: 'nowrap of-many', show: (rank) => coordinates(rank, used) },
      { id: 'does', head: t('rank.does'), class: 'does whole', show: doesCell },
      { id: 'waits', head: t('rank.waits_for'), class: 'nowrap of-many', show: chainOf },
      { id: 'shares', head: t('rank.shares'), class: 'shares whole', show: sharesCell },
      { id: 'pace', head: t('rank.pace'), n: true, class: 'of-many', show: (rank) => seconds(rank.pace_seconds) },
      { id: 'memory', head: t('rank.memory'), n: true, show: memoryCell },
      { id: 'traffic', head: t('rank.traffic'), n: true, class: 'of-many', show: traffic },
    ],
    mark(row, rank) {
      row.dataset.rank = rank.rank;
      row.dataset.standing = rank.standing;
      row.dataset.look = String(rank.slow || rank.standing === 'silent' || rank.circle === true);
    },
  });
  return {
    node: table.node,
    update(ranks) {
      used = axes.filter((axis) => ranks.some((rank) => rank[axis] > 0));
      table.update(ranks);
    },
  };
}
