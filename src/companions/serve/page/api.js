// Requests to the server that the page came from. Errors are sentences in the reader's language.

import { follow } from './event_stream.js';
import { session } from './session.js';
import { language, lookup, t } from './texts.js';

const root = new URL('api/', import.meta.url);
let loggedOut = () => {};

export class ApiError extends Error {
  constructor(status, message, why = null) {
    super(message);
    this.name = 'ApiError';
    this.status = status;  // 0: the server was not reached
    this.why = why;        // of a program that ended with an error: as the path /why has it
  }
}

// query: {name: value or list of values}; null and undefined are left out.
function address(path, query = {}) {
  const url = new URL(path, root);
  const pairs = [];
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== null && one !== undefined) pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(one)}`);
  if (language() !== 'en') pairs.push(`lang=${language()}`);
  url.search = pairs.join('&');
  return url;
}

async function errorOf(response) {
  try {
    const { error, why } = await response.json();
    if (typeof error === 'string' && error !== '') return new ApiError(response.status, error, why ?? null);
  } catch {
    // Not of our server: a proxy's page.
  }
  return new ApiError(response.status, lookup(`error.${response.status}`) ?? t('error.status', { status: response.status }));
}

function options(headers = {}) {
  const kept = session();
  return { credentials: 'same-origin', cache: 'no-store', redirect: 'error', headers: kept === null ? headers : { ...headers, 'X-Troika-Session': kept } };
}

async function ask(url, { headers, ...more }) {
  let response;
  try {
    response = await fetch(url, { ...options(headers), ...more });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, t('error.unreachable'));
  }
  if (response.status === 401) loggedOut();
  if (!response.ok) throw await errorOf(response);
  if (response.status === 204) return null;
  const text = await response.text();
  return text === '' ? null : JSON.parse(text);
}

export const api = {
  get(path, query = {}, { signal } = {}) {
    return ask(address(path, query), { signal });
  },

  post(path, body = {}, { signal } = {}) {
    return ask(address(path), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Troika': '1' },
      body: JSON.stringify(body),
      signal,
    });
  },

  // What happens as it happens; see event_stream.js.
  follow(path, query, told) {
    return follow(address(path, query), options(), told);
  },

  // api.run('a/b', 'view') is the path of what is known of one run.
  run(name, rest = '') {
    return `runs/${encodeURIComponent(name)}${rest === '' ? '' : `/${rest}`}`;
  },

  // Called when the server no longer knows this page.
  onLoggedOut(listener) {
    loggedOut = listener;
  },
};

export function isAbort(error) {
  return error.name === 'AbortError';
}
