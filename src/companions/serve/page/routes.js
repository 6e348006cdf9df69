// Addresses of pages: "#/run/NAME/curves?x=time". Names are percent-encoded, so that a name with '/' is one part.

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const pages = {
  runs: () => import('./pages/runs.js'),
  run: () => import('./pages/run.js'),
  compare: () => import('./pages/compare.js'),
  new: () => import('./pages/new.js'),
  sweeps: () => import('./pages/sweeps.js'),
  sweep: () => import('./pages/sweep.js'),
  none: () => import('./pages/none.js'),
};

// {page, run, runs, sweep, tab, query, key, load()}. `key` is the same where only a tab differs.
export function parseHash(hash) {
  const [path, search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [first = '', ...names] = path.split('/').filter((part) => part !== '').map(decoded);
  const page = first === '' ? 'runs' : first;
  const route = { page, query: new URLSearchParams(search), key: `${page} ${names.join(' ')}` };
  if (page === 'run' && names.length > 0) {
    route.run = names[0];
    route.tab = names[1] ?? 'overview';
    route.key = `run ${route.run}`;
  } else if (page === 'compare' && names.length > 0) {
    route.runs = names;
  } else if (page === 'sweep' && names.length > 0) {
    route.sweep = names[0];
  } else if (!['runs', 'new', 'sweeps'].includes(page)) {
    route.page = 'none';
  }
  route.load = pages[route.page];
  return route;
}

// hashOf('run', 'a/b', 'logs') is "#/run/a%2Fb/logs".
export function hashOf(...parts) {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}
