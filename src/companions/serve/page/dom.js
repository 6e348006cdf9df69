// Elements of the page. Whatever a run or a server says enters as text and never as markup.

const svgNamespace = 'http://www.w3.org/2000/svg';

// Escape sequences of terminals and other control characters, which words of programs that failed may have.
const notShown = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-_])|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const shownText = (value) => String(value).replace(notShown, '');

function set(node, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
  else if (name === 'dataset') Object.assign(node.dataset, value);
  else if (name === 'value' || name === 'checked' || name === 'indeterminate') node[name] = value;
  else node.setAttribute(name, value === true ? '' : String(value));
}

function made(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) set(node, name, value);
  append(node, children);
  return node;
}

// Children: nodes, texts, numbers, lists of them; null, undefined and false are left out.
export function append(node, children) {
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false)
      node.append(child instanceof Node ? child : document.createTextNode(shownText(child)));
  return node;
}

// props: attributes ('class', 'aria-label', true for one without a value), listeners ('onclick'), 'dataset', 'value', 'checked'.
export function el(tag, props, ...children) {
  const node = made(document.createElement(tag), props, children);
  // A select has its value only once it has its options.
  if (tag === 'select' && props?.value !== undefined && props.value !== null) node.value = props.value;
  return node;
}

export function svg(tag, props, ...children) {
  return made(document.createElementNS(svgNamespace, tag), props, children);
}

export function clear(node) {
  node.replaceChildren();
  return node;
}

export function fill(node, ...children) {
  clear(node);
  return append(node, children);
}

// Writes only what differs, so that a selection in the text and the reader's place stay.
export function setText(node, text) {
  const wanted = shownText(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}

let made_ids = 0;
export function freshId(prefix) {
  made_ids += 1;
  return `${prefix}-${made_ids}`;
}
