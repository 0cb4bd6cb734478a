// Runs the bundle `net` in a folder as program.c does, by its loader.
//
//   node wasm.mjs FOLDER
import { readFileSync } from "node:fs";

const folder = process.argv[2];
const { load } = await import(`${folder}/net.mjs`);
const { inputs, outputs, run } = await load();
const bytes = new Uint8Array(inputs.image.buffer, inputs.image.byteOffset,
                             inputs.image.byteLength);
const images = readFileSync(`${folder}/inputs`);
for (let i = 0; i < images.length; i += bytes.length) {
  bytes.set(images.subarray(i, i + bytes.length));
  run();
  const { buffer, byteOffset, byteLength } = outputs.probability;
  console.log(Buffer.from(buffer, byteOffset, byteLength).toString("hex"));
}
