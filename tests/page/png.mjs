// Pixels of a PNG of 8 bits a channel, as Chromium writes them (RFC 2083).
import zlib from 'node:zlib';

const channels_of = {0: 1, 2: 3, 4: 2, 6: 4};

// {width, height, at(x, y): [red, green, blue], colours(box?): Map of '#rrggbb' to how many pixels have it}
export function decoded(file) {
  if (file.readUInt32BE(0) !== 0x89504e47) throw new Error('this is no PNG');
  const parts = [];
  let width = 0, height = 0, channels = 0;
  for (let at = 8; at < file.length;) {
    const length = file.readUInt32BE(at), type = file.toString('latin1', at + 4, at + 8), data = file.subarray(at + 8, at + 8 + length);
    if (type === 'IHDR') {
      width = data.readUInt32BE(0);
      height = data.readUInt32BE(4);
      channels = channels_of[data[9]];
      if (data[8] !== 8 || channels === undefined || data[12] !== 0) throw new Error('a PNG of another kind than Chromium writes');
    } else if (type === 'IDAT') {
      parts.push(data);
    }
    at += 12 + length;
  }
  const bytes = unfiltered(zlib.inflateSync(Buffer.concat(parts)), width * channels, height, channels);
  const at = (x, y) => {
    const first = (Math.round(y) * width + Math.round(x)) * channels;
    return channels < 3 ? [bytes[first], bytes[first], bytes[first]] : [bytes[first], bytes[first + 1], bytes[first + 2]];
  };
  const colours = ({x = 0, y = 0, width: w = width, height: h = height} = {}) => {
    const counts = new Map();
    for (let row = Math.max(0, Math.floor(y)); row < Math.min(height, y + h); ++row) {
      for (let column = Math.max(0, Math.floor(x)); column < Math.min(width, x + w); ++column) {
        const name = hex(at(column, row));
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    }
    return counts;
  };
  return {width, height, at, colours};
}

export const hex = (colour) => '#' + colour.map((value) => value.toString(16).padStart(2, '0')).join('');

// [red, green, blue] of '#rrggbb', '#rgb' or 'rgb(1, 2, 3)'.
export function colour_of(text) {
  const numbers = /^rgba?\(([^)]*)\)$/.exec(text);
  if (numbers) return numbers[1].split(/[ ,/]+/).slice(0, 3).map(Number);
  const digits = text.trim().replace('#', '');
  return [0, 1, 2].map((i) => digits.length === 3 ? parseInt(digits[i].repeat(2), 16) : parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}

// Relative luminance and contrast (WCAG 2.1).
const linear = (value) => value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
export const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
export function contrast(one, other) {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function unfiltered(data, stride, height, channels) {
  const out = Buffer.alloc(stride * height);
  for (let row = 0; row < height; ++row) {
    const kind = data[row * (stride + 1)], from = row * (stride + 1) + 1, to = row * stride;
    for (let i = 0; i < stride; ++i) {
      const left = i >= channels ? out[to + i - channels] : 0, above = row > 0 ? out[to - stride + i] : 0;
      const corner = i >= channels && row > 0 ? out[to - stride + i - channels] : 0;
      out[to + i] = data[from + i] + predicted(kind, left, above, corner);
    }
  }
  return out;
}

function predicted(kind, left, above, corner) {
  switch (kind) {
    case 1: return left;
    case 2: return above;
    case 3: return (left + above) >> 1;
    case 4: {
      const estimate = left + above - corner, a = Math.abs(estimate - left), b = Math.abs(estimate - above), c = Math.abs(estimate - corner);
      return a <= b && a <= c ? left : b <= c ? above : corner;
    }
    default: return 0;
  }
}
