// A conversation with the newest checkpoint of a run.

import { api, isAbort } from '../../api.js';
import { append, clear, el, fill, freshId } from '../../dom.js';
import { count } from '../../format.js';
import { busy, copyBox, empty, failed, note, panel, shellWord } from '../../parts.js';
import { t } from '../../texts.js';

const usualTokens = 256;
const mostTokens = 4096;

function turnPart(who, text, more = null) {
  return el('div', { class: 'chat-turn', dataset: { who } },
    el('span', { class: 'chat-who' }, t(who === 'user' ? 'chat.you' : 'chat.model')),
    el('p', { class: 'chat-text' }, text), more);
}

export function mount(parent, { run: name, session, onSummary }) {
  const stopping = new AbortController();
  const messages = [];
  let answering = false;

  const log = el('div', { class: 'chat-log', role: 'log', 'aria-label': t('chat.log'), tabindex: 0 });
  const told = el('div', { role: 'status' });
  const ids = { message: freshId('chat'), tokens: freshId('chat'), hint: freshId('chat') };
  const message = el('textarea', {
    id: ids.message, rows: 3, 'aria-describedby': ids.hint,
    onkeydown: (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      send();
    },
  });
  const tokens = el('input', { id: ids.tokens, type: 'number', min: 1, max: mostTokens, value: usualTokens });
  const sendButton = el('button', { type: 'submit', class: 'primary', dataset: { action: 'chat' } }, t('chat.send'));
  const form = el('form', { class: 'stacked', onsubmit: (event) => { event.preventDefault(); send(); } },
    el('label', { for: ids.message }, t('chat.message')), message,
    el('p', { id: ids.hint, class: 'muted' }, t('chat.stop_hint')),
    el('div', { class: 'toolbar' }, sendButton,
      el('button', { type: 'button', class: 'quiet', onclick: begin }, t('chat.new')),
      el('label', { for: ids.tokens }, t('chat.tokens')), tokens));
  const none = el('div', { hidden: true }, empty(t('chat.none')));
  const terminal = el('div', {});
  append(parent, [el('div', { class: 'stacked' },
    panel(t('run.tab.chat'), el('p', { class: 'muted' }, t('chat.how')),
      session.view_only ? note('info', t('chat.view_only')) : [none, log, told, form]),
    terminal)]);

  function begin() {
    messages.length = 0;
    clear(log);
    clear(told);
    message.focus();
  }

  function add(part) {
    log.append(part);
    log.scrollTop = log.scrollHeight;
  }

  async function send() {
    const text = message.value.trim();
    if (text === '' || answering) return;
    answering = true;
    sendButton.disabled = true;
    const asked = { role: 'user', content: text };
    add(turnPart('user', text));
    message.value = '';
    fill(told, busy(t('chat.busy')));
    try {
      const most = Math.min(mostTokens, Math.max(1, Math.round(Number(tokens.value)) || usualTokens));
      const answer = await api.post(api.run(name, 'chat'), { messages: [...messages, asked], max_new_tokens: most },
        { signal: stopping.signal });
      messages.push(asked, { role: 'assistant', content: answer.text });
      add(turnPart('assistant', answer.text,
        answer.finish === 'length' ? el('span', { class: 'muted' }, t('chat.cut', { n: count(answer.tokens) })) : null));
      clear(told);
    } catch (error) {
      if (isAbort(error)) return;
      log.lastElementChild?.remove();
      message.value = text;
      fill(told, failed(error));
    } finally {
      answering = false;
      sendButton.disabled = false;
    }
    message.focus();
  }

  const offSummary = onSummary((summary) => {
    none.hidden = summary.can.includes('export');
    if (terminal.childElementCount === 0)
      append(terminal, [copyBox(`troika chat ${shellWord(summary.folder)}`, t('chat.terminal'))]);
  });
  return {
    unmount() {
      offSummary();
      stopping.abort();
    },
  };
}
