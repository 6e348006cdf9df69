// What a form begins with: nothing, the settings of a run, or those of a file.

import { draftOfSettings, freeName, newDraft } from './model.js';

// Files below the root by their short names, as the choices have them.
function shortened(settings, root) {
  const result = { ...settings };
  for (const key of ['model.path', 'model.base', 'lora.path', 'data.train', 'data.valid', 'data.tokenizer'])
    if (result[key]?.startsWith(`${root}/`)) result[key] = result[key].slice(root.length + 1);
  return result;
}

// What there is only one of is chosen already.
export function freshDraft({ models, data }, names) {
  const draft = newDraft(freeName('tune', names));
  if (models.length === 0) Object.assign(draft, { task: 'scratch', name: freeName('scratch', names) });
  if (models.length === 1) draft.settings['model.path'] = models[0].path;
  if (data.length === 1) draft.settings['data.train'] = data[0].path;
  return draft;
}

// of: {name, processes} of the new draft. Throws the file's errors, a line each. Returns {draft, notes}.
export async function draftOfFile(yaml, catalog, of, { api, session }, signal) {
  const { settings, errors, notes } = await api.post('form', { yaml }, { signal });
  if (errors.length > 0) throw new Error(errors.join('\n'));
  return { draft: draftOfSettings(shortened(settings, session.root), catalog, of), notes };
}

export async function draftLikeRun(name, runs, catalog, context, signal) {
  const { yaml } = await context.api.get(context.api.run(name, 'config'), {}, { signal });
  const base = name.replace(/.*\//, '').replace(/-\d+$/, '');
  const of = {
    name: freeName(base, runs.map((run) => run.name)), processes: Math.max(1, runs.find((run) => run.name === name)?.ranks ?? 1),
  };
  return (await draftOfFile(yaml, catalog, of, context, signal)).draft;
}
