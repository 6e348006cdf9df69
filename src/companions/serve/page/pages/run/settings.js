// The settings of a run's last attempt as a file, and the command lines that do the same in a terminal.

import { api, isAbort } from '../../api.js';
import { append, el, fill } from '../../dom.js';
import { busy, copyBox, empty, failed, panel } from '../../parts.js';
import { t } from '../../texts.js';

export function mount(parent, { run: name, session }) {
  const stopping = new AbortController();
  const place = el('div', { class: 'stacked' }, busy());
  append(parent, [place]);

  api.get(api.run(name, 'config'), {}, { signal: stopping.signal }).then(
    ({ yaml, command, resume_command: resume }) => yaml === null ? fill(place, empty(t('config.none'))) : fill(place,
      panel(t('config.commands'), el('p', { class: 'muted' }, t('config.commands_how')),
        command ? copyBox(command, t('config.command')) : null, resume ? copyBox(resume, t('config.resume_command')) : null),
      panel(t('config.file'), copyBox(yaml, t('config.yaml')),
        session.view_only ? null : el('p', { class: 'toolbar' },
          el('a', { class: 'button', href: `#/new?from=${encodeURIComponent(name)}` }, t('config.use'))))),
    (error) => isAbort(error) || fill(place, failed(error)));

  return {
    unmount() {
      stopping.abort();
    },
  };
}
