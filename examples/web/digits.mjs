// Digits that are drawn: strokes to pixels, and the class that the network gives.

import { load } from "./network.mjs";

const GRID = 32; // pixels of the bitmap on each side, as in the data set
const CELL = 4; // of the bitmap that become one pixel of the image
const PEN = 2; // radius, in pixels of the bitmap

function bounds(strokes) {
  const points = strokes.flat();
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const left = Math.min(...xs), top = Math.min(...ys);
  return { left, top, width: Math.max(...xs) - left, height: Math.max(...ys) - top };
}

// Sets the pixels of the bitmap within PEN of the line from (x, y) to (u, v).
function drawLine(bitmap, [x, y], [u, v]) {
  const steps = Math.max(1, Math.ceil(2 * Math.hypot(u - x, v - y)));
  for (let i = 0; i <= steps; i++) {
    const a = x + ((u - x) * i) / steps, b = y + ((v - y) * i) / steps;
    for (let r = Math.max(0, Math.ceil(b - PEN)); r <= Math.min(GRID - 1, b + PEN); r++)
      for (let c = Math.max(0, Math.ceil(a - PEN)); c <= Math.min(GRID - 1, a + PEN); c++)
        if (Math.hypot(c - a, r - b) <= PEN) bitmap[r * GRID + c] = 1;
  }
}

// The image of 8 x 8 pixels from 0 to 1 of strokes, which are lists of points [x, y]: the
// drawing fills the height, in the middle, and a pixel is the share of its cell that is
// drawn on.
export function imageOf(strokes) {
  const image = new Float32Array((GRID / CELL) ** 2);
  if (strokes.flat().length === 0) return image;
  const box = bounds(strokes), room = GRID - 1 - 2 * PEN;
  const scale = room / Math.max(box.width, box.height, 1e-6);
  const place = ([x, y]) => [
    (x - box.left - box.width / 2) * scale + (GRID - 1) / 2,
    (y - box.top - box.height / 2) * scale + (GRID - 1) / 2,
  ];
  const bitmap = new Uint8Array(GRID * GRID);
  for (const stroke of strokes)
    stroke.map(place).forEach((p, i, all) => drawLine(bitmap, all[Math.max(0, i - 1)], p));
  bitmap.forEach((on, i) => {
    const row = Math.floor(i / GRID / CELL), column = Math.floor((i % GRID) / CELL);
    image[(row * GRID) / CELL + column] += on / CELL ** 2;
  });
  return image;
}

// A function from an image to the probabilities of the digits 0 to 9.
export async function classifier() {
  const { inputs, outputs, run } = await load();
  return (image) => {
    inputs.image.set(image);
    run();
    return Array.from(outputs.probability);
  };
}

export const best = (probability) => probability.indexOf(Math.max(...probability));
