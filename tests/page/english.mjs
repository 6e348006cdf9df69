// English that somebody who reads a page in Chinese still sees.

// Where words stand that are not the program's to translate.
const others = [
  'code, pre, .mono, kbd, samp',      // commands, files, records of data
  '.log, .logs, [data-log]',          // lines of logs
  'option',                           // words of settings
  '[lang=en]',                        // what a run has said, below the same in Chinese
];
// Names of the field, of products and of what stands in files: no sentences.
const names = ['Weights & Biases', 'Hugging Face', 'YAML', 'JSON lines', 'Mbit/s', 'GPipe', 'ZB-H1', 'Adam W', 'bits per second'];

// What is quoted: the ends that runs and sweeps of these tests have stored.
const quoted = ['rank 1 on pi1 was killed by signal 9', '3 heads do not divide by 4, so "tp 3" cannot be'];

// Stretches of three or more English words in what is visible of a page: ['"text" in tag.class'].
export const english_of = (browser) => browser.script((others, known) => {
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!element || element.closest(`noscript, script, style, .hidden-text, ${others.join(', ')}`)) continue;
    if (element.getClientRects().length === 0 || getComputedStyle(element).visibility === 'hidden') continue;
    let text = walker.currentNode.textContent;
    for (const words of known) text = text.replaceAll(words, ' ');
    const stretch = /(?:\b[A-Za-z][a-z']+[,;:]? ){2,}[A-Za-z][a-z']+\b/.exec(text);
    if (stretch) found.add(`"${stretch[0]}" in ${element.tagName.toLowerCase()}.${element.className}: ${text.trim().slice(0, 160)}`);
  }
  return [...found];
}, others, [...names, ...quoted]);
