#!/usr/bin/env python3
"""Every link of the documents leads somewhere, every path that they name is there, the index has every page, and
README.md names no path without linking it."""
import pathlib, re, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("tests/**/README.md")])
TOP = {folder.name for folder in ROOT.iterdir() if folder.is_dir() and not re.match(r"build|data$|outputs$|multirun$|\.", folder.name)}
SOURCES = [str(path.relative_to(ROOT)) for top in TOP for path in (ROOT / top).rglob("*.*")]
# What the pages on extending graphrun have the reader write: tests/docs has copies of these files.
WRITTEN = {path.name for path in (ROOT / "tests/docs").rglob("*.*")}
failed = 0


def fail(page, number, what):
    global failed
    failed += 1
    print(f"FAIL: {page.relative_to(ROOT)}:{number}: {what}")


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    found, code = set(), False
    for line in page.read_text().splitlines():
        code ^= line.startswith("```")
        heading = None if code else re.match(r"#+ (.*)", line)
        if heading:
            found.add(re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-"))
    return found


def link(page, number, target):
    if re.match(r"[a-z]+:", target):
        return
    path, _, anchor = target.partition("#")
    to = (page.parent / path).resolve() if path else page
    if not to.exists():
        fail(page, number, f"the link {target} leads nowhere")
    elif anchor and anchor not in anchors(to):
        fail(page, number, f"the link {target}: {to.name} has no such heading")


def is_there(path):
    """A path of the tree, in which `*` and words in capitals stand for any name."""
    any_name = re.sub(r"\b[A-Z][A-Z_]+\b", "*", path.rstrip("/"))
    return any(True for _ in ROOT.glob(any_name)) or pathlib.Path(path).name in WRITTEN


def paths(page, number, line):
    for path in re.findall(r"(?<![\w./-])((?:" + "|".join(sorted(TOP)) + r")/[\w.*/-]*[\w*/])", line):
        if not is_there(path):
            fail(page, number, f"there is no {path}")
    # The end of a path, where the folder is clear: `walk.c`, `hydra/walk.c`. Headers may be other programs'.
    for name in re.findall(r"`([\w/-]+\.(?:c|lua|gr))`", line):
        there = any(("/" + path).endswith("/" + name) for path in SOURCES) or name.split("/")[-1] in WRITTEN
        if name.split("/")[0] not in TOP and not there:
            fail(page, number, f"there is no file {name}")


def unlinked(page, number, line):
    for code in re.findall(r"(?<!\[)`([^`]+)`", line):
        path = code.split()[0]
        if "/" in path and (ROOT / path).exists():
            fail(page, number, f"{path} is named, and is no link")


def read(page):
    code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        code ^= line.startswith("```")
        if code or line.startswith("```"):
            continue
        for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", line):
            link(page, number, target[0] or target[1])
        paths(page, number, line)
        if page == ROOT / "README.md":
            unlinked(page, number, line)


def main():
    for page in PAGES:
        read(page)
    index = (ROOT / "docs/README.md").read_text()
    for page in ROOT.glob("docs/*.md"):
        if page.name != "README.md" and f"({page.name})" not in index:
            fail(ROOT / "docs/README.md", 1, f"the index lacks {page.name}")
    print(f"{len(PAGES)} pages, {failed} failed")
    print(f"{int(not failed)} passed, {int(failed > 0)} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
