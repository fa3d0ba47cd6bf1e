#!/usr/bin/env python3
"""Check the pages: every link and every file in backticks leads somewhere, and every page is in docs/SUMMARY.md.

usage: scripts/lib/pages.py
"""
import glob
import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
PAGES = sorted(glob.glob("docs/**/*.md", recursive=True))
PAGES += ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "examples/README.md"]
# What pages call by its path from the root.
ROOTS = ("c-tests/", "abi-compat/", "docs/", "include/", "scripts/")


def text_of(page):
    with open(page) as file:
        return file.read()


def anchors(page):
    heads = re.sub(r"^```.*?^```", "", text_of(page), flags=re.M | re.S)
    heads = re.findall(r"^#+ +(.*)$", heads, re.M)
    plain = (re.sub(r"[`*]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head)) for head in heads)
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in plain}


def wrong(page):
    text = text_of(page)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
        if not os.path.exists(path):
            yield f"'{target}': not there"
        elif anchor and path.endswith(".md") and anchor not in anchors(path):
            yield f"'{target}': no such heading"
    for path in re.findall(r"`((?:%s)[\w./-]+\.\w+)`" % "|".join(ROOTS), text):
        if not os.path.exists(path):
            yield f"'{path}': not there"


def main():
    lines = [f"{page}: {what}" for page in PAGES for what in wrong(page)]
    listed = set(re.findall(r"\]\(([^)]+)\)", text_of("docs/SUMMARY.md"))) | {"SUMMARY.md"}
    there = {os.path.relpath(page, "docs") for page in PAGES if page.startswith("docs/")}
    lines += [f"docs/SUMMARY.md: '{page}': not listed" for page in sorted(there - listed)]
    for line in lines:
        print(f"hetmp: {line} (expected a file or heading of this repository)")
    return 1 if lines else 0


sys.exit(main())
