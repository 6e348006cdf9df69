// What a run can be made for, and good values to begin with for each: where the table's default fits another purpose better.

export const tasks = ['scratch', 'tune', 'lora'];

// What stands above all other settings, in order, by task. The rest is in sections below.
const common = ['batch.global_batch_size', 'optimizer.lr', 'batch.seq_len', 'precision.compute'];
const essentials = {
  scratch: ['model.preset', 'data.train', 'data.tokenizer', 'train.steps', 'train.epochs', ...common],
  tune: ['model.path', 'data.train', 'data.chat_template', 'train.steps', 'train.epochs', ...common],
  lora: ['model.path', 'data.train', 'data.chat_template', 'lora.rank', 'train.steps', 'train.epochs', ...common],
};
export const essentialsOf = (task) => essentials[task];

// Belong to a task and have no meaning in the others, where they are neither shown nor sent.
const owned = { 'model.path': ['tune', 'lora'], 'model.preset': ['scratch'], 'lora.rank': ['lora'] };
export const isOwnedByOther = (task, key) => key in owned && !owned[key].includes(task);
export const isOwned = (key) => key in owned;

const values = {
  scratch: { 'train.steps': '500', 'optimizer.lr': '1e-3', 'optimizer.warmup_ratio': '0.05' },
  tune: { 'batch.seq_len': '512', 'optimizer.warmup_ratio': '0.05' },
  lora: { 'batch.seq_len': '512', 'optimizer.warmup_ratio': '0.05', 'lora.rank': '8' },
};

// Of a model of a billion parameters; smaller ones take larger steps.
const rates = { tune: { usual: 2e-5, most: 1e-3 }, lora: { usual: 1e-4, most: 3e-3 } };
const billion = 1e9;

function rateOf(task, modelBytes) {
  const { usual, most } = rates[task];
  const parameters = (modelBytes ?? 2 * billion) / 2;  // halves, as most folders have them
  const rate = Math.min(most, Math.max(usual / 2, usual * Math.sqrt(billion / Math.max(1, parameters))));
  return rate.toExponential(0);  // 2e-5
}

// Few records make few steps unless a step takes less of them.
const mostSequences = 16, leastStepsOfAPass = 8;

// A multiple of the processes, so that every process can take as many as the others.
function sequencesOf({ task, processes, records }) {
  const wanted = task === 'scratch' || records === undefined ? mostSequences : Math.min(mostSequences, Math.ceil(records / leastStepsOfAPass));
  return String(Math.max(1, Math.ceil(wanted / processes)) * processes);
}

// Fewer updates of the weights rarely teach a model new answers.
export const leastSteps = 100;
const fewestPasses = 3, mostPasses = 100;

// So many passes that a small set of data makes at least that many.
function passesOf(records, sequences) {
  if (!(records > 0)) return String(fewestPasses);
  return String(Math.min(mostPasses, Math.max(fewestPasses, Math.ceil((leastSteps * sequences) / records))));
}

// known: {chats, modelBytes, records} of the model and data that were chosen, where the server knows them: whether the model brings a chat
// template, its size, and the records of the data.
export function adviceOf({ task, processes, known = {} }) {
  const sequences = sequencesOf({ task, processes, records: known.records });
  const advice = { ...values[task], 'batch.global_batch_size': sequences };
  if (task === 'scratch') return advice;
  advice['optimizer.lr'] = rateOf(task, known.modelBytes);
  advice['train.epochs'] = passesOf(known.records, Number(sequences));
  if (known.chats === false) advice['data.chat_template'] = 'chatml';
  return advice;
}

// What settings are for, where they come from a file.
export function taskOf(settings) {
  if (!settings['model.path']) return 'scratch';
  return Number(settings['lora.rank'] || 0) > 0 || settings['lora.path'] ? 'lora' : 'tune';
}
