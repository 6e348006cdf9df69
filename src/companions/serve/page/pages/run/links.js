// Traffic between ranks, most first.

import { percent, rate } from '../../format.js';
import { makeLiveTable } from '../../live_table.js';
import { stackedBar } from '../../parts.js';
import { t } from '../../texts.js';

const mostLinks = 40;

export function makeLinkTable() {
  let most = 1;
  const table = makeLiveTable({
    caption: t('run.links.title'), className: 'links', keyOf: (link) => `${link.from} ${link.to}`,
    columns: [
      { id: 'link', head: t('link.link'), rowHead: true, class: 'nowrap', show: (link) => t('link.of', { from: link.from, to: link.to }) },
      {
        id: 'rate', head: t('link.rate'), class: 'rate',
        show: (link) => ({
          key: `${rate(link.bytes_per_second)} ${Math.round((link.bytes_per_second / most) * 50)}`,
          make: () => stackedBar([{ kind: 'transfer', word: '', share: 1, said: rate(link.bytes_per_second) }],
            { of: link.bytes_per_second / most }),
        }),
      },
      { id: 'waited', head: t('link.waited'), n: true, show: (link) => percent(link.waited_share) },
    ],
  });
  return {
    node: table.node,
    update(links) {
      most = Math.max(1, ...links.map((link) => link.bytes_per_second));
      table.update(links.slice(0, mostLinks));
    },
  };
}
