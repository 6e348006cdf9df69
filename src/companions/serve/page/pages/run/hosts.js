// The hosts of a run and what their systems say.

import { bytes, count, isKnown, number, percent } from '../../format.js';
import { makeLiveTable } from '../../live_table.js';
import { t } from '../../texts.js';

function ranksOf(host) {
  const list = host.ranks;
  const inRow = list.length > 2 && list.every((rank, at) => at === 0 || rank === list[at - 1] + 1);
  return inRow ? `${list[0]}–${list.at(-1)}` : list.join(', ');
}

const said = (value, text) => (isKnown(value) ? text(value) : '–');

function troubles(host) {
  const all = [];
  if (host.throttles > 0) all.push(t('host.throttled', { n: count(host.throttles) }));
  if (host.quota_throttled_share > 0.01) all.push(t('host.quota', { share: percent(host.quota_throttled_share) }));
  if (host.swap_pages_per_second > 1) all.push(t('host.swaps', { n: count(host.swap_pages_per_second) }));
  if (host.link_errors > 0) all.push(t('host.link_errors', { n: count(host.link_errors) }));
  if (host.memory_kills > 0) all.push(t('host.kills', { n: count(host.memory_kills) }));
  return all.join(', ') || '–';
}

export function makeHostTable() {
  const vital = (name, text) => (host) => said(host.vitals?.[name], text);
  return makeLiveTable({
    caption: t('run.hosts.title'), className: 'hosts', keyOf: (host) => host.host,
    columns: [
      { id: 'host', head: t('host.host'), rowHead: true, class: 'anywhere', show: (host) => host.host },
      { id: 'ranks', head: t('host.ranks'), show: ranksOf },
      {
        id: 'load', head: t('host.load'), n: true,
        show: (host) => (isKnown(host.vitals?.load) ? t('host.load_of', { load: number(host.vitals.load, 3), cores: said(host.vitals.cores, count) }) : '–'),
      },
      { id: 'clock', head: t('host.clock'), n: true, show: vital('clock_hertz', (hertz) => `${number(hertz / 1e9, 3)} GHz`) },
      { id: 'heat', head: t('host.heat'), n: true, show: vital('temperature_celsius', (degrees) => `${number(degrees, 3)} °C`) },
      {
        id: 'memory', head: t('host.memory'), n: true,
        show: (host) => (isKnown(host.vitals?.available_bytes)
          ? t('host.free_of', { free: bytes(host.vitals.available_bytes), all: bytes(host.vitals.memory_bytes) }) : '–'),
      },
      { id: 'disk', head: t('host.disk'), n: true, show: vital('disk_free_bytes', bytes) },
      {
        id: 'pressure', head: t('host.pressure'), n: true,
        show: (host) => (isKnown(host.vitals?.pressure_cpu)
          ? ['pressure_cpu', 'pressure_memory', 'pressure_io'].map((name) => said(host.vitals[name], (value) => number(value, 2))).join(' / ') : '–'),
      },
      { id: 'troubles', head: t('host.troubles'), show: troubles },
    ],
  });
}
