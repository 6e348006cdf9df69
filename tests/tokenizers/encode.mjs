// node encode.mjs JOB.json: encodes the texts of a .jsonl file with a JavaScript tokenizer, a line of ids each; prints seconds.
// JOB: {engine, tokenizer, input, output}: engine 'huggingface' with the path of a tokenizer.json, or 'tiktoken' with the
// name of one of its encodings.
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';

const job = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const require = createRequire(path.join(process.cwd(), 'package.json'));

// Where this package departs from Hugging Face's own tokenizers (Rust, with the regular expressions of Oniguruma):
// (?i:'s) matches only ASCII letters here, there the long s (U+017F) too; and \s of the built-in pattern of ByteLevel is
// that of JavaScript (U+FEFF, but not U+0085), there White_Space. Patterns of Split are rewritten right, so both are said by them.
function asOniguruma(tokenizer) {
  const parts = tokenizer.pre_tokenizer.pretokenizers ?? [tokenizer.pre_tokenizer];
  const split = (Regex) => ({type: 'Split', pattern: {Regex}, behavior: 'Isolated', invert: false});
  const pretokenizers = parts.flatMap((part) => {
    if (part.type === 'Split') return [split(part.pattern.Regex.replace("(?i:'s|", "(?i:'s|'\u017f|"))];
    if (part.use_regex === false) return [part];
    return [split("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"), {...part, use_regex: false}];
  });
  return {...tokenizer, pre_tokenizer: {type: 'Sequence', pretokenizers}};
}

function huggingFace(file) {
  const {Tokenizer} = require('@huggingface/tokenizers');
  const tokenizer = new Tokenizer(asOniguruma(JSON.parse(fs.readFileSync(file, 'utf8'))), {});
  return (text) => tokenizer.encode(text, {add_special_tokens: false}).ids;
}

// Its patterns are JavaScript's too; the same two differences.
function tiktoken(name) {
  const {Tiktoken} = require('js-tiktoken/lite');
  const module = require(`js-tiktoken/ranks/${name}`), ranks = module.default ?? module;
  const pattern = ranks.pat_str.replaceAll('\\s', '\\p{White_Space}').replaceAll('\\S', '\\P{White_Space}')
                      .replace("('s|'S|", "('s|'S|'\u017f|");
  const tokenizer = new Tiktoken({...ranks, pat_str: pattern});
  return (text) => tokenizer.encode(text, 'all');
}

const encode = job.engine === 'tiktoken' ? tiktoken(job.tokenizer) : huggingFace(job.tokenizer);
const texts = fs.readFileSync(job.input, 'utf8').split('\n').filter((line) => line).map((line) => JSON.parse(line).text);
const start = performance.now();
const lines = texts.map((text) => `[${encode(text).join(',')}]\n`);
console.log((performance.now() - start) / 1000);
fs.writeFileSync(job.output, lines.join(''));
