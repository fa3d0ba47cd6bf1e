#!/usr/bin/env python3
"""Draw the report page of a run, and the book's first page, in headless Chromium, 1400 and 500 pixels wide.

usage: scripts/lib/screens.py [--keep FOLDER]

Nothing may be wider than the window or than what holds it, and no text may lie over another one or over a mark.
With --keep the pictures go to FOLDER. Status 77 and a reason where Chromium is not installed.
"""
import argparse
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
WIDTHS = (1400, 500)

# Loops under each schedule, tasks, and names that are longer than a column.
PROGRAM = r"""
#include <math.h>
#include <stdio.h>
static double a[20000], b[20000];
static void smooth(void) {
    #pragma omp parallel for schedule(runtime)
    for (int i = 1; i < 19999; i++) for (int k = 0; k < 20; k++) b[i] += sin(a[i - 1] + k) + a[i + 1];
}
static double sum_of_all_elements_in_a_function_with_a_rather_long_name(void) {
    double sum = 0;
    #pragma omp parallel for reduction(+ : sum) schedule(dynamic, 1000)
    for (int i = 0; i < 20000; i++) sum += a[i] = b[i] * 0.01;
    return sum;
}
static void tasks(void) {
    #pragma omp parallel
    #pragma omp single
    for (int i = 0; i < 8; i++) {
        #pragma omp task firstprivate(i)
        a[i] += sin(i);
    }
}
int main(void) {
    double sum = 0;
    for (int i = 0; i < 20; i++) {
        smooth();
        sum += sum_of_all_elements_in_a_function_with_a_rather_long_name();
        tasks();
    }
    printf("%g\n", sum);
}
"""

# Before the page's own script: notes what is drawn on canvases.
BEFORE = """<script>
const drawn = {texts: [], marks: []}, pen = CanvasRenderingContext2D.prototype;
let path = [];
for (const [name, note] of Object.entries({
  clearRect: () => { drawn.texts = []; drawn.marks = []; },
  fillText: (p, text, x, y) => {
    const w = p.measureText(text).width, left = {right: x - w, center: x - w / 2}[p.textAlign] ?? x;
    if (text) drawn.texts.push({text, left, right: left + w, top: y - 5, bottom: y + 5});
  },
  beginPath: () => { path = []; },
  moveTo: (p, x, y) => path.push([x, y]),
  lineTo: (p, x, y) => path.push([x, y]),
  fill: () => {
    const x = path.map(at => at[0]), y = path.map(at => at[1]);
    drawn.marks.push({text: "a mark", left: Math.min(...x), right: Math.max(...x),
      top: Math.min(...y), bottom: Math.max(...y)});
  },
})) {
  const own = pen[name];
  pen[name] = function (...values) { note(this, ...values); return own.apply(this, values); };
}
</script>"""

# After everything: finds what is wrong, and leaves it in an attribute.
AFTER = """<script>
{
  const wrong = [], part = document.querySelector("main"), most = innerWidth + 1;
  for (const details of document.querySelectorAll("details")) details.open = true;
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  const apart = (boxes, others) => boxes.forEach((a, i) => (others || boxes.slice(i + 1)).forEach(b => {
    if (over(a, b)) wrong.push(`'${a.text}' lies over '${b.text}'`);
  }));
  if (innerWidth !== WIDTH) wrong.push(`the window is ${innerWidth} wide`);
  const whole = document.documentElement.scrollWidth;
  if (whole > innerWidth) wrong.push(`the page is ${whole} wide`);
  for (const e of part.querySelectorAll("*")) {
    if (e.closest("pre, .table-wrapper")) continue;
    const box = e.getBoundingClientRect(), what = `<${e.localName}> '${e.textContent.trim().slice(0, 30)}'`;
    if (box.width && box.right > most) wrong.push(`${what} ends at ${box.right}`);
    if (e.clientWidth && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline")
      wrong.push(`${what} is ${e.scrollWidth} wide in ${e.clientWidth}`);
  }
  const boxes = [], walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.data.trim(), range = document.createRange();
    if (!text || walk.currentNode.parentElement.closest("script, style, pre, .table-wrapper")) continue;
    range.selectNodeContents(walk.currentNode);
    for (const r of range.getClientRects())
      boxes.push({text: text.slice(0, 30), left: r.left, right: r.right, top: r.top + 3, bottom: r.bottom - 3});
  }
  apart(boxes);
  apart(drawn.texts);
  apart(drawn.texts, drawn.marks);
  for (const t of drawn.texts)
    if (t.left < 0 || t.right > document.querySelector("canvas").clientWidth) wrong.push(`'${t.text}' is cut`);
  document.body.dataset.wrong = JSON.stringify([...new Set(wrong)]);
  document.body.dataset.seen = JSON.stringify([boxes.length, drawn.texts.length, drawn.marks.length]);
}
</script>"""


def chromium():
    found = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    return next(filter(None, found), None)


def look(browser, page, width, keep):
    """What is wrong with a page `width` pixels wide, and how much was seen: texts, drawn texts and marks."""
    with open(page) as file:
        text = file.read()
    text = text.replace("<head>", "<head>" + BEFORE, 1)
    at = text.rindex("</body>")
    changed = f"{page}.{width}.html"
    with open(changed, "w") as file:
        file.write(text[:at] + AFTER.replace("WIDTH", str(width)) + text[at:])
    common = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
              f"--window-size={width},2200", f"--user-data-dir={os.path.dirname(page)}/browser"]
    if keep:
        os.makedirs(keep, exist_ok=True)
        name = f"{os.path.basename(page).removesuffix('.html')}-{width}.png"
        shot = [f"--screenshot={os.path.join(os.path.abspath(keep), name)}", f"file://{page}"]
        subprocess.run(common + shot, check=True, timeout=120, stderr=subprocess.DEVNULL)
    command = common + ["--dump-dom", f"file://{changed}"]
    out = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True)
    found = [re.search(rf'data-{name}="([^"]*)"', out.stdout) for name in ("wrong", "seen")]
    if not all(found):
        return ["the check did not run"], [0, 0, 0]
    return [json.loads(html.unescape(one[1])) for one in found]


def report(folder, target):
    """Runs the program on two unlike nodes, and writes its page."""
    names = ("program.c", "a-program-whose-name-is-long", "report.html", "trace.json")
    source, program, page, trace = (os.path.join(folder, name) for name in names)
    with open(source, "w") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-O2", "-g", "-fopenmp", source, "-o", program, "-lm"], check=True)
    command = [f"{target}/hetmp", "run", "--library", f"{target}/libhetmp.so", "--threads", "4",
               "--html", page, "--trace", trace, "--nodes", "cores=0;cores=1,speed=0.4", program]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
    return page


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--keep")
    keep = parser.parse_args().keep
    browser = chromium()
    if not browser:
        print("Chromium is not installed (apt install chromium)")
        return 77
    if os.cpu_count() < 2:
        print("one CPU: there are no two nodes")
        return 77
    target = os.path.join(ROOT, os.environ.get("CARGO_TARGET_DIR", "target"), "release")
    if not all(os.path.exists(f"{target}/{name}") for name in ("hetmp", "libhetmp.so")):
        build = ["cargo", "build", "--locked", "--quiet", "--release", "-p", "hetmp", "-p", "hetmp-cli"]
        subprocess.run(build, cwd=ROOT, check=True)
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        pages = [(report(folder, target), (20, 5, 1))]
        mdbook = shutil.which("mdbook") or f"{ROOT}/target/tools/mdbook/bin/mdbook"
        if os.path.exists(mdbook):
            book = [mdbook, "build", "--dest-dir", f"{folder}/book", f"{ROOT}/docs"]
            subprocess.run(book, check=True, stdout=subprocess.DEVNULL)
            pages.append((f"{folder}/book/index.html", (20, 0, 0)))
        else:
            print("skipped: the book's first page: mdbook is not installed (scripts/setup)")
            skipped = len(WIDTHS)
        for page, least in pages:
            for width in WIDTHS:
                wrong, seen = look(browser, page, width, keep)
                if any(a < b for a, b in zip(seen, least)):
                    wrong.append(f"{seen} texts, drawn texts and marks (expected at least {list(least)})")
                for line in wrong[:20]:
                    print(f"hetmp: {os.path.basename(page)}, {width} pixels: {line}")
                passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


sys.exit(main())
