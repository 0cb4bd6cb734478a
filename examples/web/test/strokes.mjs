// Digits as strokes in a box of 100 x 100.

const arc = (x, y, rx, ry, from, to) =>
  Array.from({ length: 25 }, (_, i) => {
    const a = ((from + ((to - from) * i) / 24) * Math.PI) / 180;
    return [x + rx * Math.cos(a), y + ry * Math.sin(a)];
  });

export const drawn = {
  0: [arc(50, 50, 28, 45, 0, 360)],
  1: [[[35, 20], [55, 5], [55, 95]]],
  3: [arc(45, 28, 28, 23, -140, 90), arc(45, 73, 30, 23, -90, 140)],
  4: [[[45, 5], [20, 60], [80, 60]], [[60, 35], [60, 95]]],
  7: [[[20, 8], [80, 8], [45, 95]], [[30, 50], [75, 50]]],
};
