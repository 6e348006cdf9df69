// The curves of a run.

import { Board } from '../curves/board.js';

export function mount(parent, { run, live }) {
  const board = new Board(parent, [run], live);
  return { unmount: () => board.unmount() };
}
