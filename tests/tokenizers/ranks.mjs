// A tokenizer.json from the ranks of a tiktoken encoding.

// Bytes as strings of characters U+0000 to U+00FF.
function decodeRanks(text) {
  const ranks = new Map();
  for (const line of text.split('\n').filter((one) => one)) {
    const [, first, ...tokens] = line.split(' ');
    tokens.forEach((token, i) => ranks.set(Buffer.from(token, 'base64').toString('latin1'), Number(first) + i));
  }
  return ranks;
}

// The two tokens that were merged last to make `token`: merge what has a lower rank than it until two parts are left.
function lastMerge(token, rank, ranks) {
  let parts = [...token];
  while (parts.length > 2) {
    let best = rank, at = -1;
    for (let i = 0; i + 1 < parts.length; ++i) {
      const found = ranks.get(parts[i] + parts[i + 1]);
      if (found !== undefined && found < best) [best, at] = [found, i];
    }
    if (at < 0) return null;
    parts.splice(at, 2, parts[at] + parts[at + 1]);
  }
  return parts;
}

function byteSpelling() {
  const spelling = [];
  for (let byte = 0, next = 256; byte < 256; ++byte) {
    const prints = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    spelling.push(String.fromCodePoint(prints ? byte : next++));
  }
  return spelling;
}

export function tokenizerOf(encoding, preTokenizer, ignoreMerges) {
  const ranks = decodeRanks(encoding.bpe_ranks), letters = byteSpelling();
  const spell = (token) => [...token].map((c) => letters[c.charCodeAt(0)]).join('');
  const vocab = {}, merges = [];
  for (const [token, rank] of [...ranks].sort((a, b) => a[1] - b[1])) {
    vocab[spell(token)] = rank;
    const pair = token.length > 1 ? lastMerge(token, rank, ranks) : null;
    if (pair) merges.push(pair.map(spell));
  }
  const flags = {single_word: false, lstrip: false, rstrip: false, normalized: false, special: true};
  return {
    version: '1.0',
    added_tokens: Object.entries(encoding.special_tokens).map(([content, id]) => ({id, content, ...flags})),
    normalizer: null,
    pre_tokenizer: preTokenizer,
    post_processor: {type: 'ByteLevel', add_prefix_space: true, trim_offsets: false},
    decoder: {type: 'ByteLevel', add_prefix_space: true, trim_offsets: true},
    model: {type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: '', end_of_word_suffix: '', fuse_unk: false, ignore_merges: ignoreMerges, vocab, merges},
  };
}
