// Runs the bundle `net` of the working folder on the bytes of x.bin, and writes y.bin.
import { readFileSync, writeFileSync } from "node:fs";

const { load } = await import(`${process.cwd()}/net.mjs`);
const { inputs: { x }, outputs: { y }, run } = await load();
const bytes = (a) => new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
bytes(x).set(readFileSync("x.bin"));
run();
writeFileSync("y.bin", bytes(y));
