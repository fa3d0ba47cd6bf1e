"use strict";
// Where the page is narrow, each cell shows its column's title.
for (const table of document.querySelectorAll("table")) {
  const titles = [...table.rows[0].cells].map(cell => cell.textContent);
  for (const row of [...table.rows].slice(1))
    for (const cell of row.cells)
      if (cell.colSpan === 1 && titles[cell.cellIndex]) cell.dataset.title = titles[cell.cellIndex];
}

// Draws the timelines: a band a thread, decisions above it, nested events below each other.
(() => {
  const source = document.getElementById("events");
  if (!source) { document.body.dataset.drawn = "0"; return; }
  const data = JSON.parse(source.textContent);
  const plot = document.getElementById("plot"), tip = document.getElementById("tip");
  const canvas = plot.querySelector("canvas"), pen = canvas.getContext("2d");
  const ROW = 17, GAP = 26, TOP = 30, LEFT = 12;
  let end = 1, height = TOP;
  for (const t of data.threads) {
    t.levels = 1;
    for (const e of t.events) {
      end = Math.max(end, e[0] + e[1]);
      t.levels = Math.max(t.levels, e[2] + 1);
    }
    t.top = height + 32;
    height = t.top + t.levels * ROW + GAP - 14;
  }
  let from = 0, to = end * 1.002;
  const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const width = () => canvas.clientWidth - 2 * LEFT;
  const x = ns => LEFT + (ns - from) / (to - from) * width();
  const when = ns => {
    const span = to - from;
    if (span > 2e9) return (ns / 1e9).toFixed(2) + " s";
    if (span > 2e6) return (ns / 1e6).toFixed(span > 2e7 ? 1 : 3) + " ms";
    return (ns / 1e3).toFixed(span > 2e4 ? 1 : 3) + " µs";
  };
  const long = ns => ns >= 1e9 ? (ns / 1e9).toFixed(3) + " s" : ns >= 1e6 ? (ns / 1e6).toFixed(3) + " ms"
    : (ns / 1e3).toFixed(3) + " µs";

  function draw() {
    const scale = window.devicePixelRatio || 1;
    canvas.style.height = height + "px";
    canvas.width = canvas.clientWidth * scale;
    canvas.height = height * scale;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, canvas.clientWidth, height);
    const colors = data.kinds.map((_, i) => style("--k" + i));
    const text = style("--text"), soft = style("--soft"), line = style("--line");
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    // Ticks at 1, 2 or 5 times a power of ten.
    const about = (to - from) / Math.max(2, width() / 130), power = 10 ** Math.floor(Math.log10(about));
    const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= about);
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      pen.fillStyle = line;
      pen.fillRect(Math.round(x(at)), 24, 1, height);
      pen.fillStyle = soft;
      pen.textAlign = x(at) > canvas.clientWidth - 50 ? "right" : x(at) < 40 ? "left" : "center";
      pen.fillText(when(at), x(at), 13);
    }
    let drawn = 0;
    for (const t of data.threads) {
      pen.textAlign = "left";
      pen.fillStyle = text;
      pen.fillText(t.name, LEFT, t.top - 22);
      // What would fall on a pixel that has its colour already is left out.
      const last = Array.from({length: t.levels}, () => [-1, -1]);
      for (const e of t.events) {
        if (e[0] > to || e[0] + e[1] < from) continue;
        const a = Math.max(x(e[0]), 0), b = Math.min(x(e[0] + e[1]), canvas.clientWidth);
        const y = t.top + e[2] * ROW;
        pen.fillStyle = colors[e[3]];
        if (data.kinds[e[3]] === "decision") {
          pen.beginPath();
          pen.moveTo(a, t.top - 1);
          pen.lineTo(a - 4, t.top - 9);
          pen.lineTo(a + 4, t.top - 9);
          pen.fill();
          drawn++;
          continue;
        }
        const wide = Math.max(b - a, 0.6);
        if (wide < 1 && Math.floor(a) === last[e[2]][0] && e[3] === last[e[2]][1]) continue;
        last[e[2]] = [Math.floor(a), e[3]];
        pen.fillRect(a, y, wide > 3 ? wide - 0.5 : wide, ROW - 2);
        drawn++;
        if (wide > 34) {
          pen.save();
          pen.beginPath();
          pen.rect(a, y, wide - 4, ROW);
          pen.clip();
          pen.fillStyle = ink(colors[e[3]]);
          pen.fillText(fitting(data.texts[e[4]], wide - 10), a + 4, y + ROW / 2 - 0.5);
          pen.restore();
        }
      }
    }
    document.body.dataset.drawn = drawn;
  }

  // The text, or as much of it as there is room for.
  function fitting(text, room) {
    if (pen.measureText(text).width <= room) return text;
    let n = text.length;
    while (n > 0 && pen.measureText(text.slice(0, n) + "\u2026").width > room) n--;
    return n > 2 ? text.slice(0, n) + "\u2026" : "";
  }

  // Black or white, whichever is easier to read on the colour.
  function ink(color) {
    const c = [1, 3, 5].map(i => parseInt(color.slice(i, i + 2), 16) / 255)
      .map(v => v <= 0.04 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] > 0.18 ? "#111111" : "#ffffff";
  }

  function zoom(at, factor) {
    const middle = from + (at - LEFT) / width() * (to - from);
    const span = Math.min(Math.max((to - from) * factor, 100), end * 1.002);
    from = Math.max(0, middle - (middle - from) / (to - from) * span);
    to = Math.min(from + span, end * 1.002);
    from = Math.max(0, to - span);
    draw();
  }
  function pan(ns) {
    const move = Math.min(Math.max(ns, -from), end * 1.002 - to);
    from += move;
    to += move;
    draw();
  }
  function find(px, py) {
    const t = data.threads.find(t => py >= t.top - 10 && py < t.top + t.levels * ROW);
    if (!t) return null;
    const at = from + (px - LEFT) / width() * (to - from), reach = 5 / width() * (to - from);
    if (py < t.top) return t.events.find(e => data.kinds[e[3]] === "decision" && Math.abs(e[0] - at) < reach);
    const level = Math.floor((py - t.top) / ROW);
    return t.events.find(e => e[2] === level && e[1] > 0 && at >= e[0] && at < e[0] + e[1]);
  }

  let grabbed = null;
  canvas.addEventListener("wheel", e => {
    if (!e.ctrlKey && document.activeElement !== canvas) return;
    e.preventDefault();
    zoom(e.offsetX, e.deltaY > 0 ? 1.25 : 0.8);
  }, {passive: false});
  canvas.addEventListener("pointerdown", e => { grabbed = e.offsetX; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointerup", () => { grabbed = null; });
  canvas.addEventListener("dblclick", () => { from = 0; to = end * 1.002; draw(); });
  canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  canvas.addEventListener("pointermove", e => {
    if (grabbed !== null) {
      pan((grabbed - e.offsetX) / width() * (to - from));
      grabbed = e.offsetX;
    }
    const hit = find(e.offsetX, e.offsetY);
    tip.style.display = hit ? "block" : "none";
    if (!hit) return;
    tip.textContent = data.texts[hit[4]] + (hit[1] ? ": " + long(hit[1]) : "") + ", at " + long(hit[0]);
    tip.style.left = Math.max(0, Math.min(e.offsetX + 12, canvas.clientWidth - tip.offsetWidth)) + "px";
    tip.style.top = (e.offsetY + 16) + "px";
  });
  canvas.addEventListener("keydown", e => {
    const middle = canvas.clientWidth / 2, step = (to - from) / 8;
    const keys = {
      "+": () => zoom(middle, 0.7), "-": () => zoom(middle, 1.4), "0": () => { from = 0; to = end * 1.002; draw(); },
      "ArrowLeft": () => pan(-step), "ArrowRight": () => pan(step),
    };
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
