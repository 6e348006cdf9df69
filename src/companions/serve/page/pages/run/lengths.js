// How long the samples of a run are, and what padding them would have cost.

import { el } from '../../dom.js';
import { count, isKnown, number, percent } from '../../format.js';
import { note, panel, stackedBar } from '../../parts.js';
import { t } from '../../texts.js';
import { barsOf } from './length_bars.js';

const told = 1.005;  // padding below is none

function barOf({ from, to, samples, of, share }) {
  const head = t('lengths.bin', { from: count(from), to: count(to) });
  return el('div', { class: 'memory-bar' }, el('span', {}, head),
    stackedBar([{ kind: 'compute', word: head, share: 1, said: t('lengths.samples', { n: count(samples) }) }], { label: head, of, words: 'none' }),
    el('span', { class: 'total' }, `${count(samples)} `, el('small', {}, percent(share, 1))));
}

// null: every sample is full, or the run is of an older version.
export function lengthsPanel(lengths) {
  if (!lengths || !(lengths.counted > 0)) return null;
  const padded = (name, times, work) => (isKnown(times) && times >= told ? el('p', {}, t(name, { times: number(times, 3), work: number(work, 3) })) : null);
  return panel(t('lengths.title'),
    lengths.counted < lengths.samples ? note('info', t('lengths.part', { counted: count(lengths.counted), all: count(lengths.samples) })) : null,
    el('p', {}, t('lengths.said', { n: count(lengths.samples), from: count(lengths.shortest), to: count(lengths.longest), median: count(lengths.median),
      ninety: count(lengths.p90), limit: count(lengths.seq_len) })),
    el('p', {}, t('lengths.microbatch', { from: count(lengths.least_tokens), to: count(lengths.most_tokens), mean: count(lengths.mean_tokens) })),
    el('div', { class: 'memory-bars length-bars' }, barsOf(lengths).map(barOf)),
    padded('lengths.longest', lengths.longest_positions, lengths.longest_work),
    padded('lengths.full', lengths.full_positions, lengths.full_work));
}
