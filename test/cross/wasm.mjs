// Runs a module that exports `net` as program.c does.
//
//   node wasm.mjs FOLDER ALIGN PLACEHOLDERS INPUT_BYTES RESULT_OFFSET RESULT_BYTES ACTIVATIONS
import { readFileSync } from "node:fs";

const [folder, ...numbers] = process.argv.slice(2);
const [align, io, inputBytes, at, bytes, scratch] = numbers.map(Number);
const weights = readFileSync(`${folder}/net.weights`);
const inputs = readFileSync(`${folder}/inputs`);
const module = new WebAssembly.Module(readFileSync(`${folder}/net.wasm`));
const { net, memory, __heap_base } = new WebAssembly.Instance(module, {}).exports;

const place = (from, size) => Math.ceil((from + size) / align) * align;
const constants = place(__heap_base.value, 0);
const placeholders = place(constants, weights.length);
const activations = place(placeholders, io);
const need = place(activations, scratch) - memory.buffer.byteLength;
if (need > 0) memory.grow(Math.ceil(need / 65536));
const view = new Uint8Array(memory.buffer);
view.set(weights, constants);
for (let i = 0; i < inputs.length; i += inputBytes) {
    view.set(inputs.subarray(i, i + inputBytes), placeholders);
    if (net(constants, placeholders, activations) !== 0) process.exit(3);
    const result = view.subarray(placeholders + at, placeholders + at + bytes);
    console.log(Buffer.from(result).toString("hex"));
}
