// A conversation with a checkpoint of a run.

import { api, isAbort } from '../../api.js';
import { append, clear, el, fill, freshId } from '../../dom.js';
import { count } from '../../format.js';
import { busy, copyBox, empty, failed, note, panel, shellWord } from '../../parts.js';
import { t } from '../../texts.js';

const usualTokens = 256;
const mostTokens = 4096;

// By run: they stay while the page is open, whatever else is looked at meanwhile.
const conversations = new Map();

function turnPart({ role, content, step, finish, tokens }) {
  return el('div', { class: 'chat-turn', dataset: { who: role } },
    el('span', { class: 'chat-who' }, role === 'user' ? t('chat.you') : t('chat.model_of', { step: count(step) })),
    el('p', { class: 'chat-text' }, content),
    finish === 'length' ? el('span', { class: 'muted' }, t('chat.cut', { n: count(tokens) })) : null);
}

function numberField(label, props) {
  const id = freshId('chat');
  const input = el('input', { id, type: 'number', ...props });
  return { input, node: el('span', { class: 'chat-field' }, el('label', { for: id }, label), input) };
}

export function mount(parent, { run: name, session, onSummary }) {
  const stopping = new AbortController();
  if (!conversations.has(name)) conversations.set(name, []);
  const turns = conversations.get(name);
  let answering = null;  // stops the answer that is being waited for

  const log = el('div', { class: 'chat-log', role: 'log', 'aria-label': t('chat.log'), tabindex: 0 }, turns.map(turnPart));
  const told = el('div', { role: 'status' });
  const ids = { message: freshId('chat'), hint: freshId('chat'), before: freshId('chat'), checkpoint: freshId('chat') };
  const message = el('textarea', {
    id: ids.message, rows: 3, 'aria-describedby': ids.hint,
    onkeydown: (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      send();
    },
  });
  const checkpoint = el('select', { id: ids.checkpoint });
  const tokens = numberField(t('chat.tokens'), { min: 1, max: mostTokens, value: usualTokens });
  const temperature = numberField(t('chat.temperature'), { min: 0, max: 100, step: 'any', placeholder: t('chat.of_model') });
  const before = el('input', { id: ids.before, type: 'checkbox', checked: true });
  const sendButton = el('button', { type: 'submit', class: 'primary', dataset: { action: 'chat' } }, t('chat.send'));
  const stopButton = el('button', { type: 'button', hidden: true, onclick: () => answering?.abort() }, t('chat.stop'));
  const form = el('form', { class: 'chat-form', onsubmit: (event) => { event.preventDefault(); send(); } },
    el('label', { for: ids.message }, t('chat.message')), message,
    el('p', { id: ids.hint, class: 'muted' }, t('chat.stop_hint')),
    el('div', { class: 'toolbar' }, sendButton, stopButton,
      el('button', { type: 'button', class: 'quiet', onclick: begin }, t('chat.new')),
      el('span', { class: 'chat-field' }, before, el('label', { for: ids.before }, t('chat.before')))),
    el('div', { class: 'toolbar' },
      el('span', { class: 'chat-field' }, el('label', { for: ids.checkpoint }, t('chat.checkpoint')), checkpoint),
      tokens.node, temperature.node));
  const none = el('div', { hidden: true }, empty(t('chat.none')));
  const terminal = el('div', {});
  append(parent, [el('div', { class: 'stacked' },
    panel(t('run.tab.chat'), el('p', { class: 'muted' }, t('chat.how')),
      session.view_only ? note('info', t('chat.view_only')) : [none, log, told, form]),
    terminal)]);

  async function loadCheckpoints() {
    try {
      const all = await api.get(api.run(name, 'checkpoints'), {}, { signal: stopping.signal });
      const complete = all.filter((one) => one.complete);
      none.hidden = complete.length > 0;
      const chosen = checkpoint.value;
      fill(checkpoint, el('option', { value: '' }, t('chat.newest')),
        complete.map((one) => el('option', { value: one.step }, t('chat.step', { step: count(one.step) }))));
      checkpoint.value = complete.some((one) => String(one.step) === chosen) ? chosen : '';
    } catch (error) {
      if (!isAbort(error)) fill(told, failed(error));
    }
  }

  function begin() {
    turns.length = 0;
    clear(log);
    clear(told);
    message.focus();
  }

  function add(turn) {
    turns.push(turn);
    log.append(turnPart(turn));
    log.scrollTop = log.scrollHeight;
  }

  function asked(turn) {
    const said = before.checked ? turns : [turn];
    return {
      messages: said.map(({ role, content }) => ({ role, content })),
      max_new_tokens: Math.min(mostTokens, Math.max(1, Math.round(Number(tokens.input.value)) || usualTokens)),
      step: checkpoint.value === '' ? null : Number(checkpoint.value),
      temperature: temperature.input.value === '' ? null : Number(temperature.input.value),
    };
  }

  function wait(waits) {
    sendButton.disabled = waits;
    stopButton.hidden = !waits;
    fill(told, waits ? busy(t('chat.busy')) : null);
  }

  function takeBack(text) {
    turns.pop();
    log.lastElementChild?.remove();
    message.value = text;
  }

  async function send() {
    const text = message.value.trim();
    if (text === '' || answering !== null) return;
    answering = new AbortController();
    const leave = () => answering?.abort();
    stopping.signal.addEventListener('abort', leave, { once: true });
    add({ role: 'user', content: text });
    message.value = '';
    wait(true);
    let wrong = null;
    try {
      const answer = await api.post(api.run(name, 'chat'), asked(turns.at(-1)), { signal: answering.signal });
      add({ role: 'assistant', content: answer.text, step: answer.step, finish: answer.finish, tokens: answer.tokens });
    } catch (error) {
      takeBack(text);
      wrong = isAbort(error) ? null : error;
    }
    stopping.signal.removeEventListener('abort', leave);
    answering = null;
    wait(false);
    if (wrong !== null) fill(told, failed(wrong));
    message.focus();
  }

  let can = '';
  const offSummary = onSummary((summary) => {
    if (terminal.childElementCount === 0)
      append(terminal, [copyBox(`troika chat ${shellWord(summary.folder)}`, t('chat.terminal'))]);
    const key = `${summary.state} ${summary.can.join(' ')}`;
    if (key === can) return;
    can = key;
    loadCheckpoints();
  });
  checkpoint.addEventListener('focus', loadCheckpoints);
  return {
    unmount() {
      offSummary();
      stopping.abort();
    },
  };
}
