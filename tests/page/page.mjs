// What cases do with the page of a server: its addresses, its texts, its form. Elements are found by their roles, names and data
// attributes, never by how they look.
import assert from 'node:assert/strict';
import {until} from './webdriver.mjs';

export const tabs = ['overview', 'curves', 'grid', 'memory', 'checkpoints', 'chat', 'logs', 'events', 'why', 'settings'];

export class Page {
  // Opens the address that the server printed.
  static async open(browser, server) {
    const page = new Page(browser, server);
    page.texts = (await server.ask('/texts.json', {token: null})).json;
    await browser.open(server.url);
    await page.ready();
    return page;
  }

  constructor(browser, server) {
    this.browser = browser;
    this.server = server;
  }

  // A text of the page. {name} of `values` are put in.
  t(key, values = {}, language = 'en') {
    assert(key in this.texts, `the page has no text ${key}`);
    return this.texts[key][language].replace(/\{(\w+)\}/g, (whole, name) => name in values ? String(values[name]) : whole);
  }

  // Opens a page, or a part of a run's page, and waits until it has taken the place of the one before.
  async go(...parts) {
    const hash = `#/${parts.map(encodeURIComponent).join('/')}`;
    await this.browser.script((hash) => {
      const run_of = (hash) => /^#\/run\/([^/?]*)/.exec(hash)?.[1], part_of = (hash) => /^#\/run\/[^/?]*\/([^/?]*)/.exec(hash)?.[1] ?? 'overview';
      if (location.hash === hash) return;
      const same_run = run_of(hash) !== undefined && run_of(hash) === run_of(location.hash);
      if (!same_run || part_of(hash) !== part_of(location.hash))
        for (const node of same_run ? document.querySelectorAll('.tab > *') : document.querySelectorAll('main > *')) node.dataset.before = 'yes';
      location.hash = hash;
    }, hash);
    await until(() => `${hash} does not take the place of the page before`, () => this.browser.script(() => document.querySelector('[data-before]') === null), 20);
    return this.ready();
  }
  // Until a page is there with its head, and nothing of it says that it is loading.
  async ready() {
    await this.browser.find('main h1', {seconds: 20});
    const loading = Object.values(this.texts.busy);
    await until(() => `${this.server.origin} goes on loading`, () => this.browser.script((texts) => ![...document.querySelectorAll('main .empty')].some((element) => element.getClientRects().length > 0 && texts.includes(element.textContent)), loading), 20);
  }
  to_run(name, tab = 'overview') { return this.go('run', name, tab); }
  heading() { return this.browser.find('main h1').then((head) => this.browser.text(head)); }

  async state(wanted, seconds = 30) {
    return this.browser.find(`.run-state [data-state]${wanted ? `:is(${[wanted].flat().map((state) => `[data-state="${state}"]`).join(', ')})` : ''}`, {seconds});
  }
  // The step that the head of a run shows.
  async step() {
    const text = await this.browser.text(await this.browser.find('.run-head .count'));
    const digits = /[\d][\d,.  ]*/.exec(text);
    return digits ? Number(digits[0].replace(/\D/g, '')) : 0;
  }
  async moves_beyond(step, seconds = 20) { return until(`the step goes beyond ${step}`, async () => { const now = await this.step(); return now > step && now; }, seconds); }
  async act(action) { await this.browser.click(await this.browser.find(`.actions button[data-action="${action}"]:not(:disabled)`, {seconds: 20})); }
  async say_yes() { await this.browser.click(await this.browser.find('dialog[open] button.danger')); }

  // --- the form ----------------------------------------------------------------------------------------------------------

  async field_of(key) {
    const {browser} = this;
    const field = await browser.find(`.field[data-key="${key}"]`, {hidden: true});
    await browser.script((field) => { for (let at = field.closest('details'); at; at = at.parentElement.closest('details')) at.open = true; }, field);
    return field;
  }
  async control_of(key) {
    const field = await this.field_of(key);
    return this.browser.find('input, select', {within: field});
  }
  // As a user does: chooses of a list or, where a list has a place for something else, types it there.
  async set(key, value) {
    const {browser} = this, control = await this.control_of(key);
    const [kind, options] = await browser.script((control) => [control.type, [...control.options ?? []].map((option) => option.value)], control);
    if (kind === 'checkbox') {
      if (await browser.script((control) => control.checked, control) !== (value === 'true')) await browser.click(control);
    } else if (options.length > 0 && options.includes(value)) {
      await browser.choose(control, value);
    } else if (options.length > 0) {
      await browser.choose(control, options.at(-1));
      await browser.fill(await browser.find('input', {within: await this.field_of(key)}), value);
    } else {
      await browser.fill(control, value);
    }
  }
  named(label) { return this.browser.find('.essentials input', {text: label}); }

  // What somebody sees of the plan, once it is up to date.
  async plan(seconds = 30) {
    await this.browser.find('.plan:not([aria-busy])', {seconds});
    return this.browser.text(await this.browser.find('.plan'));
  }
}

// Pixels of an element in one of the page's colours: how many, by the name of its variable.
export async function colours_in(browser, element, names) {
  const seen = (await browser.pixels(element)).colours();
  const wanted = await browser.script((names) => names.map((name) => {
    const probe = document.createElement('span');
    probe.style.color = getComputedStyle(document.documentElement).getPropertyValue(name);
    document.body.append(probe);
    const colour = getComputedStyle(probe).color;
    probe.remove();
    return '#' + colour.match(/\d+/g).slice(0, 3).map((value) => Number(value).toString(16).padStart(2, '0')).join('');
  }), names);
  return Object.fromEntries(names.map((name, i) => [name, seen.get(wanted[i]) ?? 0]));
}
