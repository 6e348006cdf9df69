// Settings of runs, compared line by line.

// A file of settings as Troika writes it: sections of "key: value", and lists of "- value" below a key. Gives "section.key" -> text.
export function settingsOf(yaml) {
  const found = new Map();
  const above = [];  // [{indent, name}]
  for (const line of yaml.split('\n')) {
    const parts = /^(\s*)(?:- (.*)|([^\s:#][^:]*):(?:\s+(.*))?)$/.exec(line);
    if (parts === null) continue;
    const [, space, item, key, value = ''] = parts;
    while (above.length > 0 && above.at(-1).indent >= space.length + (item === undefined ? 0 : 1)) above.pop();
    const names = above.map(({ name }) => name);
    if (item !== undefined) {
      const name = names.join('.');
      found.set(name, found.get(name) ? `${found.get(name)}, ${item}` : item);
      continue;
    }
    above.push({ indent: space.length, name: key });
    if (value !== '') found.set([...names, key].join('.'), value);
  }
  return found;
}

// What is not the same in all: [[name, [value or undefined of each]]], in the order of the files.
export function differing(all) {
  const names = new Set(all.flatMap((settings) => [...settings.keys()]));
  return [...names].map((name) => [name, all.map((settings) => settings.get(name))])
    .filter(([, values]) => values.some((value) => value !== values[0]));
}
