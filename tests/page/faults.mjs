// What is wrong with how a page looks, found in the page itself: text that is hard to read, parts that stick out, focus that is not seen.
import {colour_of} from './png.mjs';

// Texts whose contrast with what is behind them is below WCAG 2.1 AA: ['"text" 3.1 (rgb on rgb)']. What cannot be pressed is left out.
export const hard_to_read = (browser) => browser.script(() => {
  const parsed = (text) => {
    const numbers = text.match(/-?[\d.]+(?:e-?\d+)?/g)?.map(Number) ?? [0, 0, 0, 0];
    const scale = text.startsWith('color(') ? 255 : 1;
    return [...numbers.slice(0, 3).map((value) => value * scale), numbers[3] ?? 1];
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255, 1]);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((value) => value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (!text || !element || element.closest('noscript, script, style, option, [aria-hidden=true], svg, :disabled, .hidden-text, .skip')) continue;
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    if (box.width === 0 || box.height === 0 || style.visibility === 'hidden' || Number(style.opacity) < 0.1) continue;
    const ground = behind(element), ink = over(parsed(style.color), ground);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x), contrast = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (contrast < (large ? 3 : 4.5) - 0.005) found.add(`"${text.slice(0, 40)}" ${contrast.toFixed(2)} (${style.color} on ${ground.map(Math.round).slice(0, 3)})`);
  }
  return [...found];
});

// Elements that reach beyond the page's right edge without being within something that scrolls by itself; [] where nothing does.
export const sticks_out = (browser) => browser.script(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width && document.body.scrollWidth <= width) return [];
  return [`the page is ${Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)} wide`, ...[...document.querySelectorAll('body *')].filter((element) => {
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.right <= width + 1) return false;
    for (let at = element.parentElement; at; at = at.parentElement) if (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(at).overflowX)) return false;
    return true;
  }).slice(0, 5).map((element) => `${element.tagName.toLowerCase()}.${element.className} to ${Math.round(element.getBoundingClientRect().right)}`)];
});

// What somebody who reads by ear, or works by keyboard, would miss.
export const without_names = (browser) => browser.script(() => {
  const shown = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== 'hidden';
  const named = (element) => element.getAttribute('aria-label')?.trim() || element.getAttribute('title')?.trim() || (element.getAttribute('aria-labelledby') ?? '').split(' ').some((id) => document.getElementById(id)?.textContent.trim()) ||
    [...(element.labels ?? [])].some((label) => label.textContent.trim()) || (!['INPUT', 'SELECT', 'TEXTAREA'].includes(element.tagName) && element.textContent.trim());
  const what = (element) => element.outerHTML.slice(0, 120);
  const found = [...document.querySelectorAll('a, button, input, select, textarea, [tabindex="0"], [role=button], [role=img]')].filter((element) => shown(element) && !named(element)).map((element) => `without a name: ${what(element)}`);
  found.push(...[...document.querySelectorAll('img')].filter((image) => !image.hasAttribute('alt')).map((image) => `without alt: ${what(image)}`));
  if (document.querySelectorAll('main').length !== 1) found.push(`${document.querySelectorAll('main').length} main landmarks`);
  if ([...document.querySelectorAll('h1')].filter(shown).length !== 1) found.push(`${document.querySelectorAll('h1').length} heads of the first order`);
  const ids = [...document.querySelectorAll('[id]')].map(({id}) => id), twice = ids.filter((id, i) => ids.indexOf(id) !== i);
  if (twice.length > 0) found.push(`ids that stand there twice: ${twice}`);
  for (const element of document.querySelectorAll('[aria-describedby], [aria-labelledby], label[for]'))
    for (const id of [element.getAttribute('aria-describedby'), element.getAttribute('aria-labelledby'), element.getAttribute('for')].filter(Boolean).join(' ').split(' '))
      if (!document.getElementById(id)) found.push(`no element ${id}, of ${what(element)}`);
  return found;
});

// Whether what has the focus shows it: an outline or a shadow that it does not have otherwise.
export const focus_is_seen = (browser) => browser.script(() => {
  const element = document.activeElement, style = getComputedStyle(element);
  const ringed = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
  return ringed || style.boxShadow !== 'none';
});

// Which of some colours a pixel is nearest to: the index.
export function nearest_colour(pixel, colours) {
  let best = 0, distance = Infinity;
  colours.forEach((colour, i) => {
    const away = colour.reduce((sum, value, channel) => sum + (value - pixel[channel]) ** 2, 0);
    if (away < distance) [best, distance] = [i, away];
  });
  return best;
}

// [red, green, blue] of variables of the style sheet.
export const colours_of = async (browser, names) => (await browser.script((names) => names.map((name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()), names)).map(colour_of);
