// Texts of many kinds for comparing tokenizers, the same on every machine: made from ranges of characters and short lists of
// words by a seeded generator, and from this repository's own sources and pages. Only characters that Unicode has had for
// long: newer ones are letters in one program and unassigned in another.
import fs from 'node:fs';
import path from 'node:path';

export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }
  next() {  // 32 bits; mulberry32
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }
  below(n) {
    return this.next() % n;
  }
  chance(percent) {
    return this.below(100) < percent;
  }
  of(list) {
    return list[this.below(list.length)];
  }
  in(ranges) {
    const [first, last] = this.of(ranges);
    return String.fromCodePoint(first + this.below(last - first + 1));
  }
}

const words = ('the of and to in a is that for it as was with be by on not he his but at are this have from or had an they ' +
  'which one you were all her she there would their we him been has when who will no more if out so up said what its about ' +
  'than into them can only other time new some could these two may first then do any like my now over such our man me even ' +
  'most made after also did many off before must well back through years where much your way down should because long each ' +
  'just those people take state good world still between life never under last number house place found again given within ' +
  'language model gradient tensor pipeline learning weather harbour mountain electricity understanding international ' +
  'responsibility characteristics approximately Parliament January Wednesday Mississippi').split(' ');
const contractions = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"];
const syllables = ['ba', 'con', 'der', 'el', 'fi', 'gra', 'hum', 'in', 'ju', 'ka', 'lor', 'mi', 'nex', 'op', 'pre', 'qui', 'ra', 'st', 'tion', 'ur', 'ver', 'wy', 'xo', 'yl', 'zen'];

function word(r) {
  if (r.chance(85)) return r.of(words);
  let made = '';
  for (let n = 1 + r.below(6); n > 0; --n) made += r.of(syllables);
  return made;
}

function cased(r, text) {
  if (r.chance(4)) return text.toUpperCase();
  return r.chance(12) ? text[0].toUpperCase() + text.slice(1) : text;
}

function english(r) {
  let text = '';
  for (let n = 30 + r.below(300); n > 0; --n) {
    text += cased(r, word(r));
    if (r.chance(4)) text += r.chance(30) ? r.of(contractions).toUpperCase() : r.of(contractions);
    if (r.chance(2)) text += ' ' + r.below(r.of([10, 100, 3000, 10000000]));
    text += r.chance(10) ? r.of([', ', '. ', '; ', ': ', '? ', '! ', ' - ', ' (', ') ', '... ', '."\n', '.\n\n']) : ' ';
  }
  return text;
}

const apostrophes = ["'", '\u2019', "''", " '"];
const ends = ['s', 'S', '\u017f', 't', 'T', 're', 'RE', 'Re', 've', 'vE', 'm', 'M', 'll', 'LL', 'lL', 'd', 'D', 'x', 'l', 'r', 'st', '\u017ft', '\ufb06', 'K', '\u212a'];
function contracted(r) {
  let text = '';
  for (let n = 40; n > 0; --n) text += r.of(['he', 'I', 'DON', '9', ' ', '\n', '\u00e9', '_']) + r.of(apostrophes) + r.of(ends) + r.of(['', ' ', ' ', '!']);
  return text;
}

function from(ranges, breaks, breakPercent, most) {
  return (r) => {
    let text = '';
    for (let n = 10 + r.below(most); n > 0; --n) text += r.chance(breakPercent) ? r.of(breaks) : r.in(ranges);
    return text;
  };
}

const chinese = from([[0x4e00, 0x9fa5], [0x4e00, 0x4fff], [0x7684, 0x7684], [0x4e00, 0x4e00], [0x662f, 0x662f], [0x4e0d, 0x4e0d]], ['\u3002', '\uff0c', '\u3001', '\uff01\n', '\u300c', '\u300d', ' ', '2024', 'GPU', '\u3000'], 15, 300);
const japanese = from([[0x3041, 0x3096], [0x3041, 0x3093], [0x30a1, 0x30fa], [0x30fc, 0x30fc], [0x4e00, 0x9fa5], [0xff66, 0xff9f]], ['\u3002', '\u3001', '\u3099', '\u309a', '\u30fb', '\u3000', '\n'], 10, 300);
const korean = from([[0xac00, 0xd7a3], [0xac00, 0xd7a3], [0x1100, 0x1112], [0x1161, 0x1175], [0x11a8, 0x11c2], [0x3131, 0x318e]], [' ', ' ', '. ', ', ', '\n'], 25, 300);
const arabic = from([[0x0621, 0x064a], [0x064b, 0x0655], [0x0660, 0x0669], [0x06a9, 0x06d3], [0x05d0, 0x05ea], [0x05b0, 0x05bd]], [' ', ' ', '\u060c ', '\u061f', '\u200f', '\n'], 22, 300);
const indic = from([[0x0904, 0x0939], [0x093c, 0x094d], [0x0958, 0x095f], [0x0966, 0x096f], [0x0985, 0x098c], [0x09be, 0x09c4], [0x09c7, 0x09c8], [0x09d7, 0x09d7], [0x0b95, 0x0b95], [0x0bbe, 0x0bc2], [0x0bc6, 0x0bc8], [0x0bd7, 0x0bd7], [0x0e01, 0x0e3a], [0x0e40, 0x0e4e]], [' ', ' ', '\u0964 ', '\n', '\u200d', '\u200c'], 15, 300);
const decomposed = from([[0x61, 0x7a], [0x41, 0x5a], [0x0300, 0x0345], [0x0300, 0x030c], [0x0327, 0x0328], [0x0323, 0x0323], [0x1e00, 0x1eff], [0xc0, 0xff], [0x212a, 0x212b], [0x2126, 0x2126], [0x0344, 0x0344], [0xfb00, 0xfb04], [0x3c, 0x3e], [0x0338, 0x0338], [0x1f00, 0x1f15], [0x0391, 0x03a1], [0x0958, 0x0958]], [' ', '\n', '.', '\u200d'], 12, 300);
const vietnamese = (r) => from([[0x61, 0x7a], [0x1ea0, 0x1ef9]], [' ', ' ', '\u01a1', '\u01b0', '. '], 25, 200)(r).normalize(r.of(['NFC', 'NFD']));
const cyrillic = from([[0x0410, 0x044f], [0x0430, 0x044f], [0x0391, 0x03a1], [0x03b1, 0x03c9]], [' ', ' ', ' ', ', ', '. ', '\u2014', '\n', '\u0306'], 18, 300);
const numbers = from([[0x30, 0x39], [0x30, 0x39], [0x0660, 0x0669], [0x0966, 0x096f], [0xff10, 0xff19], [0x2160, 0x2188], [0xb2, 0xb3], [0xbc, 0xbe], [0x2460, 0x2473], [0x1d7ce, 0x1d7ff], [0x4e00, 0x4e03], [0x24b6, 0x24e9]], [' ', '.', ',', '%', '\n', ' $', 'e', '-', '\u00b0'], 25, 200);
const spaces = from([[0x20, 0x20], [0x09, 0x0d], [0x85, 0x85], [0xa0, 0xa0], [0x1680, 0x1680], [0x2000, 0x200d], [0x2028, 0x2029], [0x202f, 0x202f], [0x205f, 0x2060], [0x3000, 0x3000], [0xfeff, 0xfeff], [0x180e, 0x180e]], [' ', '\r\n', '\n\n\n', '\n', '    ', '\t\t', 'a', 'the', '.', '!\n', '1', '{\r\n', "'s"], 60, 120);
const symbols = from([[0x21, 0x2f], [0x3a, 0x40], [0x5b, 0x60], [0x7b, 0x7e], [0xa1, 0xbf], [0x2010, 0x2027], [0x2030, 0x205e], [0x20a0, 0x20b9], [0x2190, 0x23ff], [0x2500, 0x27bf], [0x3001, 0x3020], [0xe000, 0xe0ff], [0x01, 0x08], [0x0e, 0x1f], [0x7f, 0x84]], [' ', '\n', 'a', '\r\n', '=', '==', '----'], 25, 200);
const anything = from([[0x21, 0x7e], [0xa1, 0x377], [0x400, 0x52f], [0x531, 0x556], [0x1401, 0x167f], [0x1780, 0x17b3], [0x2c00, 0x2c2e], [0x2e80, 0x2e99], [0xa000, 0xa48c], [0xf900, 0xfa6d], [0x10000, 0x1000b], [0x10300, 0x1031e], [0x1d400, 0x1d454], [0x1d15e, 0x1d164], [0x20000, 0x2a6d6], [0x2f800, 0x2fa1d], [0xe0100, 0xe01ef], [0xfe00, 0xfe0f], [0xffe0, 0xffe6], [0xfffd, 0xfffd]], [' ', '\n', '  '], 10, 200);

const faces = ['\u{1f600}', '\u{1f44d}', '\u{1f468}', '\u{1f469}', '\u{1f467}', '\u{1f680}', '\u2764\ufe0f', '\u{1f3f3}\ufe0f', '\u{1f308}', '\u{1f1e9}\u{1f1ea}', '#\ufe0f\u20e3', '\u{1f926}', '\u2642\ufe0f', '\u{1f9d1}', '\u{1f4bb}', '\u{e0067}'];
function emoji(r) {
  let text = '';
  for (let n = 60; n > 0; --n) {
    text += r.of(faces);
    if (r.chance(25)) text += r.in([[0x1f3fb, 0x1f3ff]]);
    text += r.of(['', '', '\u200d', '\u200d', ' ', ' ok ', '!']);
  }
  return text;
}

function code(r) {
  let text = '';
  const lines = ['int', 'return', 'std::vector<int>', '=>', '{', '}', '();', '#define', '0x1F', '//', '"%s\\n"', 'self.', 'def', '\t', '    ', '        ', '==', '&&', 'x', 'i++', '__init__', 'camelCaseName', 'SNAKE_CASE_9', '<br/>', '@', '$HOME', '[0]', "'a'", '\\', '...', '1e-5', ';'];
  for (let n = 20 + r.below(150); n > 0; --n) text += r.of(lines) + r.of(['', ' ', ' ', '\n', '\r\n', '\n\n']);
  return text;
}

function longWords(r) {
  const kinds = [() => 'a'.repeat(1 + r.below(400)), () => 'ab'.repeat(1 + r.below(200)), () => ' '.repeat(1 + r.below(300)), () => '\n'.repeat(1 + r.below(100)), () => '='.repeat(1 + r.below(200)),
    () => Array.from({length: 1 + r.below(300)}, () => r.in([[0x61, 0x7a]])).join(''), () => Array.from({length: 1 + r.below(200)}, () => r.in([[0x41, 0x5a], [0x61, 0x7a], [0x30, 0x39]])).join(''), () => '\u4e2d'.repeat(1 + r.below(100)), () => '9'.repeat(1 + r.below(100)), () => 'e' + '\u0301'.repeat(1 + r.below(50))];
  let text = '';
  for (let n = 6; n > 0; --n) text += r.of(kinds)() + r.of(['', ' ', '\n', '.']);
  return text;
}

const marks = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<think>', '</think>', '<tool_call>', '<|fim_prefix|>', '<|left|>', '<|right|>', '<|both|>', 'Cafe\u0301', 'Caf\u00e9', 'two\nlines', '<|im_', '|>', '<|', '<<|endoftext|>>', '<|endoftext|', '<|ENDOFTEXT|>', '<think', 'think>'];
function special(r) {
  let text = '';
  for (let n = 40; n > 0; --n) text += r.of(marks) + r.of(['', '', ' ', '  ', '\n', ' \n\t', '\u3000', 'user', 'system\n', 'a', '.', '\u0301']);
  return text;
}

const kinds = {english, contracted, chinese, japanese, korean, arabic, indic, decomposed, vietnamese, cyrillic, numbers, spaces, symbols, anything, emoji, code, longWords, special};

// `bytes` of documents, each kind in turn: {kind, text}.
export function mixedTexts(bytes, seed) {
  const r = new Random(seed), names = Object.keys(kinds), texts = [];
  for (let size = 0, i = 0; size < bytes; ++i) {
    const kind = names[i % names.length], text = kinds[kind](r);
    texts.push({kind, text});
    size += Buffer.byteLength(text);
  }
  return texts;
}

export function englishText(bytes, seed) {
  const r = new Random(seed), parts = [];
  for (let size = 0; size < bytes;) {
    parts.push(english(r) + '\n');
    size += parts[parts.length - 1].length;
  }
  return parts.join('');
}

// The repository's own sources and pages, at most `bytes` of them.
export function ownTexts(root, bytes) {
  const texts = [];
  let size = 0;
  const walk = (folder) => {
    for (const entry of fs.readdirSync(folder, {withFileTypes: true}).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const below = path.join(folder, entry.name);
      if (entry.isDirectory()) walk(below);
      else if (/\.(cc|h|md|txt|sh|mjs|json|yaml)$/.test(entry.name) && entry.name !== 'package-lock.json') {
        const text = fs.readFileSync(below, 'utf8');
        size += Buffer.byteLength(text);
        if (size <= bytes && text.length > 0) texts.push({kind: 'own', text});
      }
    }
  };
  for (const entry of ['README.md', 'README.zh-CN.md', 'ARCHITECTURE.md']) texts.push({kind: 'own', text: fs.readFileSync(path.join(root, entry), 'utf8')});
  for (const folder of ['docs', 'src', 'tests']) walk(path.join(root, folder));
  return texts;
}
