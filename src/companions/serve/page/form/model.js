// The form as a value: what somebody has chosen, and what of it is sent. No element of the page is known here.
//
// A draft: {name, processes, task, length, known, settings}. `settings` has what was typed or came from a file, by key, as texts; what was
// left open has the values of advice.js, else the table's defaults.

import { adviceOf, essentialsOf, isOwned, isOwnedByOther, taskOf } from './advice.js';

const refused = new Set(['train.out', 'log.on_event']);  // by the server: the name is the folder, and a page starts no commands

// From the answer of /api/settings: sections with their settings, and every setting by its key.
export function catalogOf(answer) {
  const sections = answer.sections.map((section) => ({
    ...section,
    settings: section.settings.filter((setting) => !refused.has(setting.key)),
  }));
  const byKey = new Map(sections.flatMap((section) => section.settings.map((setting) => [setting.key, setting])));
  return { sections, byKey };
}

// "" and "null" both say that nothing is stated.
const plain = (text) => (text === null || text === undefined || text === 'null' ? '' : String(text).trim());

export function isSame(setting, a, b) {
  const [x, y] = [plain(a), plain(b)];
  if (x === y) return true;
  if (x === '' || y === '') return false;
  if (setting.type === 'integer' || setting.type === 'number') return Number(x) === Number(y);
  if (setting.type === 'list') return x.replace(/\s/g, '') === y.replace(/\s/g, '');
  return false;
}

export function newDraft(name) {
  return { name, processes: 1, task: 'tune', settings: {} };
}

// What the folder of a model says: the shapes and formulas, which nothing may contradict, and what may be stated otherwise.
const decided = new Set(['architecture', 'hidden', 'heads', 'kv_heads', 'head_dim', 'ffn', 'vocab', 'rope_theta', 'rope_scaling', 'rope_factor',
  'rope_low_freq_factor', 'rope_high_freq_factor', 'rope_original_positions', 'norm_eps', 'tie_embeddings'].map((name) => `model.${name}`));
const begun = new Set(['model.layers', 'model.max_positions', 'model.init_std']);

export const isDecided = (draft, key) => draft.task !== 'scratch' && decided.has(key);
export const isOfFolder = (draft, key) => draft.task !== 'scratch' && (decided.has(key) || begun.has(key));

// What a setting has where nobody touches it.
export function offeredValue(draft, setting) {
  if (isOfFolder(draft, setting.key)) return '';
  const advice = adviceOf(draft);
  return setting.key in advice ? advice[setting.key] : plain(setting.default);
}

export function valueOf(draft, setting) {
  if (isDecided(draft, setting.key)) return '';
  return setting.key in draft.settings ? draft.settings[setting.key] : offeredValue(draft, setting);
}

// What has no value to begin with: somebody must choose.
const required = ['model.path', 'data.train'];

export function missingOf(draft, catalog) {
  return required.filter((key) => !isOwnedByOther(draft.task, key) && plain(valueOf(draft, catalog.byKey.get(key))) === '');
}

export function isChanged(draft, setting) {
  return setting.key in draft.settings && !required.includes(setting.key) && !isDecided(draft, setting.key) &&
    !isSame(setting, draft.settings[setting.key], offeredValue(draft, setting));
}

// What says how long: 'train.steps' or 'train.epochs'; as chosen, whatever is being typed, else what counts by the values.
export function lengthOf(draft, catalog) {
  return draft.length ?? (Number(valueOf(draft, catalog.byKey.get('train.steps'))) > 0 ? 'train.steps' : 'train.epochs');
}

// Steps, where there are any, make passes over the data meaningless.
function isOutweighed(draft, key, catalog) {
  return key === 'train.epochs' && lengthOf(draft, catalog) === 'train.steps';
}

export function chooseLength(draft, catalog, key) {
  const steps = catalog.byKey.get('train.steps');
  draft.length = key;
  delete draft.settings['train.steps'];
  const value = Number(valueOf(draft, steps));
  if (key === 'train.epochs' && value > 0) setValue(draft, steps, '0');
  if (key === 'train.steps' && !(value > 0)) setValue(draft, steps, '100');
}

function isSent(draft, setting, catalog) {
  const { key } = setting;
  if (isOfFolder(draft, key)) return plain(valueOf(draft, setting)) !== '';
  return !isOwnedByOther(draft.task, key) && !isOutweighed(draft, key, catalog) && !isSame(setting, valueOf(draft, setting), setting.default);
}

// What the server knows of the model and the data that were chosen, for advice.js.
export function noteChoices(draft, { models, data }) {
  const model = models.find((one) => one.path === draft.settings['model.path']);
  const records = data.find((one) => one.path === draft.settings['data.train'])?.lines;
  draft.known = { chats: model?.chat_template, modelBytes: model?.bytes, records };
}

// Keeps a draft free of values that are as they would be anyway.
export function setValue(draft, setting, text) {
  if (isSame(setting, text, offeredValue(draft, setting))) {
    delete draft.settings[setting.key];
  } else {
    draft.settings[setting.key] = String(text).trim();
  }
}

// The body of POST /api/plan and POST /api/runs: what is not as the program has it by itself.
export function formOf(draft, catalog) {
  const settings = {};
  for (const [key, setting] of catalog.byKey) {
    if (isSent(draft, setting, catalog)) settings[key] = plain(valueOf(draft, setting));
  }
  return { name: draft.name.trim(), processes: draft.processes, settings };
}

// The part of it that says what the data look like to the model; null while there are none to look at.
export function dataFormOf(draft, catalog) {
  if (missingOf(draft, catalog).length > 0) return null;
  const form = formOf(draft, catalog);
  const shows = (key) => /^(data|model|lora)\./.test(key) || key === 'batch.seq_len';
  return { processes: 1, settings: Object.fromEntries(Object.entries(form.settings).filter(([key]) => shows(key))) };
}

// Settings that follow from others in a file that states everything, and would contradict them in another layout.
const derived = ['batch.microbatches', 'batch.batch_size', 'batch.num_microbatches', 'batch.accumulation', 'batch.total_batch_size'];

function dropDerived(settings, processes) {
  const drop = (keys) => {
    for (const key of keys) delete settings[key];
  };
  const number = (key) => Number(settings[key] ?? 0);
  if ('batch.micro_batch_size' in settings && 'batch.global_batch_size' in settings) drop(derived);
  if (number('parallel.dp') === processes) drop(['parallel.dp']);
  if (number('optimizer.warmup_steps') === Math.round(number('optimizer.warmup_ratio') * number('train.steps'))) drop(['optimizer.warmup_steps']);
  if ('model.path' in settings) drop([...decided, 'model.init_std']);
  if (settings['data.tokenizer'] !== undefined && settings['data.tokenizer'] === settings['model.path']) drop(['data.tokenizer']);
}

// A small number as people write it: 0.00002 is 2e-5.
function asTyped(setting, text) {
  const number = Number(text);
  return setting.type === 'number' && number > 0 && number < 0.01 ? number.toExponential() : text;
}

// choices: what the advice for what is left open knows of the model and the data. What differs from that advice is stated.
export function draftOfSettings(settings, catalog, { name, processes }, choices = { models: [], data: [] }) {
  const draft = { name, processes, task: taskOf(settings), settings: {} };
  for (const [key, setting] of catalog.byKey) {
    if (key in settings && !isSame(setting, settings[key], setting.default)) draft.settings[key] = asTyped(setting, plain(settings[key]));
  }
  dropDerived(draft.settings, processes);
  noteChoices(draft, choices);
  for (const key of Object.keys(adviceOf(draft))) {
    const setting = catalog.byKey.get(key);
    if (setting !== undefined && !isOwnedByOther(draft.task, key)) setValue(draft, setting, draft.settings[key] ?? plain(setting.default));
  }
  return draft;
}

// Of what the last attempt of a run had, what it was given: the program fills in the rest. launched: the settings that it was started with,
// or null where nothing tells.
export function withoutFilledIn(settings, launched) {
  const result = { ...settings };
  const drop = (...keys) => {
    for (const key of keys) if (launched === null || !(key in launched)) delete result[key];
  };
  if (launched !== null) {
    drop('train.steps', 'train.threads', 'optimizer.warmup_steps', 'optimizer.min_lr', 'batch.micro_batch_size', 'parallel.dp', 'data.tokenizer',
      'model.layers', 'model.max_positions', ...derived);
  } else if (Number(result['train.epochs'] ?? 1) !== 1) {
    drop('train.steps');
  }
  return result;
}

// Of a setting that is not among the few above: whether it stands in a section below.
export function isInSection(draft, key) {
  return !isOwned(key) && !essentialsOf(draft.task).includes(key);
}

const layoutKeys = {
  'parallel.dp': 'dp', 'parallel.pp': 'pp', 'parallel.tp': 'tp', 'parallel.cp': 'cp', 'parallel.zero': 'zero',
  'parallel.schedule': 'schedule', 'parallel.virtual_stages': 'virtual_stages', 'parallel.recompute': 'recompute',
  'parallel.offload': 'offload', 'batch.micro_batch_size': 'micro_batch_size', 'batch.global_batch_size': 'global_batch_size',
  'precision.compute': 'precision',
};
// Go with one layout alone.
const ofOneLayout = ['parallel.stage_layers', 'parallel.stage_costs', 'parallel.shares', 'parallel.schedule_file', ...derived];

export function takeLayout(draft, catalog, layout) {
  for (const key of ofOneLayout) delete draft.settings[key];
  for (const [key, name] of Object.entries(layoutKeys)) {
    if (catalog.byKey.has(key) && name in layout) setValue(draft, catalog.byKey.get(key), String(layout[name]));
  }
}

// Leaves the layout to choice again; the batch and the precision stay.
export function openLayout(draft, catalog) {
  for (const [key] of Object.entries(layoutKeys)) {
    if (key.startsWith('parallel.') && catalog.byKey.has(key)) delete draft.settings[key];
  }
  for (const key of ofOneLayout) delete draft.settings[key];
}

export function hasLayout(draft) {
  return Object.keys(draft.settings).some((key) => key in layoutKeys && key.startsWith('parallel.'));
}

// Sentences of errors, each under the setting that it names first: {byKey: Map, others: [...]}.
export function placeErrors(sentences, catalog) {
  const byKey = new Map(), others = [];
  for (const sentence of sentences) {
    const key = keyIn(sentence, catalog);
    if (key === null) {
      others.push(sentence);
    } else {
      byKey.set(key, [...(byKey.get(key) || []), sentence]);
    }
  }
  return { byKey, others };
}

function keyIn(sentence, catalog) {
  for (const word of sentence.matchAll(/[a-z]+\.[a-z0-9_-]+/g)) {
    const key = word[0].replaceAll('-', '_');
    if (catalog.byKey.has(key)) return key;
  }
  return null;
}

// "tune-1", or the next that no run has.
export function freeName(base, names) {
  for (let number = 1; ; ++number) {
    if (!names.includes(`${base}-${number}`)) return `${base}-${number}`;
  }
}

// What is wrong with a name, as the server would say; the key of a text, or null.
export function nameFault(name, names) {
  if (name.trim() === '') return 'form.name.empty';
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/.test(name.trim())) return 'form.name.letters';
  return names.includes(name.trim()) ? 'form.name.taken' : null;
}

// How many steps the run will have: {steps, exact}, steps null where that is not known. A fine-tuning takes a record of the data for a
// sequence, unless it packs several into one.
export function stepsOf(draft, catalog, data, sequencesOfStep) {
  const value = (key) => valueOf(draft, catalog.byKey.get(key));
  if (lengthOf(draft, catalog) === 'train.steps') return { steps: Number(value('train.steps')), exact: true };
  const records = data.find((choice) => choice.path === value('data.train'))?.lines;
  const packing = catalog.byKey.get('data.packing');
  const packs = packing !== undefined && valueOf(draft, packing) === 'true';
  if (draft.task === 'scratch' || packs || records === undefined || !(sequencesOfStep > 0)) return { steps: null, exact: false };
  return { steps: Math.max(1, Math.floor((records * Number(value('train.epochs'))) / sequencesOfStep)), exact: false };
}
