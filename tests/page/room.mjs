// What the cases of a file share: a folder of their own, a browser, servers, and that all of it is gone at the end, also after a
// failure or a signal.
//
//   await in_room(async (room) => {
//     const server = await room.serve();
//     await room.check('a sentence', async () => { ... });
//   });
//
// The program ends with 0 when every check passed.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {setTimeout as pause} from 'node:timers/promises';
import {Server} from './server.mjs';
import {Browser} from './webdriver.mjs';

export class Room {
  // `folder`: a new one; "": one of any name.
  constructor(troika, folder = '') {
    this.troika = troika;
    if (folder) fs.mkdirSync(folder);
    this.folder = fs.realpathSync(folder || fs.mkdtempSync(path.join(os.tmpdir(), 'troika-page-')));
    this.runs = path.join(this.folder, 'runs');
    fs.mkdirSync(this.runs);
    for (const name of ['runtime', 'config', 'browser']) fs.mkdirSync(path.join(this.folder, name), {mode: 0o700});
    // Everything that is started here has this, and so has what that starts.
    this.environment = {...process.env, XDG_RUNTIME_DIR: path.join(this.folder, 'runtime'), XDG_CONFIG_HOME: path.join(this.folder, 'config'), LC_ALL: 'C.UTF-8', LANG: 'C.UTF-8'};
    for (const name of ['TROIKA_SECRET', 'OMP_NUM_THREADS']) delete this.environment[name];
    this.servers = [];
    this.browsers = [];
    this.failed = 0;
    this.passed = 0;
  }

  // `troika serve` on the folder of runs, or as `options` of Server.start say.
  async serve(options = {}) {
    const server = await Server.start({troika: this.troika, folder: this.runs, environment: this.environment, ...options});
    this.servers.push(server);
    return server;
  }
  async browse(options = {}) {
    const browser = await Browser.start({folder: fs.mkdtempSync(path.join(this.folder, 'browser', 'b-')), ...options});
    this.browsers.push(browser);
    return browser;
  }

  // Runs `body`; what it throws, what pages said on their consoles and whom they asked decides. Returns whether it passed.
  async check(sentence, body) {
    const begin = Date.now();
    const complaints = [];
    try {
      await body();
    } catch (error) {
      complaints.push(error.stack?.split('\n').slice(0, 4).join('\n       ') ?? String(error));
      if (process.env.TROIKA_PAGE_PICTURES) await this.#keep_pictures(sentence);
    }
    for (const browser of this.browsers) {
      complaints.push(...await browser.complaints().catch((error) => [`the browser does not answer: ${error.message}`]));
      browser.forbid_again();
    }
    const seconds = ((Date.now() - begin) / 1000).toFixed(1);
    console.log(`${complaints.length ? 'FAIL ' : 'ok   '} ${sentence} (${seconds} s)${complaints.map((text) => `\n       ${text}`).join('')}`);
    complaints.length ? ++this.failed : ++this.passed;
    return complaints.length === 0;
  }
  async #keep_pictures(sentence) {
    fs.mkdirSync(process.env.TROIKA_PAGE_PICTURES, {recursive: true});
    for (const [i, browser] of this.browsers.entries()) {
      const picture = await browser.screenshot().catch(() => null);
      if (picture) fs.writeFileSync(path.join(process.env.TROIKA_PAGE_PICTURES, `${sentence.replace(/[^a-z0-9]+/gi, '-').slice(0, 60)}-${i}.png`), picture);
    }
  }

  async end() {
    for (const browser of this.browsers) await browser.end();
    for (const server of this.servers) await server.end();
    await end_all_of(this.folder);
    fs.rmSync(this.folder, {recursive: true, force: true, maxRetries: 5, retryDelay: 200});
  }
}

// Processes that were started, by whomever, with a folder in their environment.
export function processes_of(folder) {
  const found = [];
  for (const name of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
    try {
      if (fs.readFileSync(`/proc/${name}/environ`, 'latin1').includes(folder)) found.push(Number(name));
    } catch {
      // It has ended, or is another user's.
    }
  }
  return found;
}

export async function end_all_of(folder) {
  for (let round = 0; round < 50; ++round) {
    const left = processes_of(folder);
    if (left.length === 0) return;
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended meanwhile.
      }
    }
    await pause(50);
  }
  throw new Error(`these processes cannot be ended: ${processes_of(folder).join(' ')}`);
}

export async function in_room(body, folder = '') {
  const troika = path.resolve(process.argv[2] ?? '');
  if (!process.argv[2] || !fs.existsSync(troika)) {
    console.error(`usage: node ${path.basename(process.argv[1])} PROGRAM   (troika)`);
    process.exit(2);
  }
  const room = new Room(troika, folder);
  let ending = null;
  const end_once = () => ending ??= room.end().catch((error) => { console.log(`FAIL  cleaning up: ${error.message}`); ++room.failed; });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end_once().then(() => process.exit(130)));
  try {
    await body(room);
  } catch (error) {
    console.log(`FAIL  ${error.stack ?? error}`);
    ++room.failed;
  }
  await end_once();
  console.log(`${room.passed} checks passed, ${room.failed} failed`);
  process.exit(room.failed === 0 && room.passed > 0 ? 0 : 1);
}
