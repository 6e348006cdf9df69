// What a form begins with: nothing, the settings of a run, or those of a file.

import { draftOfSettings, freeName, isSame, newDraft, withoutFilledIn } from './model.js';

// Files below the root by their short names, as the choices have them.
function shortened(settings, root) {
  const result = { ...settings };
  for (const key of ['model.path', 'model.base', 'lora.path', 'data.train', 'data.valid', 'data.tokenizer'])
    if (result[key]?.startsWith(`${root}/`)) result[key] = result[key].slice(root.length + 1);
  return result;
}

// What there is only one of is chosen already. What runs have exported comes and goes with them and does not count.
const isExport = (model) => /\/exports\/[^/]+$/.test(model.path);

export function freshDraft({ models: all, data }, names) {
  const own = all.filter((model) => !isExport(model));
  const models = own.length > 0 ? own : all;
  const draft = newDraft(freeName('tune', names));
  if (models.length === 0) Object.assign(draft, { task: 'scratch', name: freeName('scratch', names) });
  if (models.length === 1) draft.settings['model.path'] = models[0].path;
  if (data.length === 1) draft.settings['data.train'] = data[0].path;
  return draft;
}

// Throws the file's errors, a line each.
async function read(yaml, { api, session }, signal) {
  const { settings, errors, notes } = await api.post('form', { yaml }, { signal });
  if (errors.length > 0) throw new Error(errors.join('\n'));
  return { settings: shortened(settings, session.root), notes };
}

const differing = (settings, { byKey }) =>
  Object.entries(settings).filter(([key, text]) => byKey.has(key) && !isSame(byKey.get(key), text, byKey.get(key).default)).length;

// of: {name, processes} of the new draft. Returns {draft, notes, count}: of the settings that differ from the table's defaults.
export async function draftOfFile(yaml, { catalog, choices }, of, context, signal) {
  const { settings, notes } = await read(yaml, context, signal);
  return { draft: draftOfSettings(settings, catalog, of, choices), notes, count: differing(settings, catalog) };
}

export async function draftLikeRun(name, runs, { catalog, choices }, context, signal) {
  const { yaml, launched } = await context.api.get(context.api.run(name, 'config'), {}, { signal });
  const base = name.replace(/.*\//, '').replace(/-\d+$/, '');
  const of = {
    name: freeName(base, runs.map((run) => run.name)), processes: Math.max(1, runs.find((run) => run.name === name)?.ranks ?? 1),
  };
  if (yaml === null && launched === null) return { ...freshDraft(choices, []), ...of };
  const { settings } = await read(yaml ?? launched, context, signal);
  const given = launched ? (await read(launched, context, signal)).settings : null;
  return draftOfSettings(withoutFilledIn(settings, given), catalog, of, choices);
}
