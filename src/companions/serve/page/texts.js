// Texts of the page in the reader's language. texts.json: {"key": {"en": "...", "zh": "..."}}.

const languages = ['en', 'zh'];
const kept = 'troika-language';

let texts = {};
let current = 'en';
const listeners = new Set();

function keptLanguage() {
  try {
    return localStorage.getItem(kept);
  } catch {
    return null;  // a browser that keeps nothing
  }
}

function firstLanguage() {
  const choice = keptLanguage();
  if (languages.includes(choice)) return choice;
  return (navigator.language ?? 'en').toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

function apply(choice) {
  current = choice;
  document.documentElement.lang = choice === 'zh' ? 'zh-CN' : 'en';
}

apply(firstLanguage());

export async function loadTexts() {
  const response = await fetch(new URL('texts.json', import.meta.url));
  if (!response.ok) throw new Error(`texts.json: ${response.status}`);
  texts = await response.json();
}

export function language() {
  return current;
}

export function setLanguage(choice) {
  if (!languages.includes(choice) || choice === current) return;
  apply(choice);
  try {
    localStorage.setItem(kept, choice);
  } catch {
    // It holds until the page is left.
  }
  for (const listener of listeners) listener(choice);
}

export function onLanguage(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

// A text that may be absent: null.
export function lookup(key, values = {}) {
  const text = Object.hasOwn(texts, key) ? texts[key][current] : undefined;
  if (text === undefined) return null;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? String(values[name]) : whole));
}

// "{name}" in a text becomes values.name.
export function t(key, values = {}) {
  const text = lookup(key, values);
  if (text !== null) return text;
  console.error(`a text is missing: ${key} (${current})`);
  return key;
}

// A text that the server sent in both languages, in the reader's.
export const inLanguage = (both) => both[current];

// One text in all languages, for a search in them; none where it is missing.
export function inEveryLanguage(key) {
  return Object.hasOwn(texts, key) ? Object.values(texts[key]) : [];
}
