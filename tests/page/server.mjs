// A `troika serve` of a case, and what a script asks of it.
import fs from 'node:fs';
import net from 'node:net';
import {spawn} from 'node:child_process';
import {setTimeout as pause} from 'node:timers/promises';
import {until} from './webdriver.mjs';

export class Server {
  // `flags`: besides FOLDER and --port. It ends when this process does.
  static async start({troika, folder, environment, port = 0, flags = []}) {
    const process_of = spawn('setpriv', ['--pdeathsig', 'TERM', troika, 'serve', ...(folder ? [folder] : []), '--port', String(port), ...flags],
        {env: environment, stdio: ['ignore', 'pipe', 'pipe']});
    const server = new Server(process_of);
    try {
      const address = await until(() => `serve prints no address; it says: ${server.out}${server.errors}`, () => {
        if (server.ended !== null) throw new Error(`it ended with ${server.ended}`);
        return /(http:\/\/\S+#token=\S+)\n/.exec(server.out)?.[1];
      }, 30);
      server.url = address;
      server.origin = new URL(address).origin;
      server.port = Number(new URL(address).port);
      server.token = new URLSearchParams(new URL(address).hash.slice(1)).get('token');
    } catch (error) {
      await server.end();
      throw error;
    }
    return server;
  }

  constructor(child) {
    this.child = child;
    this.pid = child.pid;   // setpriv becomes the server
    this.out = '';
    this.errors = '';
    this.ended = null;
    child.stdout.on('data', (data) => this.out += data);
    child.stderr.on('data', (data) => this.errors += data);
    child.on('error', (error) => this.ended = error.message);
    child.on('exit', (code, signal) => this.ended ??= signal ?? code);
  }

  // The exit code, or the signal.
  async end(signal = 'SIGTERM', seconds = 10) {
    if (this.ended === null) this.child.kill(signal);
    for (let i = 0; i < seconds * 20 && this.ended === null; ++i) await pause(50);
    if (this.ended === null) {
      this.child.kill('SIGKILL');
      throw new Error(`serve does not end within ${seconds} s of ${signal}`);
    }
    return this.ended;
  }

  // --- what scripts ask ------------------------------------------------------------------------------------------------

  // {status, headers, text, json}. `token` null: none.
  async ask(path, {method = 'GET', token = this.token, headers = {}, body} = {}) {
    const response = await fetch(this.origin + path, {method, redirect: 'manual', signal: AbortSignal.timeout(30000), body,
      headers: {...(token === null ? {} : {authorization: `Bearer ${token}`}), ...headers}});
    const text = await response.text();
    return {status: response.status, headers: response.headers, text, get json() { return JSON.parse(text); }};
  }
  async get(path) {
    const answer = await this.ask(path);
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
    return answer.json;
  }
  post(path, body, {headers = {}, ...rest} = {}) {
    return this.ask(path, {method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: {'content-type': 'application/json', 'x-troika': '1', ...headers}, ...rest});
  }
  run(name) { return this.get(`/api/runs/${encodeURIComponent(name)}`); }

  // Bytes as they are, over a connection of their own: {status, headers (names in lower case), text, raw, how it ended, milliseconds}. `raw` is '' where it answers nothing.
  send(bytes, {seconds = 5, port = this.port, host = '127.0.0.1'} = {}) {
    return new Promise((resolve) => {
      const socket = net.connect(port, host);
      const begin = Date.now();
      let raw = Buffer.alloc(0);
      const finish = (how) => {
        socket.destroy();
        const text = raw.toString('utf8'), [head, ...rest] = text.split('\r\n\r\n'), [first, ...lines] = head.split('\r\n');
        const headers = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]));
        resolve({status: Number(/^HTTP\/1\.[01] (\d+)/.exec(first)?.[1] ?? 0), headers, text: rest.join('\r\n\r\n'), raw: text, how, milliseconds: Date.now() - begin});
      };
      const timer = setTimeout(() => finish('time'), seconds * 1000);
      socket.on('connect', () => socket.write(bytes));
      socket.on('data', (data) => {
        raw = Buffer.concat([raw, data]);
        const text = raw.toString('latin1'), body = text.indexOf('\r\n\r\n');
        const length = /^content-length: *(\d+)/im.exec(text)?.[1];
        const whole = length !== undefined ? raw.length >= body + 4 + Number(length) : /^HTTP\/1\.1 (204|304) /.test(text);
        if (body >= 0 && whole) clearTimeout(timer), finish('whole');
      });
      socket.on('error', () => {});
      socket.on('close', () => { clearTimeout(timer); finish('closed'); });
    });
  }
  // A request with exactly these header lines.
  request(method, path, lines, body = '', options = {}) {
    return this.send(`${method} ${path} HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join('')}${body ? `Content-Length: ${Buffer.byteLength(body)}\r\n` : ''}\r\n${body}`, options);
  }

  // --- what the system says of it --------------------------------------------------------------------------------------

  // The most bytes that it has held in memory.
  peak_bytes() { return Number(/VmHWM:\s+(\d+) kB/.exec(fs.readFileSync(`/proc/${this.pid}/status`, 'utf8'))[1]) * 1024; }
  // Seconds of processors that it has taken.
  cpu_seconds() {
    const words = fs.readFileSync(`/proc/${this.pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
    return (Number(words[11]) + Number(words[12])) / 100;
  }
  // Addresses that it listens on: ['127.0.0.1:4321', '[::1]:4321'].
  listens_on() {
    const sockets = new Set(fs.readdirSync(`/proc/${this.pid}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(fs.readlinkSync(`/proc/${this.pid}/fd/${fd}`))?.[1];
      } catch {
        return undefined;
      }
    }));
    const found = [];
    for (const [file, shown] of [['tcp', address_4], ['tcp6', address_6]]) {
      if (!fs.existsSync(`/proc/net/${file}`)) continue;
      for (const line of fs.readFileSync(`/proc/net/${file}`, 'utf8').split('\n').slice(1)) {
        const words = line.trim().split(/\s+/);
        if (words[3] !== '0A' || !sockets.has(words[9])) continue;
        const [address, port] = words[1].split(':');
        found.push(`${shown(address)}:${parseInt(port, 16)}`);
      }
    }
    return found;
  }
}

const address_4 = (hex) => hex.match(/../g).reverse().map((byte) => parseInt(byte, 16)).join('.');
const address_6 = (hex) => hex === '00000000000000000000000001000000' ? '[::1]' : /^0+$/.test(hex) ? '[::]' : `[${hex}]`;
