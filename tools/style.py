#!/usr/bin/env python3
"""Checks what a machine can judge: function length (none over 60 lines, 90 % within 25), file length
(400), no goto, every header self-contained and guarded, a head line in every file, every public
prototype with a comment of its own, no function words as identifiers, plain words in comments, messages,
docs, examples and the files of `graphrun new`, file names that do not repeat
their folder's, that only base/output.c writes files, that no caller asks which device it has, that NaN is
printed without a sign, that comments name what exists, and that a struct whose header says "Written by
NAME.c alone" is written by no other file. tools/layers.py checks what includes what.

    tools/style.py [BUILD]      the build's folder, for the headers that it generates; default: build"""
import functools, os, pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
FOLDERS = ["base", "compose", "ir", "ops", "compiler", "runtime", "search", "job", "cli", "tests"]
MAX_FUNCTION, USUAL_FUNCTION, MAX_FILE = 60, 25, 400
# Phrases that a reader of English technical prose does not expect; the standard term follows.
WORDS = {
    r"\b(is|are|be|was) let be\b": "is left untouched, is ignored",
    r"\bbegun anew\b|\banew\b": "reset, again",
    r"\b(tells|told|tell) of\b": "describes, reports",
    r"\bwhere (it|they|values|a value) (lies|lie|lay)\b": "where it is stored, its placement",
    r"\bnobody\b": "no one is meant: name the code or say 'none'",
    r"\bfor ever\b": "forever, without a limit",
    r"\bslips? of the hand\b": "probably a typo",
    r"\bonly a wish\b": "best-effort hint",
    r"\b[Ww]ho (waits|comes|has|wants|presses|holds|is late|ends)\b": "name the subject: a waiting rank, the caller",
    r"\b[Ww]hoever\b": "name the subject",
    r"\bof (its|his|their) own accord\b": "by itself",
    r"\bworth what\b|\bare worth\b|\bis worth\b": "evaluates to",
    r"\bas if nothing (had been|were)\b": "exact resume, unchanged",
    r"\bmade of nothing\b": "without inputs",
    r"\btogether with whom\b|\bits company\b": "coalesced with",
    r"\bleaves no word\b": "leaves no exit record",
    r"\bfates?\b|\bdoom(ed|s)?\b": "status, abort",
    r"\bworked out\b|\bworks out\b": "computed, inferred",
    r"\branks meet\b|\bmeeting of\b": "ranks synchronise",
    r"\bthe world of\b.*\bhears\b": "is notified",
    r"\bsettled\b|\bsettles\b": "fixed, decides",
    r"\bours\b": "graphrun's",
    r"\bcures?\b": "hint",
    r"\bmend(s|ed|ing)?\b": "repair, fix",
    r"\b(is|are|be) let (through|end|go|in)\b|\blet(s|ting)? go of\b": "is accepted, ends, releases",
    r"\btak(es?|ing) turns\b": "alternate, swap",
    r"\b(cannot|can|to) be had\b": "available",
    r"\bfor people\b": "to print, for reports",
    r"\b(as|where|how) (it|they) (lies|lie)\b|\blies? (in|on|at) (it|the)\b": "is stored, is placed, overlaps",
    r"\bas is usual\b": "the default",
    r"\bturned round\b": "reversed",
    r"\bwritten over\b": "overwritten",
    r"\bhears? of\b": "is notified of, receives",
    r"\b(is|are|was) said (of|at|there|where|about)\b": "the message, the error",
    r"\bplaces? to (itself|themselves)\b": "a buffer of its own",
    r"\bmade of (it|them|these)\b": "computed from, contains",
}
ANY_WORD = re.compile("|".join(f"(?:{phrase})" for phrase in WORDS))
# Function words say nothing of what an identifier stands for; limits are MAX_x.
FUNCTION_WORD = re.compile(r"\b(?:at|from|own|is|was|mine)\b|\bMOST_\w+")
# What opens a file by itself: base/output.h writes files and base/file.h reads them, so that no link is
# followed, nothing is waited for, and a target is replaced at once. The exceptions, with what they may call:
OPENS = re.compile(r"\b(fopen|freopen|creat|mkstemp|mkostemp|tmpfile|rename|renameat|renameat2|linkat)\s*\(|"
                   r"\b(open|openat)\s*\([^;{]*?\bO_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)\b")
MAY_OPEN = {
    "base/output.c": None,                                   # the writer of files: all of them
    "base/output_folder.c": {"rename", "renameat2"},         # and of folders
    "base/port.c": {"fopen"},                                # reads /proc
    "base/room.c": {"fopen"},                                # reads /proc and /sys/fs/cgroup
    "runtime/comm/tcp.c": {"fopen"},                         # reads /proc
    "runtime/launch/parent.c": {"fopen"},                    # reads /proc
    "runtime/comm/net_owner.c": {"fopen"},                   # reads /proc
    "runtime/comm/mpi_names.c": {"fopen", "open"},           # reads /proc; puts Open MPI's names back
    "runtime/comm/pages.c": {"open"},                        # maps another rank's memory, by /proc
    "runtime/checkpoint/disk.c": {"renameat", "renameat2"},  # renames the folders of checkpoints
    "runtime/launch/dir.c": {"open", "rename"},              # memory of the ranks, in a new folder of its own
    "runtime/launch/rank.c": {"open"},                       # maps that memory
    "runtime/launch/run.c": {"open"},                        # maps that memory
    "runtime/device/cuda/cache.c": {"open"},                 # reads code; locks a file that has nothing in it
    "cli/main.c": {"open"},                                  # /dev/null in place of closed descriptors
}
# What a caller has to know of a device is a field of gr_device_ops, not its name or its table (gr_device_cpu is
# the default of those that have none). Rooms that are one kind of device's own:
DEVICE = re.compile(r"\bgr_device_(?!cpu\b)(?=(?:%s)\b)\w+|(?:[!=]=\s*&gr_device_\w+|&gr_device_\w+\s*[!=]=)|"
                    r"\bstrcmp\([^;{}()]*\bdevice\b|\bGR_HAVE_CUDA\b" %
                    "|".join(re.findall(r"^GR_DEVICE\((\w+)\)", (ROOT / "runtime/device/devices.def").read_text(), re.M)))
# Numbers of results and of data, which may be NaN. Machines differ in its sign, and printf shows it.
STATEMENT = re.compile(r'(?:[^;{}"]|"(?:\\.|[^"\\])*")+')
PRINTS = re.compile(r'"[^"]*%(?!\.17)[-+ #0-9.]*[efg]')  # 17 digits: text for programs
MAY_BE_NAN = re.compile(r"\b(?:(?:loss|values|said|gr_array_number)\b|(?:metrics|items)\[)")
SHOWS_RESULTS = re.compile(r"runtime/(?:report|train|page|hooks|data)/|cli/runs")
MAY_NAME_DEVICES = re.compile(r"runtime/device/|runtime/comm/nccl|tests/|(cli/)?job/version\.c$")
os.chdir(ROOT)

@functools.lru_cache(1)
def code_of(text):
    """The text without comments and strings, with all its lines."""
    kept = lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/") else m[0][0] * 2
    return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', kept, text, flags=re.S)

def opens(path, text):
    """Calls that open, make or rename a file outside of the code that does it for all."""
    code, allowed = code_of(text), MAY_OPEN.get(str(path), set())
    for call in OPENS.finditer(code):
        name = call[1] or call[2]
        if allowed is not None and name not in allowed and not path.parts[0] == "tests":
            yield f"{path}:{code.count(chr(10), 0, call.start()) + 1}: {name}: use base/output.h or base/file.h"

def starts_thread(path, text):
    """Threads whose stacks have whatever size `ulimit -s` says."""
    for call in re.finditer(r"\bpthread_create\(", code_of(text)) if path.parts[0] != "tests" and str(path) != "base/thread.c" else ():
        yield f"{path}:{text.count(chr(10), 0, call.start()) + 1}: pthread_create: gr_thread_start (base/thread.h) gives it a stack that kernels fit in"

# Reading a handler, and putting back the one before, installs none.
INSTALLS = re.compile(r"\bsigaction\((?![^;]*?, (?:NULL|&before(?:\[i\])?),)|\bsigaltstack\(|\bsignal\((?![^;]*SIG_(?:IGN|DFL)\))")

def handles_signal(path, text):
    """Handlers of signals on the stack of what they interrupt."""
    code = code_of(text)
    for call in INSTALLS.finditer(code) if path.parts[0] != "tests" and str(path) != "base/thread.c" else ():
        yield f"{path}:{code.count(chr(10), 0, call.start()) + 1}: gr_signal_handle (base/thread.h) installs handlers that have a stack of their own"

# An error of the system's that says nothing of what to do: a bare gr_fail with the text of errno.
BARE = re.compile(r"(?:\breturn|=|\?|:)\s*gr_fail\([^;]*?\bstrerror\(")

def bare_errors(path, text):
    """Errors of the system's without a hint."""
    code = code_of(text)
    for found in BARE.finditer(code) if not path.parts[0] == "tests" else ():
        yield f"{path}:{code.count(chr(10), 0, found.start()) + 1}: gr_fail_errno or gr_hint says what to do about it"

def asks_for_device(path, text):
    """Places that ask which device they have."""
    code = code_of(text)
    for found in DEVICE.finditer(code) if not MAY_NAME_DEVICES.match(str(path)) else ():
        yield (f"{path}:{code.count(chr(10), 0, found.start()) + 1}: {found[0].split('(')[0]}: ask a field of "
               "gr_device_ops (runtime/device/device.h)")

def unshown(path, text):
    """Statements that print a number of results or data as it is, not by gr_shown."""
    for statement in STATEMENT.finditer(text) if SHOWS_RESULTS.match(str(path)) else ():
        names = re.sub(r'"(?:\\.|[^"\\])*"', "", statement[0])
        if PRINTS.search(statement[0]) and MAY_BE_NAN.search(names) and not re.search(r"\b(gr_shown|isnan)\(", names):
            yield f"{path}:{text.count(chr(10), 0, statement.end()) + 1}: give printf gr_shown(x): the sign of NaN differs"

# Deviations that a test looks at: NaN is the worst of them.
PASSES_NAN = re.compile(r"\bfmaxf?\(\w+, fabsf?\([^;]* - ")

def passes_nan(path, text):
    """Statements of tests that take the larger of two deviations so that NaN is none."""
    for found in PASSES_NAN.finditer(text) if path.parts[0] == "tests" else ():
        yield f"{path}:{text.count(chr(10), 0, found.start()) + 1}: check_worse (tests/check.h): fmax passes over NaN"

def owned(header, text):
    """(struct, its fields, the files that write them) of a header that says 'Written by NAME.c alone'."""
    files = re.search(r"Written by (\w+\.c(?:(?:,| and|\n//| )+\w+\.c)*)\s+(?://\s*)?alone", text)
    struct = re.search(r"^typedef struct gr_%s \{\n(.*?)^\} " % header.stem, code_of(text), flags=re.S | re.M)
    if not files or not struct:
        return None
    fields = [re.search(r"(\w+)(?:\[.*\])?$", part.strip())[1]
              for line in struct[1].split(";") if line.strip() for part in line.split(",")]
    return header.stem, fields, {str(header.parent / name) for name in re.findall(r"\w+\.c", files[1])}

def writes(path, text, owners):
    """Assignments to fields of an owner (see `owned`) in a file that is not one of its own."""
    code = code_of(text)
    for stem, fields, files in owners:
        if str(path) in files or stem not in code:
            continue
        names = "|".join(set(re.findall(r"\bgr_%s \*(?:const )?(\w+)" % stem, code)) or {"-"})
        place = r"(?:\b(?:%s)->|(?:->|\.)%s(?:\.|->))(%s)\b(?:\[[^\]]*\]|(?:\.|->)\w+)*" % (names, stem, "|".join(fields))
        changed = r"\s*(?:=(?!=)|[-+*/|&^%]=|<<=|>>=|\+\+|--)"
        for found in re.finditer(r"%s%s|(?:\+\+|--)[\w.>-]*?%s" % (place, changed, place), code):
            yield (f"{path}:{code.count(chr(10), 0, found.start()) + 1}: writes {found[1] or found[2]} of "
                   f"gr_{stem}, which {' and '.join(sorted(files))} alone may")

def functions(path):
    """(name, first line, lines) of every function: a line at column 0 that opens a body."""
    start = name = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        opened = re.match(r"^[A-Za-z_].*\)\s*\{$|^    .*\)\s*\{$", line)
        if start is None and opened and "=" not in line.split("(")[0]:
            head = re.findall(r"(\w+)\(", line)
            start, name = number, head[0] if head else "?"
        elif line.startswith("}") and start:
            yield name, start, number - start + 1
            start = None

def prose(path, text):
    """(line number, text) of what people read: comments, messages, documents."""
    parts = PROSE.get(path.suffix)
    for number, line in enumerate(text.splitlines(), 1) if parts else ():
        for part in parts.findall(line):
            yield number, part

PROSE = {".md": re.compile(r".+"), **dict.fromkeys((".c", ".h", ".def"), re.compile(r'"(?:\\.|[^"\\])*"|//.*')),
         **dict.fromkeys((".py", ".sh", ".lua", ".yaml"), re.compile(r"#.*|--.*"))}

def plain_words(path, text):
    for number, part in prose(path, text) if ANY_WORD.search(text) else ():
        for phrase, instead in WORDS.items() if ANY_WORD.search(part) else ():
            found = re.search(phrase, part)
            if found:
                yield f"{path}:{number}: '{found[0]}': {instead}"

# What a comment refers to: an identifier of graphrun, or a file of the sources, as in "see parts.h" and "(parts.h)".
REFERS = re.compile(r"\b(gr_\w+|GR_[A-Z]\w*)|(?:\b[Ss]ee |\()((?:\w+/)*\w+\.[ch])\b")

def refers_to_nothing(path, text, known):
    """Comments that name an identifier or a file which there is not. A name that ends in `_`, or in a word in
    capitals, stands for all that begin so."""
    for number, line in enumerate(text.splitlines(), 1):
        for found in REFERS.finditer(line, line.index("//")) if "//" in line else ():
            name = found[1] or found[2]
            begin = re.sub(r"(?<=[a-z]_)[A-Z]+$|(?<=_)x$", "", name)
            if name not in known and not (begin.endswith("_") and any(k.startswith(begin) for k in known)):
                yield f"{path}:{number}: the comment names {name}, which there is not"

def function_words(path, text):
    """Identifiers that are function words, outside of comments, strings and preprocessor lines."""
    for number, line in enumerate(code_of(text).splitlines(), 1):
        found = FUNCTION_WORD.search(line) if not line.startswith("#") else None
        if found:
            yield f"{path}:{number}: '{found[0]}' names nothing: say what it is (offset, source, index, MAX_x)"

def undocumented(path, lines):
    """Prototypes without a comment of their own: on the line above, or on one of the prototype's lines. A comment
    above several prototypes is the first one's, and a section's head ("// ---- NAME") is none's."""
    number = 0
    while number < len(lines):
        line = lines[number]
        if re.match(r"^(?!typedef|#|//|enum|struct \w+ \{|extern|[}\s])\w.*\(", line):
            end = number
            while end + 1 < len(lines) and not re.search(r"[;{}]\s*(//.*)?$", lines[end]):
                end += 1
            above = number > 0 and re.match(r"//(?! --)", lines[number - 1])
            if not above and not any("//" in l for l in lines[number : end + 1]):
                names = [n for n in re.findall(r"(\w+)\(", line) if not n.startswith("GR_")]
                yield f"{path}:{number + 1}: no comment says what {(names or ['it'])[0]} does"
            if lines[end].rstrip().endswith("{"):
                while not lines[end].startswith("}"):
                    end += 1
            number = end
        number += 1

def header_alone(path, cc="gcc"):
    source = path.with_suffix(".c")  # that includes it before anything else compiles it so
    if source.exists() and re.search(r"^#.*", source.read_text(), re.M)[0] == f'#include "{path}"':
        return True
    run = subprocess.run([cc, "-std=gnu11", "-fsyntax-only", "-I.", f"-I{BUILD}/generated",
                          "-include", str(path), "-x", "c", "/dev/null"], capture_output=True, text=True)
    return run.returncode == 0

SHELL_FUNCTION = re.compile(r"^ *(\w+)\(\) *[{(]", re.M)
# A word that must be a function of tests: programs have no names with underscores.
SHELL_CALL = re.compile(r'(?:\$\(|\bawait |\bcheck "[^"\n]*" )([a-z]+(?:_[a-z0-9]+)+)(?=[ )\n])')
UNWANTED = re.compile(r"\b(?:goto|TODO|FIXME|XXX)\b")

def main():
    bad, lengths = [], []
    sources = [f.relative_to(ROOT) for d in FOLDERS for f in sorted((ROOT / d).rglob("*.[ch]"))]
    owners = [o for f in sources if f.suffix == ".h" for o in [owned(f, f.read_text())] if o]
    code = [re.sub(r"//.*", "", f.read_text()) for f in [*sources, *ROOT.glob("ops/**/*.cu")]]
    # Named folders, not the whole tree: a build may stand in it, in which other tests remove theirs meanwhile.
    code += [f.read_text() for d in [*FOLDERS, "tools"] for g in ("CMakeLists.txt", "*.cmake")
             for f in (ROOT / d).rglob(g)]
    known = {name for text in code for name in re.findall(r"\b(?:gr_|GR_)\w+", text)}
    known |= {"/".join(f.parts[i:]) for f in sources for i in range(len(f.parts))}
    for path in sources:
        text = path.read_text()
        lines = text.splitlines()
        if not lines or not lines[0].startswith("// " + path.name + " - "):
            bad.append(f"{path}:1: begins with '// {path.name} - what it is.'")
        if len(lines) > MAX_FILE:
            bad.append(f"{path}: {len(lines)} lines, more than {MAX_FILE}")
        for number, line in enumerate(lines, 1) if UNWANTED.search(text) else ():
            if re.search(r"\bgoto\b", re.sub(r'"(\\.|[^"])*"|//.*', "", line)):
                bad.append(f"{path}:{number}: goto")
            if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                bad.append(f"{path}:{number}: unfinished: {line.strip()[:60]}")
        if path.suffix == ".c":
            for name, first, count in functions(path):
                lengths.append(count)
                if count > MAX_FUNCTION:
                    bad.append(f"{path}:{first}: {name} is {count} lines, more than {MAX_FUNCTION}")
        elif not re.search(r"^#pragma once$", text, re.M) and path.parts[0] != "tests":
            bad.append(f"{path}: no #pragma once")
        bad += opens(path, text)
        bad += asks_for_device(path, text)
        bad += bare_errors(path, text)
        bad += starts_thread(path, text)
        bad += handles_signal(path, text)
        bad += unshown(path, text)
        bad += passes_nan(path, text)
        bad += writes(path, text, owners if path.parts[0] != "tests" else [])
        bad += function_words(path, text)
        bad += refers_to_nothing(path, text, known)
        if path.suffix == ".h":
            bad += undocumented(path, lines)
        if path.stem.startswith(path.parent.name + "_") and path.parts[0] != "tests":
            bad.append(f"{path}: the folder says '{path.parent.name}' already")
        if path.suffix == ".h" and not header_alone(path):
            bad.append(f"{path}: does not compile on its own")
    shared = set(SHELL_FUNCTION.findall((ROOT / "tests/e2e/lib.sh").read_text()))
    scripts = sorted((ROOT / "tests").rglob("*.sh"))
    shells = {name for path in scripts for name in SHELL_FUNCTION.findall(path.read_text())}
    for path in scripts:
        bad += [f"{path.relative_to(ROOT)}: no script of tests has a function {name}"
                for name in SHELL_CALL.findall(path.read_text()) if name not in shells]
        if "/lib.sh" in path.read_text():
            bad += [f"{path.relative_to(ROOT)}: {name}() is another function in tests/e2e/lib.sh"
                    for name in SHELL_FUNCTION.findall(path.read_text()) if name in shared]
        bad += [f"{path.relative_to(ROOT)}:{number}: >\"$(new_log)\" (tests/e2e/lib.sh): what is left of an earlier "
                "command writes to the same file" for number, line in enumerate(path.read_text().splitlines(), 1)
                if re.search(r'(?<!>)>"\$log"', line)]
        bad += [f"{path.relative_to(ROOT)}:{number}: near, close_to or pairs_within (tests/e2e/lib.sh): for awk a word is 0"
                for number, line in enumerate(path.read_text().splitlines(), 1) if re.search(r"\bd = -d\b|\? -d : d\b", line)]
    pages = [f.relative_to(ROOT) for g in ("*.md", "docs/**/*", "graphs/**/*", "configs/**/*", "hooks/**/*", "cli/new/**/*")
             for f in sorted(ROOT.glob(g)) if f.suffix in (".md", ".yaml", ".lua", ".txt", ".def")]
    for path in sources + pages:
        bad += plain_words(path, path.read_text())
    within = sum(l <= USUAL_FUNCTION for l in lengths) / max(1, len(lengths))
    if within < 0.9:
        bad.append(f"only {100 * within:.1f} % of functions are within {USUAL_FUNCTION} lines")
    print("\n".join(bad), end="\n" if bad else "")
    print(f"{len(sources)} files, {len(lengths)} functions, {100 * within:.1f} % within "
          f"{USUAL_FUNCTION} lines, longest {max(lengths, default=0)}")
    print(f"{int(not bad)} passed, {int(bool(bad))} failed, 0 skipped")
    return bool(bad)

if __name__ == "__main__":
    sys.exit(main())
