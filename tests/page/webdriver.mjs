// Debian's Chromium, driven by its chromedriver over the W3C WebDriver protocol.
//
//   const browser = await Browser.start({folder, size: [1280, 900]});
//   await browser.open(url); await browser.click(await browser.find('button', {text: 'Start'}));
//   await browser.end();
//
// What a page says on its console as an error, and every request to another server, is kept; complaints() gives them.
import {spawn} from 'node:child_process';
import {setTimeout as pause} from 'node:timers/promises';
import {decoded} from './png.mjs';

const element_key = 'element-6066-11e4-a52e-4f735466cecf';

// Keys that have no character (WebDriver, "Keyboard actions").
export const key = {enter: '\ue007', tab: '\ue004', escape: '\ue00c', space: ' ', left: '\ue012', up: '\ue013', right: '\ue014', down: '\ue015',
  home: '\ue011', end: '\ue010', backspace: '\ue003', shift: '\ue008', control: '\ue009'};

export class WebDriverError extends Error {}

// Calls `look` until it gives something that is true, and gives that. Fails after `seconds` with `what`, and what the last look threw.
export async function until(what, look, seconds = 10, every = 50) {
  const end = Date.now() + seconds * 1000;
  let last = '';
  for (;;) {
    try {
      const found = await look();
      if (found) return found;
      last = '';
    } catch (error) {
      last = `: ${error.message}`;
    }
    if (Date.now() > end) throw new Error(`not within ${seconds} s: ${typeof what === 'function' ? await what() : what}${last}`);
    await pause(every);
  }
}

// A driver that ends when this process does, and takes its browser along: they talk by a pipe.
async function start_driver(folder) {
  const driver = spawn('setpriv', ['--pdeathsig', 'KILL', 'chromedriver', '--port=0', '--log-level=WARNING'],
      {stdio: ['ignore', 'pipe', 'pipe'], detached: true, env: {...process.env, HOME: folder, TMPDIR: folder, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder}});
  let said = '', ended = '';
  for (const stream of [driver.stdout, driver.stderr]) stream.on('data', (data) => said = (said + data).slice(-4000));
  driver.on('error', (error) => ended = error.message);
  driver.on('exit', (code, signal) => ended ||= `it ended with ${signal ?? code}`);
  const port = await until(() => `chromedriver does not start: ${ended} ${said}`, () => {
    if (ended) throw new Error(ended);
    return /started successfully on port (\d+)/.exec(said)?.[1];
  }, 30);
  return {driver, address: `http://127.0.0.1:${port}`};
}

export class Browser {
  // `folder`: for profile and temporary files; the caller removes it. `languages`: what the browser says it reads.
  static async start({folder, size = [1280, 900], languages = 'en'}) {
    const {driver, address} = await start_driver(folder);
    const browser = new Browser(driver, address);
    try {
      const args = ['--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--remote-debugging-pipe', '--disable-background-networking',
        '--disable-component-update', '--no-first-run', '--force-color-profile=srgb', `--lang=${languages}`, `--window-size=${size.join(',')}`];
      const made = await browser.#ask('POST', '/session', {capabilities: {alwaysMatch: {browserName: 'chrome',
        'goog:loggingPrefs': {browser: 'ALL', performance: 'ALL'},
        'goog:chromeOptions': {args, prefs: {'intl.accept_languages': languages}, perfLoggingPrefs: {enableNetwork: true, enablePage: false}}}}});
      browser.session = `/session/${made.sessionId}`;
      await browser.resize(...size);
    } catch (error) {
      await browser.end();
      throw error;
    }
    return browser;
  }

  constructor(driver, address) {
    this.driver = driver;
    this.address = address;
    this.origins = new Set();   // that pages may ask
    this.errors = [];           // of the console
    this.foreign = [];          // addresses of other servers that were asked for
    this.requests = [];         // every address that was asked for
    this.permitted = [];        // patterns of console errors that a case expects
  }

  async end() {
    if (this.session) await this.#ask('DELETE', this.session).catch(() => {});
    this.session = undefined;
    if (this.driver.exitCode === null && this.driver.signalCode === null) {
      const gone = new Promise((resolve) => this.driver.once('exit', resolve));
      this.driver.kill('SIGTERM');
      await Promise.race([gone, pause(3000)]);
      this.driver.kill('SIGKILL');
    }
  }

  async #ask(method, path, body) {
    const response = await fetch(this.address + path, {method, body: body === undefined ? undefined : JSON.stringify(body), signal: AbortSignal.timeout(60000)});
    const {value} = await response.json();
    if (!response.ok) throw new WebDriverError(`${value.error}: ${value.message.split('\n')[0]}`);
    return value;
  }
  #command(method, path, body) {
    return this.#ask(method, this.session + path, method === 'POST' ? body ?? {} : undefined);
  }
  #chrome(cmd, params) {
    return this.#command('POST', '/goog/cdp/execute', {cmd, params});
  }

  // --- the page as a whole ---------------------------------------------------------------------------------------------

  async open(address) {
    this.origins.add(new URL(address).origin);
    await this.#command('POST', '/url', {url: address});
  }
  async reload() { await this.#command('POST', '/refresh'); }
  async back() { await this.#command('POST', '/back'); }
  address_bar() { return this.#command('GET', '/url'); }
  title() { return this.#command('GET', '/title'); }
  cookies() { return this.#command('GET', '/cookie'); }

  // Of the page's area, not of a window. `phone`: touch, and a viewport as phones have it.
  async resize(width, height, {phone = false} = {}) {
    await this.#chrome('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: phone});
    await this.#chrome('Emulation.setTouchEmulationEnabled', {enabled: phone});
  }
  async hide_scrollbars() { await this.#chrome('Emulation.setScrollbarsHidden', {hidden: true}); }
  async scheme(name) { await this.#chrome('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: name}]}); }

  // Runs `body` (a function that names nothing of this file, or the text of one) in the page. Elements go in and out as they are.
  script(body, ...args) {
    return this.#command('POST', '/execute/sync', {script: `return (${body}).apply(null, arguments)`, args});
  }

  // --- elements --------------------------------------------------------------------------------------------------------

  // The first element for a selector that is seen; with `text`: whose text, or label, has it (a text or a pattern).
  // Waits for it, up to `seconds`.
  find(selector, {text = '', within = null, seconds = 10, hidden = false} = {}) {
    const pattern = text instanceof RegExp ? [text.source, text.flags] : [text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), ''];
    return until(async () => `${selector}${text ? ` with ${text}` : ''} at ${await this.address_bar()}; the page says: ${(await this.text()).slice(0, 600)}`,
        () => this.script(first_shown, selector, pattern, within, hidden), seconds);
  }
  all(selector, within = null) { return this.script((selector, within) => [...(within ?? document).querySelectorAll(selector)], selector, within); }
  has(selector, text = '') {
    return this.script(first_shown, selector, text instanceof RegExp ? [text.source, text.flags] : [text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), ''], null, false)
        .then((found) => found !== null);
  }
  gone(selector, {text = '', seconds = 10} = {}) { return until(`${selector} ${text} goes`, async () => !(await this.has(selector, text)), seconds); }
  // What the page, or an element, shows.
  text(element = null) { return this.script((element) => (element ?? document.body).innerText, element); }
  value(element) { return this.script((element) => element.value, element); }
  role(element) { return this.#command('GET', `/element/${element[element_key]}/computedrole`); }
  label(element) { return this.#command('GET', `/element/${element[element_key]}/computedlabel`); }
  focused() { return this.#command('GET', '/element/active'); }
  box(element) { return this.script((element) => { const {x, y, width, height} = element.getBoundingClientRect(); return {x, y, width, height}; }, element); }

  async click(element) { await this.#command('POST', `/element/${element[element_key]}/click`); }
  // Types into a field, in place of what it holds.
  async fill(element, text) {
    await this.#command('POST', `/element/${element[element_key]}/clear`);
    await this.#command('POST', `/element/${element[element_key]}/value`, {text});
  }
  // Chooses of a <select> by value, as a user does: with the events that come of it.
  async choose(element, value) {
    const options = await this.script((element, value) => [...element.options].filter((o) => o.value === value || o.textContent.trim() === value), element, value);
    if (options.length === 0) throw new Error(`the list has no ${value}`);
    await this.click(options[0]);
  }

  // --- keyboard and pointer --------------------------------------------------------------------------------------------

  // Presses one key after the other, wherever the focus is; `hold` is held down meanwhile.
  async keys(text, hold = null) {
    const actions = [...text].flatMap((value) => [{type: 'keyDown', value}, {type: 'keyUp', value}]);
    const held = hold ? [{type: 'keyDown', value: hold}, ...actions, {type: 'keyUp', value: hold}] : actions;
    await this.#command('POST', '/actions', {actions: [{type: 'key', id: 'keyboard', actions: held}]});
  }
  // Presses at a point of an element, moves to another and lets go; shares of its width and height.
  async drag(element, [from_x, from_y], [to_x, to_y]) {
    const box = await this.box(element), at = (x, y) => ({x: Math.round(box.x + x * box.width), y: Math.round(box.y + y * box.height)});
    const move = (point, duration) => ({type: 'pointerMove', duration, origin: 'viewport', ...point});
    await this.#command('POST', '/actions', {actions: [{type: 'pointer', id: 'mouse', parameters: {pointerType: 'mouse'}, actions: [
      move(at(from_x, from_y), 0), {type: 'pointerDown', button: 0}, move(at((from_x + to_x) / 2, (from_y + to_y) / 2), 50), move(at(to_x, to_y), 50),
      {type: 'pointerUp', button: 0}]}]});
  }
  async hover(element, [x, y] = [0.5, 0.5]) {
    const box = await this.box(element);
    await this.#command('POST', '/actions', {actions: [{type: 'pointer', id: 'mouse', parameters: {pointerType: 'mouse'}, actions: [
      {type: 'pointerMove', duration: 0, origin: 'viewport', x: Math.round(box.x + x * box.width), y: Math.round(box.y + y * box.height)}]}]});
  }

  // --- pictures --------------------------------------------------------------------------------------------------------

  // A PNG of what is seen, or of an element.
  async screenshot(element = null) {
    return Buffer.from(await this.#command('GET', element ? `/element/${element[element_key]}/screenshot` : '/screenshot'), 'base64');
  }
  async pixels(element = null) { return decoded(await this.screenshot(element)); }

  // --- what a page must not do -----------------------------------------------------------------------------------------

  // An error of the console that matches is none, from here on.
  permit(pattern) { this.permitted.push(pattern); }
  forbid_again() { this.permitted = []; }

  async read_logs() {
    for (const entry of await this.#command('POST', '/se/log', {type: 'browser'}))
      if (entry.level === 'SEVERE' && !this.permitted.some((pattern) => pattern.test(entry.message))) this.errors.push(entry.message);
    for (const entry of await this.#command('POST', '/se/log', {type: 'performance'})) {
      const {method, params} = JSON.parse(entry.message).message;
      const address = method === 'Network.requestWillBeSent' ? params.request.url : method === 'Network.webSocketCreated' ? params.url : '';
      if (!address || /^(data|blob|about):/.test(address)) continue;
      this.requests.push(address);
      if (!this.origins.has(new URL(address).origin)) this.foreign.push(address);
    }
  }
  // Sentences on what it did nevertheless, since the last call.
  async complaints() {
    await this.read_logs();
    const found = [...this.errors.map((text) => `the console has an error: ${text}`), ...this.foreign.map((address) => `another server was asked: ${address}`)];
    this.errors = [];
    this.foreign = [];
    return found;
  }
}

// Runs in the page.
function first_shown(selector, [source, flags], within, hidden) {
  const pattern = new RegExp(source, flags);
  const shown = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== 'hidden';
  for (const element of (within ?? document).querySelectorAll(selector)) {
    if (!hidden && !shown(element)) continue;
    if (!source) return element;
    const labels = [...(element.labels ?? [])].map((label) => label.textContent).join(' ');
    const texts = [element.innerText ?? element.textContent, element.getAttribute('aria-label'), labels, element.title];
    if (texts.some((text) => text && pattern.test(text))) return element;
  }
  return null;
}
