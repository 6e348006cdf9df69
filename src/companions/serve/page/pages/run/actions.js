// What may be asked of a run: stop, resume, export. The server says by `can` what it would take.

import { api } from '../../api.js';
import { el, fill } from '../../dom.js';
import { hashOf } from '../../routes.js';
import { t } from '../../texts.js';

// told: {asked(what: 'stop' or 'resume'), answered(taken)}
export function makeActions({ session, say, ask }, name, told) {
  const node = el('div', { class: 'toolbar actions' });
  const buttons = new Map();
  let shown = null;
  let sending = false;
  let state = '';
  let can = [];

  const waits = (id) => id !== 'stop-now' && (sending || (id === 'stop-save' && state === 'stopping'));

  const offersForm = () => state === 'finished' || state === 'failed';

  // The same one each time, so that a press that has begun ends on it. One that waits keeps the keyboard's place: it is marked, not
  // disabled.
  function button(id, kind, act) {
    if (!buttons.has(id))
      buttons.set(id, el('button', { type: 'button', class: kind, dataset: { action: id }, onclick: () => waits(id) || act() }, t(`run.${id}`)));
    const one = buttons.get(id);
    if (waits(id)) one.setAttribute('aria-disabled', 'true');
    else one.removeAttribute('aria-disabled');
    return one;
  }

  function draw() {
    const key = `${can.join(' ')} ${state} ${sending}`;
    if (session.view_only || key === shown) return;
    const focused = node.contains(document.activeElement) ? document.activeElement.dataset.action : null;
    shown = key;
    const wanted = [
      ...can.includes('stop') ? [button('stop-save', '', actions.stopAfterSave), button('stop-now', 'danger', actions.stopNow)] : [],
      can.includes('export') ? button('export', '', () => actions.exportStep(null)) : null,
      // What is finished goes on only from an earlier checkpoint, which is chosen where they are.
      can.includes('resume') && state !== 'finished' ? button('resume', 'primary', () => actions.resume(null)) : null,
      offersForm() ? el('a', { class: 'button', href: hashOf('new', name), dataset: { action: 'again' } }, t(state === 'failed' ? 'run.again' : 'config.use')) : null,
    ].filter((one) => one !== null);
    if (wanted.length === node.children.length && wanted.every((one, at) => one === node.children[at])) return;
    fill(node, ...wanted);
    if (focused !== null) (node.querySelector(`[data-action="${focused}"]`) ?? node.querySelector('button'))?.focus();
  }

  // Sends it and says what came of it. True where it was taken.
  async function send(what, body, said) {
    sending = true;
    if (what !== 'export') told.asked(what);
    draw();
    let taken = false;
    try {
      const answer = await api.post(api.run(name, what), body);
      taken = true;
      say(said(answer));
      return answer ?? {};
    } catch (error) {
      say(error.message, 'error');
      return null;
    } finally {
      sending = false;
      draw();
      if (what !== 'export') told.answered(taken);
    }
  }

  const actions = {
    node,

    // Both of one moment: what the run is doing, and what may be asked of it.
    show(now) {
      state = now.state;
      can = now.can;
      draw();
    },

    may(what) {
      return !session.view_only && can.includes(what);
    },

    stopAfterSave() {
      return send('stop', { how: 'save' }, () => t('run.said.stop_save'));
    },

    async stopNow() {
      if (!await ask(t('run.ask.stop_now', { name }), t('run.stop-now'))) return null;
      return send('stop', { how: 'now' }, () => t('run.said.stop_now'));
    },

    // step: of a checkpoint, or null for the newest.
    async resume(step, last = null) {
      if (step !== null && last !== null && step < last && !await ask(t('run.ask.resume', { step, last }), t('run.resume'))) return null;
      return send('resume', { step }, () => (step === null ? t('run.said.resume') : t('run.said.resume_step', { step })));
    },

    exportStep(step) {
      return send('export', { step }, (answer) => t('run.said.export', { folder: answer?.folder ?? '' }));
    },
  };
  return actions;
}
