#!/usr/bin/env python3
"""The form of the documents: no line of prose is longer than 120 characters, and docs/decisions.md has a linked
heading for each part of the program, under which every entry is a title, a choice, a reason and a measurement.
Tables, code, HTML and what the program has written are as wide as they are."""
import pathlib, re, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTH = 120
PARTS = ["Choice", "Reason", "Measurement"]


def prose(text):
    """(number, line) of each line outside tables, code, HTML and what tools/docs inserts."""
    fenced = inserted = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif re.match(r"<!-- (begin|insert): ", line):
            inserted = True
        elif line == "<!-- end -->":
            inserted = False
        elif not fenced and not inserted and not line.startswith(("|", "    ")) and not line.lstrip().startswith("<"):
            yield number, line


def long_lines(text):
    """(number, message) of each; none in a page that the program writes as a whole, as its head says."""
    if re.search(r"^Written by `graphrun ", "\n".join(text.splitlines()[:4]), re.M):
        return []
    return [(number, f"{len(line)} characters, expected at most {WIDTH}: wrap the line")
            for number, line in prose(text) if len(line) > WIDTH]


def sections(text):
    """(number, heading, paragraphs) of each heading; the paragraphs without tables."""
    headings = [*re.finditer(r"^#+ .*$", text, re.M)]
    for heading, following in zip(headings, [*headings[1:], None]):
        body = text[heading.end() : following.start() if following else len(text)]
        paragraphs = [p.strip("\n") for p in re.split(r"\n\s*\n", body) if p.strip()]
        yield text.count("\n", 0, heading.start()) + 1, heading[0], [p for p in paragraphs if not p.startswith("|")]


def decisions(text):
    """(number, message) of what is not an entry in three paragraphs, or a heading that the contents lack."""
    contents = re.findall(r"^\| \[(.*?)\]\(#", text, re.M)
    found = [*sections(text)]
    for number, heading, paragraphs in found:
        if heading.startswith("### "):
            parts = [(re.match(r"(\w+): \S", p) or [p, p[:20]])[1] for p in paragraphs]
            if parts != PARTS:
                yield number, f"the entry has the paragraphs {parts}, expected {PARTS}, each 'Name: sentences'"
        elif heading.startswith("## "):
            if paragraphs:
                yield number, f"text outside of an entry: begin it with '### Title' ({paragraphs[0][:40]}...)"
            if heading[3:] not in contents:
                yield number, f"the table of contents has no '{heading[3:]}': add a row, or write the entry with ###"
    for name in contents:
        if f"## {name}" not in [heading for _, heading, _ in found]:
            yield 1, f"the table of contents has '{name}', and there is no such heading"


def examples():
    """What the checks say of good and bad pages: (what is expected, what is found)."""
    wide, table = "x " * 61, "| " + "x " * 61
    page = ("# D\n\n| part |\n|---|\n| [base](#base) |\n\n## base\n\n### One\n\nChoice: a.\n\nReason: b\nc.\n\n"
            "Measurement: d:\n\n| 1 |\n")
    yield [], long_lines(f"a\n{table}\n```\n{wide}\n```\n<!-- begin: x -->\n{wide}\n<!-- end -->\n    {wide}\n")
    yield [2, 7], [n for n, _ in long_lines(f"a\n{wide}\n```\n{wide}\n```\na\n- {wide}\n")]
    yield [], [*decisions(page)]
    for old, new, line in [("Reason: b", "b", 9), ("Reason:", "Measured:", 9), ("Choice: a.\n\n", "", 9),
                           ("a.", "a.\n\nb.", 9), ("Measurement: d:", "Measurement:", 9), ("### One", "", 7),
                           ("### One", "Text.\n\n### One", 7), ("| [base](#base) |", "", 7), ("## base\n", "", 1)]:
        yield line, next((n for n, _ in decisions(page.replace(old, new, 1))), None)


def main():
    bad = [f"tests/docs/form.py: example {n}: expected {want}, found {got}"
           for n, (want, got) in enumerate(examples(), 1) if want != got]
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]):
        bad += [f"{page.relative_to(ROOT)}:{number}: {what}" for number, what in long_lines(page.read_text())]
    bad += [f"docs/decisions.md:{n}: {what}" for n, what in decisions((ROOT / "docs/decisions.md").read_text())]
    print("\n".join(f"FAIL: {what}" for what in bad), end="\n" if bad else "")
    print(f"{int(not bad)} passed, {int(bool(bad))} failed, 0 skipped")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
