// Serves a folder on this machine alone.
//
//   node serve.mjs FOLDER [PORT]

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const types = {
  ".html": "text/html",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
};
const [folder, port = "8000"] = process.argv.slice(2);

const server = createServer(async (request, response) => {
  const path = normalize(decodeURI(new URL(request.url, "http://localhost").pathname));
  const file = path.endsWith("/") ? path + "index.html" : path;
  try {
    const bytes = await readFile(join(folder, file));
    const type = types[extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { "Content-Type": type }).end(bytes);
  } catch {
    response.writeHead(404).end();
  }
});
server.listen(Number(port), "127.0.0.1", () =>
  console.log(`http://localhost:${server.address().port}/`));
