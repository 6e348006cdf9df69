// What a run is doing, by the two that tell it: its view and its summary. What may be asked of it is shown only beside a state that it
// belongs to.

const underWay = new Set(['preparing', 'training', 'evaluating', 'saving', 'silent']);
const begins = new Set(['launch', 'start', 'resume', 'restart']);

export function isUnderWay(state) {
  return underWay.has(state);
}

// Whether a run that is under way has been asked to stop, by this page or by anybody.
export function isStopping({ state, events }) {
  if (!isUnderWay(state)) return false;
  const last = events.findLast(({ event }) => begins.has(event) || event === 'stop_requested');
  return last?.event === 'stop_requested';
}

// States between which nothing changes in what may be asked.
const kindOf = (state) => (isUnderWay(state) ? 'under way' : state);

// asked: null, 'stop' or 'resume', until the run has done it.
export function makeStanding() {
  let summary = null;
  let view = null;
  let told = null;   // 'summary' or 'view': whose state was the last that changed
  let asked = null;
  let kind = null;   // of the state that is shown

  function settle() {
    const next = kindOf(told === 'view' ? view.state : summary.state);
    if (next !== kind) asked = null;
    kind = next;
  }

  // learn...(): whether its kind of state has changed, so that the other one should be asked.
  return {
    learnSummary(next) {
      const changed = summary === null || kindOf(next.state) !== kindOf(summary.state);
      if (changed) told = 'summary';
      if (asked === 'resume' && summary !== null && next.began !== summary.began) asked = null;  // it may be over already
      summary = next;
      settle();
      return changed;
    },

    learnView(next) {
      const changed = view === null || kindOf(next.state) !== kindOf(view.state);
      if (changed) told = 'view';
      view = next;
      settle();
      return changed;
    },

    // Where the two go on to differ.
    takeSummary() {
      told = 'summary';
      settle();
    },

    ask(what) {
      asked = what;
    },

    get asked() {
      return asked;
    },

    get agrees() {
      return summary !== null && (view === null || kindOf(view.state) === kindOf(summary.state));
    },

    // {state, text (instead of the state's own word), can, underWay}
    now() {
      const agrees = this.agrees;
      const detailed = agrees && view !== null ? view : null;  // the view is newer than the summary by up to seconds
      const plain = told === 'view' ? view.state : summary.state;
      const { state, text } = detailed === null ? { state: plain } : { state: detailed.silent_seconds > 0 ? 'silent' : detailed.state, text: detailed.state_text };
      const can = agrees || told === 'summary' ? summary.can : [];
      if (asked === 'resume' && !isUnderWay(state)) return { state: 'starting', can: [], underWay: false };
      if (isUnderWay(state) && (asked === 'stop' || (view !== null && isStopping(view)))) return { state: 'stopping', can, underWay: false };
      return { state, text, can, underWay: isUnderWay(state) };
    },
  };
}
