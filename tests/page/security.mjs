// node security.mjs PROGRAM: the rules of docs/security.md, "The page", against the real program, by raw connections and fetch.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import {execFileSync} from 'node:child_process';
import {in_room, processes_of} from './room.mjs';
import {make_run, state_of, tiny, write_corpus} from './runs.mjs';
import {until} from './webdriver.mjs';

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
const forbidden = [401, 403];
const run = 'plain';
const reads = ['/api/serve', '/api/runs', `/api/runs/${run}`, `/api/runs/${run}/view`, `/api/runs/${run}/metrics?from=1`, `/api/runs/${run}/events`, `/api/runs/${run}/why`, `/api/runs/${run}/config`,
  `/api/runs/${run}/checkpoints`, `/api/runs/${run}/log?rank=0`, `/api/runs/${run}/grid`, `/api/runs/${run}/plan`, `/api/curves?run=${run}&series=loss&x=step`, '/metrics', `/api/live?run=${run}`,
  '/api/settings', '/api/choices', '/api/sweeps', '/api/sweeps/none', `/api/runs/${run}/exports`];
const changes = ['/api/plan', '/api/runs', `/api/runs/${run}/stop`, `/api/runs/${run}/resume`, `/api/runs/${run}/export`, `/api/runs/${run}/chat`, '/api/form'];

// What must not change, whatever is asked.
function trace_of(folder) {
  return fs.readdirSync(folder, {recursive: true, withFileTypes: true}).filter((entry) => entry.isFile())
      .map((entry) => { const file = path.join(entry.parentPath ?? entry.path, entry.name), {size, mtimeMs} = fs.lstatSync(file); return `${file} ${size} ${mtimeMs}`; }).sort().join('\n');
}
const refused = (answer, statuses, what) => assert(statuses.includes(answer.status), `${what}: ${answer.status} ${answer.text.slice(0, 200)}`);

await in_room(async (room) => {
  make_run(path.join(room.runs, run), {steps: 200});
  const secret = path.join(room.folder, 'secret.txt');
  fs.writeFileSync(secret, '{"step": 1, "loss": 1.0, "secret": "kept"}\nkept out of pages\n');
  write_corpus(room.folder);
  const root = path.join(room.folder, 'data');
  fs.mkdirSync(root);
  write_corpus(root);
  const server = await room.serve({flags: ['--root', root]});
  const {port} = server, own = `127.0.0.1:${port}`, bearer = `Authorization: Bearer ${server.token}`;
  const json = ['Content-Type: application/json', 'X-Troika: 1'];
  const log_in = async () => {
    const answer = await server.post('/api/login', {token: server.token}, {token: null, headers: {origin: server.origin}});
    return {answer, session: `X-Troika-Session: ${answer.json.session}`};
  };
  const settings = {...tiny, 'data.train': path.join(root, 'corpus.txt'), 'train.steps': '3'};
  const form = (changed = {}, name = 'new-one') => ({name, processes: 1, settings: {...settings, ...changed}});
  // Whatever lies in the folder of runs by now has been looked at.
  let looks = 0;
  const looked_again = async () => {
    const beside = `beside-${++looks}`;
    make_run(path.join(room.runs, beside), {steps: 20});
    await until('a run beside it is listed', async () => (await server.get('/api/runs')).some(({name}) => name === beside));
    fs.rmSync(path.join(room.runs, beside), {recursive: true});
  };
  const nothing_began = () => assert.deepEqual(fs.readdirSync(room.runs).filter((name) => name !== run), [], 'nothing was made');

  // A request that does not come to its end, while everything else is asked.
  const slow = server.send(`GET /api/runs HTTP/1.1\r\nHost: ${own}\r\n`, {seconds: 14});

  // --- 1: where it listens, and the token --------------------------------------------------------------------------------

  await room.check('1 it prints one line, the address with the token, and listens on the loopback alone', async () => {
    assert.match(server.out, /^http:\/\/127\.0\.0\.1:\d+\/#token=[A-Za-z0-9_-]+\n$/);
    const addresses = server.listens_on();
    assert(addresses.includes(own), String(addresses));
    assert.deepEqual(addresses.filter((address) => address !== own && address !== `[::1]:${port}`), []);
  });
  await room.check('1 where another program has the port of [::1], which localhost may lead to, that is said, or refused', async () => {
    if (!Object.values(os.networkInterfaces()).flat().some(({address}) => address === '::1')) return;   // nobody can have it
    const holder = net.createServer();
    await new Promise((resolve, reject) => holder.on('error', reject).listen({host: '::1', port: 0, ipv6Only: true}, resolve));
    const {port: held} = holder.address();
    const other = await room.serve({port: held});
    assert.match(other.errors, new RegExp(`localhost:${held} may lead to another program, which uses \\[::1\\]:${held}`));
    await other.end();
    assert.throws(() => execFileSync(room.troika, ['serve', room.runs, '--port', String(held), '--host', 'localhost'], {env: room.environment, encoding: 'utf8', stdio: 'pipe', timeout: 20000}),
        ({status, stderr}) => status === 2 && stderr.includes('on [::1], which localhost may resolve to'));
    await new Promise((resolve) => holder.close(resolve));
  });
  await room.check('1 the token has 128 bits, is another one in each server, and is in no command line', async () => {
    const other = await room.serve({port: 0});
    assert(/^[0-9a-f]+$/.test(server.token) ? server.token.length >= 32 : server.token.length >= 22, server.token.length);
    assert.notEqual(server.token, other.token);
    await other.end();
    assert(!fs.readFileSync(`/proc/${server.pid}/cmdline`, 'latin1').includes(server.token));
  });
  await room.check('1 the token lies in a file that nobody else may read, `serve --url` prints the address again, and the file goes with the server', async () => {
    const other = await room.serve(), folder = path.join(room.folder, 'runtime/troika'), file = path.join(folder, `serve-${other.port}`);
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
    assert.equal(fs.statSync(folder).mode & 0o077, 0);
    assert(fs.readFileSync(file, 'utf8').includes(other.token));
    const said = () => execFileSync(room.troika, ['serve', '--url'], {env: room.environment, encoding: 'utf8'}).trim().split('\n');
    assert.deepEqual(said().sort(), [server.url, other.url].sort());
    await other.end();
    assert(!fs.existsSync(file));
    assert.deepEqual(said(), [server.url]);
  });
  await room.check('1 without the token, or with one that is not quite it, nothing of the API answers', async () => {
    const wrong = [[], ['Authorization: Bearer '], ['Authorization: Bearer ' + server.token.slice(0, -1)], [`Authorization: Bearer ${server.token}0`], [`Authorization: Basic ${server.token}`],
      [`Authorization: Bearer ${server.token.slice(0, -1)}${server.token.endsWith('0') ? '1' : '0'}`], [`Cookie: troika-${port}=${server.token}`], [`Cookie: troika-${port}=`], [`Cookie: token=${server.token}`]];
    for (const address of [...reads, '/api/none', '/api/']) {
      for (const lines of address === '/api/runs' ? wrong : wrong.slice(0, 3)) {
        const answer = await server.request('GET', address, [`Host: ${own}`, ...lines]);
        refused(answer, forbidden, `GET ${address} ${lines}`);
        assert(!answer.text.includes(run), answer.text);
      }
    }
    for (const address of changes) refused(await server.request('POST', address, [`Host: ${own}`, ...json, `Origin: http://${own}`], '{}'), forbidden, `POST ${address}`);
    refused(await server.request('GET', `/api/runs?token=${server.token}`, [`Host: ${own}`]), forbidden, 'the token in the address');
    for (const address of ['/api/runs', '/metrics']) assert.equal((await server.ask(address)).status, 200);
  });
  await room.check('1 two tokens, one of them right, are none', async () => {
    refused(await server.request('GET', '/api/runs', [`Host: ${own}`, bearer, 'Authorization: Bearer x']), [400, ...forbidden], 'right, wrong');
    refused(await server.request('GET', '/api/runs', [`Host: ${own}`, 'Authorization: Bearer x', bearer]), [400, ...forbidden], 'wrong, right');
  });

  // --- 2: the session ----------------------------------------------------------------------------------------------------

  await room.check('2 the page gets a session for the token, without the token in it, and no cookie, which every server of this address would get', async () => {
    const {answer, session} = await log_in();
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.json.session, /^[A-Za-z0-9_-]{22,}$/);
    assert.equal(answer.headers.get('set-cookie'), null);
    assert(!answer.text.includes(server.token), answer.text);
    refused(await server.request('GET', '/api/runs', [`Host: ${own}`, session]), [200], 'the session');
    for (const line of [`${session}x`, session.slice(0, -1), 'X-Troika-Session:', `X-Troika-Session: ${server.token}`, `Authorization: Bearer ${answer.json.session}`, `Cookie: troika-${port}=${answer.json.session}`, `Cookie: ${session}`])
      refused(await server.request('GET', '/api/runs', [`Host: ${own}`, line]), forbidden, line);
  });
  await room.check('2 another token gets no session, and logging in asks for what every change asks for', async () => {
    for (const body of ['{"token":"x"}', '{"token":null}', '{"token":[]}', '{}', '[]', '', '{', `"${server.token}"`, '{"token":""}']) {
      const answer = await server.request('POST', '/api/login', [`Host: ${own}`, ...json, `Origin: http://${own}`], body || ' ');
      refused(answer, [400, 401, 403], body);
      assert(!answer.text.includes('session'), answer.text);
    }
    const right = JSON.stringify({token: server.token});
    for (const lines of [[...json, 'Origin: http://evil.example'], [json[0], `Origin: http://${own}`], [json[1], `Origin: http://${own}`, 'Content-Type: text/plain'], [...json, `Origin: http://${own}`, 'Sec-Fetch-Site: cross-site']]) {
      const answer = await server.request('POST', '/api/login', [`Host: ${own}`, ...lines], right);
      refused(answer, [400, 403, 415], lines);
      assert(!answer.text.includes('session'), answer.text);
    }
  });
  await room.check("2 a server that comes after on the same port knows neither token nor session of the one before", async () => {
    const before = await room.serve(), answer = await before.post('/api/login', {token: before.token}, {token: null, headers: {origin: before.origin}});
    await before.end();
    const after = await room.serve({port: before.port});
    refused(await after.ask('/api/runs', {token: before.token}), forbidden, 'the token');
    refused(await after.ask('/api/runs', {token: null, headers: {'x-troika-session': answer.json.session}}), forbidden, 'the session');
    await after.end();
  });

  // --- 3: Host -----------------------------------------------------------------------------------------------------------

  await room.check('3 a Host that is not its own is refused, before the token is looked at and for the files of the page too', async () => {
    const hosts = ['evil.example', `evil.example:${port}`, '127.0.0.1', 'localhost', `127.0.0.1:${port + 1}`, `localhost.evil.example:${port}`, `127.0.0.1.:${port}`, `127.0.0.2:${port}`, `0.0.0.0:${port}`,
      `evil@127.0.0.1:${port}`, `127.0.0.1:${port}/`, `127.0.0.1:${port}.evil.example`, `[::2]:${port}`, `2130706433:${port}`, `127.1:${port}`, `127.0.0.1:0${port}`, ''];
    for (const host of hosts) {
      for (const [method, address, lines, body] of [['GET', '/', []], ['GET', '/style.css', []], ['GET', '/api/runs', [bearer]], ['POST', '/api/login', json, JSON.stringify({token: server.token})]]) {
        const answer = await server.request(method, address, [`Host: ${host}`, ...lines], body);
        refused(answer, host === '' ? [400, 421] : [421], `${method} ${address} of '${host}'`);
        assert(!answer.text.includes(run) && !answer.text.includes('session'));
      }
    }
    for (const lines of [[], [`Host: ${own}`, 'Host: evil.example'], ['Host: evil.example', `Host: ${own}`], [`Host: ${own}`, `Host: ${own}`]])
      refused(await server.request('GET', '/api/runs', [...lines, bearer]), [400, 421], `hosts: ${lines}`);
    refused(await server.request('GET', '/api/runs', ['Host: evil.example', `X-Forwarded-Host: ${own}`, bearer]), [421], 'a forwarded host');
  });
  await room.check('3 its own names are 127.0.0.1, localhost and [::1], with the port', async () => {
    for (const host of [own, `localhost:${port}`, `[::1]:${port}`, `LocalHost:${port}`]) refused(await server.request('GET', '/api/runs', [`Host: ${host}`, bearer]), [200], host);
  });
  await room.check('3 --allow-host gives it one more name, and no other', async () => {
    const other = await room.serve({flags: ['--allow-host', 'pi.lan']});
    const asked = (host) => other.request('GET', '/api/runs', [`Host: ${host}`, `Authorization: Bearer ${other.token}`]);
    refused(await asked(`pi.lan:${other.port}`), [200], 'the name');
    for (const host of [`x.pi.lan:${other.port}`, `pi.lan.evil.example:${other.port}`, `pi.lan:${other.port + 1}`]) refused(await asked(host), [421], host);
    await other.end();
  });
  await room.check('3 the target of a request names no other host', async () => {
    for (const target of ['http://evil.example/api/runs', `//evil.example/api/runs`, `http://${own}@evil.example/api/runs`, 'evil.example:80', '*']) {
      const answer = await server.request('GET', target, [`Host: ${own}`, bearer]);
      assert([400, 403, 404, 405, 421].includes(answer.status), `${target}: ${answer.status}`);
      assert.equal(answer.headers.location, undefined);
    }
  });

  // --- 4: what changes something -----------------------------------------------------------------------------------------

  const {session} = await log_in();
  const stop = `/api/runs/${run}/stop`;
  const stopping = (lines, body = '{"how":"save"}', method = 'POST') => server.request(method, stop, [`Host: ${own}`, ...lines], body);
  await room.check('4 a change from a page of others is refused: Origin and Sec-Fetch-Site', async () => {
    for (const auth of [bearer, session]) {
      for (const origin of ['http://evil.example', 'null', 'https://' + own, `http://127.0.0.1:${port + 1}`, 'http://127.0.0.1', `http://${own}.evil.example`, `http://evil.example#${own}`, `http://${own}/`, 'file://'])
        refused(await stopping([auth, ...json, `Origin: ${origin}`]), [403], `${auth.slice(0, 6)} Origin ${origin}`);
      for (const site of ['cross-site', 'same-site', 'none', 'anything']) refused(await stopping([auth, ...json, `Origin: http://${own}`, `Sec-Fetch-Site: ${site}`]), [403], `${auth.slice(0, 6)} Sec-Fetch-Site ${site}`);
      refused(await stopping([auth, ...json, `Origin: http://${own}`, 'Origin: http://evil.example']), [400, 403], 'two origins');
      refused(await stopping([auth, ...json, `Origin: http://${own}`, 'Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: cross-site']), [400, 403], 'two sites');
    }
  });
  await room.check('4 with the session alone, a change names its Origin; with the token it need not', async () => {
    refused(await stopping([session, ...json]), [403], 'no origin');
    refused(await stopping([session, ...json, `Origin: http://${own}`, 'Sec-Fetch-Site: same-origin']), [409], 'of the page, on a run that has finished');
    refused(await stopping([bearer, ...json]), [409], 'of a script, on a run that has finished');
  });
  await room.check('4 a change without the header X-Troika, or in another type than JSON, is refused', async () => {
    for (const address of changes) {
      for (const lines of [[json[0]], [json[0], 'X-Troika: 0'], [json[1]], [json[1], 'Content-Type: text/plain'], [json[1], 'Content-Type: application/x-www-form-urlencoded'], [json[1], 'Content-Type: multipart/form-data; boundary=x'],
        [json[1], 'Content-Type: text/plain; application/json'], [json[1], 'Content-Type: application/json-patch']])
        refused(await server.request('POST', address, [`Host: ${own}`, bearer, `Origin: http://${own}`, ...lines], '{}'), [400, 403, 415], `${address} ${lines}`);
    }
  });
  await room.check('4 a page of others gets nothing to read either, and no answer has a header of CORS', async () => {
    for (const auth of [bearer, session]) {
      for (const lines of [['Origin: http://evil.example'], ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: no-cors'], ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: cors'], ['Sec-Fetch-Site: same-site'], ['Origin: null']])
        for (const address of ['/api/runs', `/api/live?run=${run}`, '/metrics']) refused(await server.request('GET', address, [`Host: ${own}`, auth, ...lines]), [403], `${address} ${lines}`);
    }
    for (const [method, address] of [['GET', '/'], ['GET', '/api/runs'], ['POST', stop], ['OPTIONS', '/api/runs'], ['OPTIONS', stop]]) {
      const answer = await server.request(method, address, [`Host: ${own}`, bearer, 'Origin: http://evil.example', 'Access-Control-Request-Method: POST', 'Access-Control-Request-Headers: x-troika'], method === 'POST' ? '{}' : '');
      assert(!/^access-control/im.test(answer.raw), `${method} ${address}: ${answer.raw.slice(0, 500)}`);
    }
  });
  await room.check('4 methods other than GET and POST are refused, and change nothing', async () => {
    const before = trace_of(room.runs);
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND', 'get', 'POSTS', 'X']) {
      for (const address of ['/', '/api/runs', `/api/runs/${run}`, stop]) {
        const answer = await server.request(method, address, [`Host: ${own}`, bearer, ...json, `Origin: http://${own}`], method === 'TRACE' || method === 'CONNECT' ? '' : '{"how":"now"}');
        refused(answer, [400, 403, 405, 501], `${method} ${address}`);
        assert(!answer.text.includes(server.token));
      }
    }
    for (const lines of [['X-HTTP-Method-Override: POST'], ['X-Method-Override: DELETE']]) refused(await server.request('GET', stop, [`Host: ${own}`, bearer, ...lines]), [403, 404, 405], String(lines));
    assert.equal(trace_of(room.runs), before);
  });
  await room.check('4 GET changes nothing, of any address', async () => {
    const before = trace_of(room.runs), others = processes_of(room.folder).length;
    for (const address of [...reads.filter((address) => !address.startsWith('/api/live')), ...changes, `${stop}?how=now`, `/api/runs/${run}/stop?how=save&x-troika=1`]) await server.ask(address);
    assert.equal(trace_of(room.runs), before);
    assert.equal(processes_of(room.folder).length, others);
  });
  await room.check('4 what a change says is looked at before anything is done', async () => {
    const before = trace_of(room.runs);
    for (const body of ['', '{', '[]', 'null', '"now"', '{"how":"kill"}', '{"how":7}', '{"how":{}}', '{"how":"now\\u0000"}', '['.repeat(5000)]) refused(await stopping([bearer, ...json], body || ' '), [400, 409], body.slice(0, 30));
    for (const body of ['{"step":"20"}', '{"step":-1}', '{"step":1e300}', '{"step":[]}', '{"step":99}']) refused(await server.post(`/api/runs/${run}/resume`, body), [400, 404, 409], body);
    assert.equal(trace_of(room.runs), before);
  });

  // --- 5: headers of every answer ------------------------------------------------------------------------------------------

  await room.check('5 every answer has the policy, nosniff, no-referrer and COOP, errors and the parser\'s refusals too', async () => {
    const answers = [['the page', await server.ask('/', {token: null})], ['its style', await server.ask('/style.css', {token: null})], ['runs', await server.ask('/api/runs')], ['metrics', await server.ask('/metrics')],
      ['no token', await server.ask('/api/runs', {token: null})], ['no such page', await server.ask('/none')], ['no such run', await server.ask('/api/runs/none/view')], ['login', await server.post('/api/login', {token: server.token}, {token: null})],
      ['not of a page', await server.post(stop, {how: 'save'}, {headers: {origin: 'http://evil.example'}})], ['in the wrong state', await server.post(stop, {how: 'save'})]];
    for (const [what, bytes] of [['another host', `GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n`], ['an unknown method', `BREW / HTTP/1.1\r\nHost: ${own}\r\n\r\n`], ['no request', 'hello\r\n\r\n'], ['long headers', `GET / HTTP/1.1\r\nHost: ${own}\r\nX: ${'x'.repeat(40000)}\r\n\r\n`]]) {
      const answer = await server.send(bytes);
      if (answer.raw) answers.push([what, {...answer, headers: new Headers(answer.headers)}]);
    }
    for (const [what, {headers, status}] of answers) {
      const stricter = "default-src 'none'; frame-ancestors 'none'";   // of what is no page at all
      assert([policy, stricter].includes(headers.get('content-security-policy')), `${what} (${status})`);
      assert.equal(headers.get('x-content-type-options'), 'nosniff', what);
      assert.equal(headers.get('referrer-policy'), 'no-referrer', what);
      assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin', what);
      assert.equal(headers.get('location'), null, what);
    }
  });
  await room.check('5 the events as they happen have these headers too', async () => {
    const {raw} = await server.send(`GET /api/live?run=${run} HTTP/1.1\r\nHost: ${own}\r\n${bearer}\r\n\r\n`, {seconds: 1});
    assert.match(raw, /^HTTP\/1\.1 200/);
    for (const line of [`content-security-policy: ${policy}`, 'x-content-type-options: nosniff', 'content-type: text/event-stream']) assert(raw.toLowerCase().includes(line.toLowerCase()), `${line} in ${raw.slice(0, 900)}`);
  });
  await room.check('5 the page has no script, style or handler within, and names no other server', async () => {
    const page = (await server.ask('/', {token: null})).text;
    assert(!/<script(?![^>]*\bsrc=)/i.test(page) && !/<style/i.test(page) && !/\sstyle=/i.test(page) && !/\son[a-z]+\s*=/i.test(page) && !/javascript:/i.test(page), page);
    assert(!/(?:src|href|action)\s*=\s*["']?(?:https?:)?\/\//i.test(page), page);
    assert(!page.includes(server.token));
  });
  await room.check('5 no code of the page makes HTML or code of a text', async () => {
    const folder = path.join(path.dirname(new URL(import.meta.url).pathname), '../../src/companions/serve/page');
    for (const file of fs.readdirSync(folder, {recursive: true}).map(String).filter((name) => name.endsWith('.js') && !name.startsWith('vendor/')))
      for (const pattern of [/\binnerHTML\b/, /\bouterHTML\b/, /\binsertAdjacentHTML\b/, /\bdocument\.write/, /\beval\(/, /\bnew Function\b/, /setTimeout\(\s*['"`]/, /createContextualFragment/, /DOMParser/, /setAttribute\(\s*['"]style['"]/, /https?:\/\/(?!www\.w3\.org)/])
        assert(!pattern.test(fs.readFileSync(path.join(folder, file), 'utf8')), `${file} has ${pattern}`);
  });

  // --- 6: names and files --------------------------------------------------------------------------------------------------

  await room.check('6 no address reaches a file outside: names are looked up, not joined', async () => {
    const names = ['..', '.', '...', '../secret.txt', '..%2Fsecret.txt', '..%2f..%2f..%2fetc%2fpasswd', '%2e%2e', '%2e%2e%2fsecret.txt', '..%5csecret.txt', '%252e%252e%252fsecret.txt', '%2Fetc', `${run}%2F..`, `${run}%2F..%2F${run}`, `${run}%00`,
      `${run}%2Frecords`, `${run};/../../`, `${run}/`, `%2F${run}`, '%c0%ae%c0%ae%2f', '%ff', '%', '%2', '%00', 'C:', 'con', encodeURIComponent(path.join(room.runs, run)), encodeURIComponent(secret), `./${run}`, `${run}/../${run}`, `${run}%20`, `${run.toUpperCase()}`];
    for (const name of names) {
      for (const rest of ['', '/metrics', '/log?rank=0', '/view', '/config', '/grid', '/checkpoints', '/why']) {
        const answer = await server.request('GET', `/api/runs/${name}${rest}`, [`Host: ${own}`, bearer]);
        refused(answer, [400, 404], `${name}${rest}`);
        assert(!answer.raw.includes('kept') && !answer.raw.includes('root:'), answer.raw);
      }
      refused(await server.request('GET', `/api/curves?run=${name.replaceAll('%', '%25')}&series=loss&x=step`, [`Host: ${own}`, bearer]), [400, 404], `a curve of ${name}`);
      refused(await server.request('POST', `/api/runs/${name}/stop`, [`Host: ${own}`, bearer, ...json], '{"how":"now"}'), [400, 404, 405], `a stop of ${name}`);
      refused(await server.request('GET', `/api/sweeps/${name}`, [`Host: ${own}`, bearer]), [400, 404], `a sweep ${name}`);
    }
    for (const target of ['/../../etc/passwd', '/..%2f..%2fetc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/pages/../../gate.cc', '/pages/..%2fstyle.css', '//etc/passwd', '/style.css/', '/style.css%00.js', '/\\..\\x', '/./style.css', '/vendor/', '/pages', '/texts/../../x']) {
      const answer = await server.request('GET', target, [`Host: ${own}`, bearer]);
      refused(answer, [400, 404], target);
    }
  });
  await room.check('6 rank and search of a log reach no other file', async () => {
    for (const rank of ['../../../secret.txt', '..%2F..%2F..%2Fsecret.txt', '0%2F..%2F0', '-1', '99999999999999999999', '1e3', '0x0', 'rank-00000', ' 0', 'state'])
      refused(await server.request('GET', `/api/runs/${run}/log?rank=${rank}`, [`Host: ${own}`, bearer]), [400, 404], rank);
    const answer = await server.ask(`/api/runs/${run}/log?rank=0&search=${encodeURIComponent('(.*)*$[')}`);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.json.lines, []);
  });
  await room.check('6 a link, a device or a pipe in the place of a file of a run is not read, and nothing waits for it', async () => {
    const odd = path.join(room.runs, 'odd');
    make_run(odd, {steps: 20, ranks: 2});
    for (const [name, make] of [['metrics.jsonl', (file) => fs.symlinkSync(secret, file)], ['logs/rank-00000.log', (file) => fs.symlinkSync(secret, file)], ['run.log', (file) => execFileSync('mkfifo', [file])],
      ['events.jsonl', (file) => fs.symlinkSync('/dev/zero', file)], ['records/rank-00001.jsonl', (file) => execFileSync('mkfifo', [file])], ['config.yaml', (file) => fs.symlinkSync(secret, file)]]) {
      fs.rmSync(path.join(odd, name), {force: true});
      make(path.join(odd, name));
    }
    await looked_again();
    for (const rest of ['', '/metrics', '/log?rank=0', '/log?rank=run', '/view', '/events', '/config', '/why', '/plan', '/checkpoints']) {
      const begin = Date.now(), answer = await server.ask(`/api/runs/odd${rest}`);
      assert(!answer.text.includes('kept'), `${rest}: ${answer.text.slice(0, 300)}`);
      assert(Date.now() - begin < 5000, `${rest} took ${Date.now() - begin} ms`);
    }
    assert(!(await server.ask('/api/curves?run=odd&series=loss&x=step')).text.includes('kept'));
    assert(!(await server.ask('/metrics')).text.includes('kept'));
    fs.rmSync(odd, {recursive: true});
  });
  await room.check('6 a folder of runs that is a link leads nowhere outside', async () => {
    const outside = path.join(room.folder, 'outside');
    make_run(path.join(outside, 'hidden'), {steps: 20, text: 'kept'});
    fs.symlinkSync(outside, path.join(room.runs, 'door'));
    fs.symlinkSync(path.join(outside, 'hidden'), path.join(room.runs, 'door2'));
    await looked_again();
    assert.deepEqual((await server.get('/api/runs')).map(({name}) => name).filter((name) => !name.startsWith('beside')), [run]);
    for (const name of ['door', 'door2', 'door%2Fhidden']) refused(await server.ask(`/api/runs/${name}/metrics`), [404], name);
    for (const name of ['door', 'door2']) fs.unlinkSync(path.join(room.runs, name));
  });
  await room.check('6 escape codes of logs do not get to the page, control characters of records only as JSON has them', async () => {
    const odd = path.join(room.runs, 'escapes');
    make_run(odd, {steps: 20, ranks: 1, state: 'failed', text: 'a \u001b[31mred\u001b[0m end'});
    fs.writeFileSync(path.join(odd, 'logs/rank-00000.log'), Buffer.concat([Buffer.from('first\u001b[2J\u001b]0;title\u0007 \u009b31m <img src=x onerror=alert(1)>\b\n'), Buffer.from([0xff, 0xfe, 0x0a])]));
    try {
      await looked_again();
      for (const rest of ['', '/log?rank=0', '/view', '/events', '/why']) {
        const {text, status} = await server.ask(`/api/runs/escapes${rest}`);
        assert.equal(status, 200, `${rest}: ${text.slice(0, 200)}`);
            assert(!/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/.test(text), `${rest}: ${text.slice(0, 500)}`);
        if (rest.startsWith('/log')) assert(!/\\u00[019]|\[2J|title/i.test(text), text);
      }
      assert((await server.get('/api/runs/escapes/log?rank=0')).lines[0].text.includes('<img src=x onerror=alert(1)>'));
    } finally {
      fs.rmSync(odd, {recursive: true});
    }
  });

  // --- 7: what starts a run ------------------------------------------------------------------------------------------------

  const marker = path.join(room.folder, 'marker');
  await room.check('7 settings that would leave the form are refused, and nothing is started', async () => {
    const before = processes_of(room.folder).length;
    for (const changed of [{'train.out': '/tmp/x'}, {'log.on_event': `touch ${marker}`}, {'no.such': '1'}, {'train.steps': 'many'}, {'--train.steps': '1'}, {'': '1'}, {'train.steps\n--x': '1'},
      {'train.steps': 3}, {'train.steps': ['3']}, {'train.steps': null}, {'train.resume': secret}, {'LD_PRELOAD': secret}, {'data.tokenizer': `$(touch ${marker})`}, {'data.train': `;touch ${marker};`}]) {
      const answer = await server.post('/api/runs', form(changed));
      refused(answer, [400, 403], JSON.stringify(changed));
    }
    for (const name of ['../x', '..', '.', '', '/x', 'a/b', 'a\\b', '-x', '--help', 'a b', 'a\n', 'a\u0000', '$(x)', '`x`', 'ä', 'x'.repeat(300), '.hidden', 7, null, ['x']]) refused(await server.post('/api/runs', form({}, name)), [400], `name ${JSON.stringify(name)}`);
    for (const processes of [0, -1, 1e9, 1.5, '2', null, [], 'x']) refused(await server.post('/api/runs', {...form(), processes}), [400], `processes ${processes}`);
    for (const body of [{}, [], null, 'x', {name: 'new-one'}, {name: 'new-one', processes: 1, settings: []}, {...form(), settings: 'x'}]) refused(await server.post('/api/runs', JSON.stringify(body)), [400], JSON.stringify(body));
    nothing_began();
    assert(!fs.existsSync(marker));
    assert.equal(processes_of(room.folder).length, before);
  });
  await room.check('7 paths outside of --root are refused, also by way of links and dots', async () => {
    fs.symlinkSync(room.folder, path.join(root, 'out'));
    fs.symlinkSync(secret, path.join(root, 'link.txt'));
    for (const file of [secret, '/etc/passwd', path.join(root, '../secret.txt'), path.join(root, 'out/secret.txt'), path.join(root, 'link.txt'), '../secret.txt', `${root}/./out/../../secret.txt`, path.join(room.folder, 'corpus.txt'), `${root}x/corpus.txt`]) {
      for (const key of ['data.train', 'data.valid', 'data.tokenizer', 'model.path', 'data.cache', 'train.init_from']) {
        const answer = await server.post('/api/runs', form({[key]: file}));
        refused(answer, [400, 403], `${key} ${file}`);
      }
      const planned = await server.post('/api/plan', form({'data.train': file}));
      assert(!planned.text.includes('kept') && !planned.text.includes('root:'), planned.text.slice(0, 300));
    }
    nothing_began();
  });
  await room.check('7 a text of the form is one word of the command, whatever is in it, and the page sets no environment', async () => {
    const odd = path.join(root, `a b'$(touch ${path.basename(marker)});"&|\`x\`.txt`);
    fs.copyFileSync(path.join(root, 'corpus.txt'), odd);
    const answer = await server.post('/api/runs', {...form({'data.train': odd}), environment: {LD_PRELOAD: '/x'}, env: {X_FROM_PAGE: '1'}, program: '/bin/false'});
    if (answer.status === 400) return assert(!fs.existsSync(marker));   // it may refuse what it does not know
    assert.equal(answer.status, 201, answer.text);
    await until('the run ends', () => /finished|failed/.test(state_of(path.join(room.runs, 'new-one'))?.state), 60);
    assert.equal(state_of(path.join(room.runs, 'new-one')).state, 'finished', state_of(path.join(room.runs, 'new-one')).text);
    assert(!fs.existsSync(marker) && !fs.readdirSync(room.runs, {recursive: true}).some((name) => String(name).includes('marker')));
    await until('its processes end', () => processes_of(room.folder).every((pid) => !fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('new-one')), 20);
    fs.rmSync(path.join(room.runs, 'new-one'), {recursive: true});
  });
  await room.check('7 with --view-only everything can be seen and nothing be changed', async () => {
    const other = await room.serve({flags: ['--view-only']});
    assert.equal((await other.get('/api/serve')).view_only, true);
    for (const address of changes) refused(await other.post(address, form()), [403, 404, 405], address);
    const login = await other.post('/api/login', {token: other.token}, {token: null, headers: {origin: other.origin}});
    assert.equal(login.status, 200);
    assert((await other.get('/api/runs')).every(({can}) => can.length === 0));
    await other.end();
    nothing_began();
  });

  // --- 8: not on the loopback, and behind a proxy ----------------------------------------------------------------------------

  await room.check('8 on another address than the loopback it warns, and prints the ssh line', async () => {
    const other = await room.serve({flags: ['--host', '0.0.0.0']});
    assert.match(other.errors, /ssh .*-L/);
    assert.match(other.errors, /0\.0\.0\.0|loopback|encrypt/);
    assert.equal(other.out.split('\n').length, 2, other.out);
    refused(await other.request('GET', '/api/runs', [`Host: evil.example:${other.port}`, `Authorization: Bearer ${other.token}`]), [421], 'another host');
    refused(await other.request('GET', '/api/runs', [`Host: 127.0.0.1:${other.port}`]), forbidden, 'no token');
    await other.end();
    assert.equal(server.errors, '');
  });
  await room.check('8 forwarded headers count only behind a proxy, whose own passwords do not disturb the session', async () => {
    for (const line of ['X-Forwarded-Host: evil.example', 'X-Forwarded-Proto: https', 'X-Forwarded-For: 127.0.0.1', `Forwarded: host=evil.example`]) {
      refused(await server.request('GET', '/api/runs', [`Host: ${own}`, line]), forbidden, line);
    }
    const other = await room.serve({flags: ['--behind-proxy', '--base-path', '/troika', '--allow-host', 'pages.example']}), ask = (lines, address = '/troika/api/runs') => other.request('GET', address, [...lines, `Authorization: Bearer ${other.token}`]);
    refused(await ask([`Host: 127.0.0.1:${other.port}`, 'X-Forwarded-Host: pages.example']), [200], 'the proxy');
    refused(await ask([`Host: 127.0.0.1:${other.port}`, 'X-Forwarded-Host: evil.example']), [421], 'another forwarded host');
    refused(await ask(['Host: evil.example']), [421], 'another host');
    const login = await other.request('POST', '/troika/api/login', [`Host: 127.0.0.1:${other.port}`, 'X-Forwarded-Host: pages.example', ...json, 'Origin: https://pages.example'], JSON.stringify({token: other.token}));
    refused(login, [200], 'login by the proxy');
    const line = `X-Troika-Session: ${JSON.parse(login.text).session}`;
    refused(await other.request('GET', '/troika/api/runs', [`Host: 127.0.0.1:${other.port}`, 'X-Forwarded-Host: pages.example', 'Authorization: Basic b2Y6cHJveHk=', line]), [200], 'beside the passwords of the proxy');
    await other.end();
  });
  await room.check('8 no parameter leads to another page', async () => {
    for (const address of ['/?next=http://evil.example', '/?url=//evil.example', '/api/runs?redirect=http://evil.example', '/login?next=//evil.example', '//evil.example', '/http://evil.example', '/%0d%0aLocation:%20http://evil.example', '/?x=%0d%0aSet-Cookie:%20a=b']) {
      const answer = await server.request('GET', address, [`Host: ${own}`, bearer]);
      assert(answer.status < 300 || answer.status >= 400, `${address}: ${answer.status}`);
      assert(answer.headers.location === undefined && answer.headers['set-cookie'] === undefined, answer.raw.slice(0, 400));
    }
  });

  // --- what a client may cost ------------------------------------------------------------------------------------------------

  await room.check('requests that are too long, broken or slow are refused, and the server answers others meanwhile', async () => {
    const broken = [`GET / HTTP/1.1\r\nHost: ${own}\r\nX: ${'x'.repeat(70000)}\r\n\r\n`, `GET /${'x'.repeat(70000)} HTTP/1.1\r\nHost: ${own}\r\n\r\n`, `POST ${stop} HTTP/1.1\r\nHost: ${own}\r\n${bearer}\r\n${json.join('\r\n')}\r\nContent-Length: 100000000\r\n\r\n{`,
      `POST ${stop} HTTP/1.1\r\nHost: ${own}\r\n${bearer}\r\n${json.join('\r\n')}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, `POST ${stop} HTTP/1.1\r\nHost: ${own}\r\n${bearer}\r\n${json.join('\r\n')}\r\nContent-Length: 2\r\nContent-Length: 14\r\n\r\n{}`,
      `POST ${stop} HTTP/1.1\r\nHost: ${own}\r\n${bearer}\r\n${json.join('\r\n')}\r\nContent-Length: 14\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, `GET / HTTP/1.1\r\nHost : ${own}\r\n\r\n`, `GET / HTTP/1.1\r\n Host: ${own}\r\n\r\n`,
      `GET /\r\nHost: ${own}\r\n\r\n`, `GET / HTTP/9.9\r\nHost: ${own}\r\n\r\n`, `GET / HTTP/1.1\r\nHost: ${own}\r\nX\u0000: y\r\n\r\n`, '\u0016\u0003\u0001\u0002\u0000\u0001', `POST ${stop} HTTP/1.1\r\nHost: ${own}\r\nContent-Length: -1\r\n\r\n`];
    for (const bytes of broken) {
      const answer = await server.send(bytes, {seconds: 3});
      assert(answer.status === 0 || answer.status >= 400, `${JSON.stringify(bytes.slice(0, 60))}: ${answer.raw.slice(0, 200)}`);
    }
    assert.equal((await server.ask('/api/runs')).status, 200);
    const answer = await slow;
    assert(answer.how === 'closed' || answer.status >= 400, answer.how);
    assert(answer.milliseconds < 13500, `${answer.milliseconds} ms`);
  });
  await room.check('many open connections keep nobody out for good, and cost no unbounded memory', async () => {
    const open = [];
    for (let i = 0; i < 300; ++i) open.push(net.connect(port, '127.0.0.1').on('error', () => {}));
    await until('they are open', () => open.every((socket) => !socket.connecting));
    for (const socket of open) socket.destroy();
    await until('it answers', async () => (await server.ask('/api/runs')).status === 200, 15);
    assert(server.peak_bytes() < 150 * 2 ** 20, `${server.peak_bytes() / 2 ** 20} MiB`);
  });
  await room.check('the token is in nothing that the server wrote', async () => {
    const holders = execFileSync('grep', ['-rl', '--', server.token, room.folder], {encoding: 'utf8'}).trim().split('\n');
    assert.deepEqual(holders, [path.join(room.folder, 'runtime/troika', `serve-${port}`)]);
    assert.equal(await server.end(), 0);
  });
});
