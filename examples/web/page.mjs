// The page: the pointer draws strokes, and each change is classified.

import { best, classifier, imageOf } from "./digits.mjs";

const paper = document.getElementById("paper"), pen = paper.getContext("2d");
const answer = document.getElementById("answer"), bars = document.getElementById("bars");
const classify = await classifier();
let strokes = [], down = false;

pen.lineWidth = 16;
pen.lineCap = pen.lineJoin = "round";

function show() {
  const empty = strokes.flat().length === 0;
  const probability = empty ? new Array(10).fill(0) : classify(imageOf(strokes));
  answer.textContent = empty ? "" : best(probability);
  bars.replaceChildren(...probability.map((p, digit) => {
    const row = document.createElement("tr");
    row.innerHTML = `<td>${digit}<td><meter value="${p}"></meter><td>${(100 * p).toFixed(1)} %`;
    return row;
  }));
}

function draw(event) {
  if (!down) return;
  const stroke = strokes.at(-1), last = stroke.at(-1);
  stroke.push([event.offsetX, event.offsetY]);
  pen.beginPath();
  pen.moveTo(...(last ?? stroke[0]));
  pen.lineTo(...stroke.at(-1));
  pen.stroke();
  show();
}

paper.addEventListener("pointerdown", (event) => {
  down = true;
  strokes.push([]);
  draw(event);
});
paper.addEventListener("pointermove", draw);
addEventListener("pointerup", () => (down = false));
document.getElementById("clear").addEventListener("click", () => {
  strokes = [];
  pen.clearRect(0, 0, paper.width, paper.height);
  show();
});
show();
document.body.dataset.ready = "true";
