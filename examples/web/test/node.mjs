// Classifies the test images and drawn digits, in node.
//
//   node node.mjs FOLDER IMAGES.npy LABELS.npy

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { drawn } from "./strokes.mjs";

const [folder, images, labels] = process.argv.slice(2);
const { best, classifier, imageOf } = await import(pathToFileURL(`${folder}/digits.mjs`));

// The bytes of the elements of an .npy file of version 1, from 0 on in a buffer.
function elements(file) {
  const bytes = readFileSync(file);
  return new Uint8Array(bytes.subarray(10 + bytes.readUInt16LE(8)));
}

const classify = await classifier();
const pixels = new Float32Array(elements(images).buffer), digits = elements(labels);
const count = pixels.length / 64, size = digits.length / count; // bytes of a label
let right = 0;
for (let i = 0; i < count; i++)
  right += best(classify(pixels.subarray(64 * i, 64 * (i + 1)))) === digits[size * i];
console.log(`${right} of ${count} images right`);

const all = Object.keys(drawn);
const wrong = all.filter((d) => best(classify(imageOf(drawn[d]))) !== Number(d));
console.log(`${wrong.length} of ${all.length} drawn digits wrong: ${wrong}`);
