// Rows of pixels that are written one by one and drawn to any height: what makes many narrow rectangles cheap.

import { theme } from '../charts.js';
import { kinds } from './model.js';

// The colours of all kinds as the four bytes of a pixel in memory.
function coloursOf() {
  const context = new OffscreenCanvas(kinds.length, 1).getContext('2d');
  kinds.forEach((kind, k) => {
    context.fillStyle = theme(kind.colour);
    context.fillRect(k, 0, 1, 1);
  });
  return new Uint32Array(context.getImageData(0, 0, kinds.length, 1).data.buffer);
}

export class Strips {
  constructor() {
    this.colours = coloursOf();
    this.canvas = new OffscreenCanvas(1, 1);
  }

  // Empty rows of `width` pixels.
  begin(width, rows) {
    if (this.canvas.width !== width || this.canvas.height !== rows) {
      this.canvas.width = width;
      this.canvas.height = rows;
      this.image = new ImageData(width, rows);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(0);
    this.places = [];
  }

  // Where a row is drawn, in pixels.
  place(row, top, height) {
    this.places.push([row, top, height]);
  }

  set(kind, row, left, right) {
    const { width } = this.canvas;
    this.pixels.fill(this.colours[kind], row * width + Math.max(0, left), row * width + Math.min(width, right));
  }

  draw(context, left) {
    const { width } = this.canvas;
    this.canvas.getContext('2d').putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    for (const [row, top, height] of this.places) context.drawImage(this.canvas, 0, row, width, 1, left, top, width, height);
  }
}
