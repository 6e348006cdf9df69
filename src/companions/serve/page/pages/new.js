// A new run from a form: the few things that matter, what it will take, all other settings. The program's table of settings says what
// there is; nothing about a single setting is known here but its key.

import { isAbort } from '../api.js';
import { stylesheet } from '../charts.js';
import { el, fill } from '../dom.js';
import { busy, failed, note } from '../parts.js';
import { draftLikeRun, draftOfFile, freshDraft } from '../form/beginnings.js';
import { dropDraft, keepDraft, keptDraft } from '../form/draft_store.js';
import { makeEssentials } from '../form/essentials.js';
import { makeExamples } from '../form/examples.js';
import { fieldOf } from '../form/field.js';
import { makeFromFile } from '../form/from_file.js';
import {
  catalogOf, chooseLength, formOf, freeName, hasLayout, missingOf, nameFault, noteChoices, openLayout, placeErrors, setValue,
  stepsOf, takeLayout, valueOf,
} from '../form/model.js';
import { makePlanPanel } from '../form/plan_panel.js';
import { makeSections } from '../form/sections.js';

const pause = 350;  // milliseconds after the last key until the plan is asked for

// "#/new?from=NAME" and "#/new/NAME": a run like that one.
function sourceOf(query) {
  const part = location.hash.split('?')[0].split('/')[2] ?? '';
  try {
    return query?.get('from') ?? decodeURIComponent(part);
  } catch {
    return part;
  }
}

function whyNot(t) {
  return [el('div', { class: 'page-head' }, el('h1', {}, t('form.title'))), note('info', t('form.view_only'))];
}

class NewRun {
  constructor(parent, context, source) {
    this.parent = parent;
    this.context = context;
    this.source = source;
    this.left = new AbortController();
    this.asking = null;
    this.timer = 0;
    fill(parent, busy());
    this.begin().catch((error) => {
      if (!isAbort(error)) fill(parent, failed(error));
    });
  }

  async begin() {
    const { api } = this.context;
    const get = (path) => api.get(path, {}, { signal: this.left.signal });
    const [settings, choices, runs] = await Promise.all([get('settings'), get('choices'), get('runs'), stylesheet('form/form.css')]);
    this.catalog = catalogOf(settings);
    this.choices = choices;
    this.names = runs.map((run) => run.name);
    this.draft = keptDraft(this.source) ?? (this.source === '' ? freshDraft(choices, this.names)
      : await draftLikeRun(this.source, runs, this, this.context, this.left.signal));
    this.build();
  }

  build() {
    const { t, session } = this.context;
    this.fields = new Map();
    for (const [key, setting] of this.catalog.byKey)
      this.fields.set(key, fieldOf(setting, this.choices, (one, text) => this.settingChanged(one, text)));
    this.examples = makeExamples(this.catalog, this.context.api);
    this.essentials = makeEssentials({
      catalog: this.catalog, examples: this.examples.node, fields: this.fields, cores: session.cores,
      changed: (part) => this.partChanged(part), lengthChanged: (key) => this.lengthChanged(key),
    });
    this.sections = makeSections(this.catalog, this.fields);
    this.plan = makePlanPanel({
      take: (layout) => this.layoutTaken(layout), open: () => this.layoutOpened(), start: () => this.start(),
    });
    this.top = el('div', { class: 'stacked form-problems', role: 'status' });
    fill(this.parent,
      el('div', { class: 'page-head' }, el('h1', {}, this.source === '' ? t('form.title') : t('form.title.like', { name: this.source })),
        el('div', { class: 'toolbar' }, el('button', { type: 'button', onclick: () => this.anew() }, t('form.anew')))),
      this.top,
      el('div', { class: 'new-run' }, this.essentials.node, this.plan.node,
        el('div', { class: 'stacked more' }, makeFromFile((yaml) => this.takeFile(yaml)), this.sections.node)));
    noteChoices(this.draft, this.choices);
    this.place();
    this.show();
    this.askPlan();
  }

  place() {
    this.essentials.place(this.draft);
    this.sections.place(this.draft);
  }

  show() {
    for (const field of this.fields.values()) field.show(this.draft);
    this.essentials.show(this.draft, this.lengthOf(this.sequencesOfStep()));
    this.examples.show(this.draft);
    this.sections.show(this.draft);
    this.showName();
  }

  sequencesOfStep() {
    return Number(valueOf(this.draft, this.catalog.byKey.get('batch.global_batch_size')));
  }

  lengthOf(sequencesOfStep) {
    return stepsOf(this.draft, this.catalog, this.choices.data, sequencesOfStep);
  }

  showName() {
    const fault = nameFault(this.draft.name, this.names);
    this.essentials.name.fault(fault === null ? '' : this.context.t(fault));
    return fault === null;
  }

  // After every change: what is shown follows, what was typed is kept, the plan is asked for a little later.
  changed() {
    noteChoices(this.draft, this.choices);
    this.plan.changed();
    this.show();
    keepDraft(this.source, this.draft);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.askPlan(), pause);
  }

  settingChanged(setting, text) {
    if (text === null) delete this.draft.settings[setting.key];
    else setValue(this.draft, setting, text);
    this.changed();
  }

  partChanged(part) {
    Object.assign(this.draft, part);
    if (part.task !== undefined) {
      delete this.draft.length;
      this.place();
    }
    if (part.task !== undefined && /^(tune|lora|scratch)-\d+$/.test(this.draft.name)) this.draft.name = freeName(part.task, this.names);
    this.changed();
  }

  lengthChanged(key) {
    chooseLength(this.draft, this.catalog, key);
    this.changed();
  }

  layoutTaken(layout) {
    takeLayout(this.draft, this.catalog, layout);
    this.changed();
    this.context.say(this.context.t('form.layout.taken'));
  }

  layoutOpened() {
    openLayout(this.draft, this.catalog);
    this.changed();
  }

  async takeFile(yaml) {
    const { draft, notes, count } = await draftOfFile(yaml, this, this.draft, this.context, this.left.signal);
    this.draft = draft;
    this.place();
    this.changed();
    return [this.context.t('form.file.taken', { n: count }), ...notes];
  }

  anew() {
    dropDraft(this.source);
    if (this.source !== '') return this.context.go('#/new');
    this.draft = freshDraft(this.choices, this.names);
    this.place();
    this.changed();
    this.essentials.name.focus();
  }

  async askPlan() {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    if (missingOf(this.draft, this.catalog).includes('model.path')) {
      this.showErrors([]);
      return this.plan.waitsFor(this.context.t('form.missing.model.path'));
    }
    this.plan.stale();
    try {
      const answer = await this.context.api.post('plan', formOf(this.draft, this.catalog), { signal });
      this.showErrors(answer.errors ?? []);
      this.plan.show(answer, {
        lengthOf: (estimate) => this.lengthOf(estimate.global_batch_size), hasLayout: hasLayout(this.draft),
      });
    } catch (error) {
      if (isAbort(error)) return;
      this.showErrors([]);
      this.plan.failed(error);
    }
  }

  // Each beside the field that it names, in view or not; the rest on top.
  showErrors(sentences) {
    const { byKey, others } = placeErrors(sentences, this.catalog);
    for (const [key, field] of this.fields) field.faults(byKey.get(key) ?? []);
    const hidden = [...byKey].filter(([key]) => !this.isInView(key)).flatMap(([, list]) => list);
    fill(this.top, [...others, ...hidden].map((sentence) => note('error', sentence)));
  }

  isInView(key) {
    const { node } = this.fields.get(key);
    return node.isConnected && node.closest('details:not([open])') === null && node.closest('[hidden]') === null;
  }

  focusOn(key) {
    this.sections.reveal(key);
    this.fields.get(key).focus();
  }

  async start() {
    const { api, t, say, go } = this.context;
    if (!this.showName()) return this.essentials.name.focus();
    const open = missingOf(this.draft, this.catalog);
    if (open.length > 0) {
      for (const key of open) this.fields.get(key).faults([t(`form.missing.${key}`)]);
      return this.focusOn(open[0]);
    }
    this.plan.starting(true);
    try {
      const { name } = await api.post('runs', formOf(this.draft, this.catalog));
      dropDraft(this.source);
      say(t('form.started', { name }));
      go(`#/run/${encodeURIComponent(name)}`);
    } catch (error) {
      this.plan.starting(false);
      this.plan.cannotStart(error);
    }
  }

  unmount() {
    clearTimeout(this.timer);
    this.left.abort();
    this.asking?.abort();
    this.examples?.leave();
  }
}

export function mount(parent, context) {
  if (context.session.view_only) {
    fill(parent, ...whyNot(context.t));
    return { unmount() {} };
  }
  const page = new NewRun(parent, context, sourceOf(context.query));
  return { unmount: () => page.unmount() };
}
