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
  scratch: { 'train.steps': '500', 'optimizer.lr': '0.001', 'optimizer.warmup_ratio': '0.05' },
  tune: { 'train.epochs': '3', 'optimizer.lr': '2e-05', 'batch.seq_len': '512', 'optimizer.warmup_ratio': '0.05' },
  lora: { 'train.epochs': '3', 'optimizer.lr': '0.0001', 'batch.seq_len': '512', 'optimizer.warmup_ratio': '0.05', 'lora.rank': '8' },
};
const sequencesOfAStep = 16;

// The step's sequences are a multiple of the processes, so that every process can take as many as the others. `chats`: whether the model
// brings a chat template, where that is known.
export function adviceOf({ task, processes, chats }) {
  const each = Math.ceil(sequencesOfAStep / Math.max(1, processes));
  const advice = { ...values[task], 'batch.global_batch_size': String(each * Math.max(1, processes)) };
  if (task !== 'scratch' && chats === false) advice['data.chat_template'] = 'chatml';
  return advice;
}

// What settings are for, where they come from a file.
export function taskOf(settings) {
  if (!settings['model.path']) return 'scratch';
  return Number(settings['lora.rank'] || 0) > 0 || settings['lora.path'] ? 'lora' : 'tune';
}
