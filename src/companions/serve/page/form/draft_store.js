// What was typed survives a reload of the page, until the run is started or the form is begun anew. Of this tab alone.

const prefix = 'troika-form ';

// source: the run that the form was made from, "" for none.
export function keptDraft(source) {
  try {
    const draft = JSON.parse(sessionStorage.getItem(prefix + source));
    const right = draft !== null && typeof draft.name === 'string' && Number.isInteger(draft.processes) && typeof draft.task === 'string' &&
      typeof draft.settings === 'object' && draft.settings !== null;
    return right ? draft : null;
  } catch {
    return null;
  }
}

export function keepDraft(source, draft) {
  try {
    sessionStorage.setItem(prefix + source, JSON.stringify(draft));
  } catch {
    // A browser that keeps nothing.
  }
}

export function dropDraft(source) {
  try {
    sessionStorage.removeItem(prefix + source);
  } catch {
    // Nothing was kept.
  }
}
