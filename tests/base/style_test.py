#!/usr/bin/env python3
"""What tools/calls.py says of files that call each other, and tools/style.py of code that opens files by
itself, that asks which device it has, that prints results as they are, of fields that have one writer, of handlers of
signals, of deviations that may be NaN, of comments that name what there is not, of identifiers that are function words, and of
prototypes without a comment of their own."""
import pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import calls, style

FOUND = ['FILE *f = fopen(path, "w");', 'f = fopen (path, "r");', "int fd = creat(p, 0666);", "rename(a, b);",
         "if (!renameat(d, a, d, b)) return;", "fd = open(path,\n  O_WRONLY | O_CREAT, 0666);",
         "fd = openat(d, n, how | O_APPEND);", "mkstemp(t);", 'g("//"); f = fopen(p, "wb");',
         "x = open(path, flags(a, b) | O_RDWR);", "h('\"'); tmpfile();"]
NOT_FOUND = ["int fd = open(path, O_RDONLY | O_CLOEXEC);", "// fopen(path)", 'say("rename(a, b)");',
             "gr_disk_rename(d, a, b);", "static bool open(job *j) { int how = O_WRONLY; }", "fdopen(fd, m);",
             "/* creat(p) */", "kind->open(s); x = y | O_CREAT;"]

def lines(path, text):
    return list(style.opens(pathlib.PurePath(path), text))

HEADER = """// part.h - a part. Written by part.c alone.
typedef struct gr_part {
  int a, *b;  // two
  double list[4];
} gr_part;
"""
WRITES = ["void f(gr_part *p) { p->a = 1; }", "void f(gr_run *r) { r->part.a++; }", "x->y.part.list[i + 1] += 2;",
          "r->part.b |= 1;", "--r->part.a;", "void f(gr_part *p) { p->list[0] = 1, g(); }", "r->part.list[k].n = 3;"]
READS = ["void f(const gr_part *p) { return p->a == 1; }", "r->part = gr_part_begin();", "r->other.a = 1;",
         "void f(gr_else *p) { p->a = 1; }", "// r->part.a = 1;", "x = r->part.a;", "if (r->part.a >= 2) g(-r->part.a);"]

def writers():
    """What is wrong with finding those who write fields of another's struct."""
    owner = style.owned(pathlib.PurePath("x/part.h"), HEADER)
    if owner != ("part", ["a", "b", "list"], {"x/part.c"}):
        yield f"the owner is {owner}"
    if style.owned(pathlib.PurePath("x/part.h"), HEADER.replace(" alone", "")):
        yield "a header without the sentence has no owner"
    for text in WRITES:
        if len(list(style.writes(pathlib.PurePath("x/y.c"), text, [owner]))) != 1:
            yield f"not found once: {text}"
        if list(style.writes(pathlib.PurePath("x/part.c"), text, [owner])):
            yield f"found in the owner's own file: {text}"
    for text in READS:
        if list(style.writes(pathlib.PurePath("x/y.c"), text, [owner])):
            yield f"found: {text}"
    parts = [f.stem for f in sorted((style.ROOT / "runtime/train").rglob("*.h")) if style.owned(f, f.read_text())]
    if parts != ["control", "evaluation", "outputs", "progress", "saving", "states"]:
        yield f"the parts of a run that have owners are {parts}"

ASKS = ["if (s->device == &gr_device_cuda) f();", "return &gr_device_null != d;", "open = gr_device_cuda.open;",
        "if (!strcmp(j->spec.device->name, NULL_NAME)) f();", "#if GR_HAVE_CUDA", "x = d == &gr_device_cpu;"]
ASKS_NOT = ["n = gr_device_count(d);", "d = d ? d : &gr_device_cpu;", "if (d->dry) f();", "// gr_device_cuda",
            'put("device", d->name); if (!strcmp(a, b)) f();']

def devices():
    """What is wrong with finding those who ask which device they have."""
    def found(path, text):
        return list(style.asks_for_device(pathlib.PurePath(path), text))
    for text in ASKS:
        if len(found("cli/x.c", text)) != 1:
            yield f"not found once: {text}"
        if found("runtime/device/x.c", text) or found("runtime/comm/nccl.c", text):
            yield f"found where devices are: {text}"
    for text in ASKS_NOT:
        if found("cli/x.c", text):
            yield f"found: {text}"

HANDLES = ["sigaction(SIGTERM, &a, NULL);", "if (sigaction(n[i], &a, &before)) return;", "sigaltstack(&s, NULL);",
           "signal(SIGINT, on_signal);"]
HANDLES_NONE = ["sigaction(SIGHUP, NULL, &before);", "sigaction(number, &before, NULL);", "signal(SIGPIPE, SIG_IGN);",
                "sigaction(n, &before[i], NULL);", "pthread_cond_signal(&c);", "// sigaction(n, &a, NULL);"]

def handlers():
    """What is wrong with finding handlers of signals on the stack of what they interrupt."""
    def found(path, text):
        return list(style.handles_signal(pathlib.PurePath(path), text))
    yield from (f"not found once: {text}" for text in HANDLES if len(found("cli/x.c", text)) != 1)
    yield from (f"found: {text}" for text in HANDLES_NONE if found("cli/x.c", text))
    if found("base/thread.c", HANDLES[0]):
        yield "found in the function that all use"

BARE = ['return gr_fail(GR_ERR_IO, GR_NOWHERE, "%s", strerror(e));', 's = gr_fail(GR_ERR_IO, l,\n "%s", f(strerror(errno)));']
BARE_NOT = ['return gr_hint(gr_fail(GR_ERR_IO, GR_NOWHERE, "%s", strerror(e)), "free");', 's = gr_fail_errno(c, e, "x");',
            's = gr_fail(c, l, "x"); puts(strerror(e));']

def bare():
    """What is wrong with finding errors of the system's without a hint."""
    def found(text):
        return list(style.bare_errors(pathlib.PurePath("cli/x.c"), text))
    yield from (f"not found once: {text}" for text in BARE if len(found(text)) != 1)
    yield from (f"found: {text}" for text in BARE_NOT if found(text))

SHOWS = ['printf("%.4f", x->loss);', 'gr_text_printf(t, "; %s %g",\n name, a->values[i]);']
SHOWS_NOT = ['printf("%.4f", gr_shown(x->loss));', 'printf("%d", x->loss > 0);', 'printf("loss %.4f", x->rate);',
             'f(isnan(values[i]) ? "-" : text("%g", values[i]));', 'put(t, "%.17g", values[i]);']

def results():
    """What is wrong with finding those who print results as they are."""
    def found(path, text):
        return list(style.unshown(pathlib.PurePath(path), text))
    for text in SHOWS:
        if len(found("runtime/report/x.c", text)) != 1:
            yield f"not found once: {text}"
        if found("ops/x.c", text):
            yield f"found where no results are printed: {text}"
    for text in SHOWS_NOT:
        if found("runtime/report/x.c", text):
            yield f"found: {text}"

PASSES_NAN = ["worst = fmax(worst, fabs(x - y));", "far = fmaxf(far, fabsf((float)a[i]\n - b->c[i]) / 2);"]
PASSES_NAN_NOT = ["worst = check_worse(worst, fabs(x - y));", "largest = fmax(largest, fabs(a->x));"]

def deviations():
    """What is wrong with finding tests that take NaN for no deviation."""
    def found(path, text):
        return list(style.passes_nan(pathlib.PurePath(path), text))
    for text in PASSES_NAN:
        if len(found("tests/x.c", text)) != 1:
            yield f"not found once: {text}"
    for path, text in [("ops/x.c", PASSES_NAN[0])] + [("tests/x.c", text) for text in PASSES_NAN_NOT]:
        if found(path, text):
            yield f"found: {text}"

def circles():
    """What is wrong with finding files that call each other."""
    edges = {"a": {"b": {"f"}, "c": {"g"}}, "b": {"c": {"h"}}, "c": {"d": {"i"}}, "d": {}, "e": {"a": {"j"}}}
    if calls.circles(edges):
        yield f"found where there are none: {calls.circles(edges)}"
    edges["d"] = {"b": {"k"}}
    if calls.circles(edges) != [["b", "c", "d"]]:
        yield f"b, c and d call each other, and found are {calls.circles(edges)}"
    edges = calls.calls({"f": "a", "g": "b"}, {"a": {"g", "f", "memcpy"}, "b": {"g"}})
    if edges != {"a": {"b": {"g"}}, "b": {}}:
        yield f"the calls are {edges}"

KNOWN = {"gr_run", "gr_launch_find", "GR_HAS_MPI", "a/parts.h", "parts.h"}
REFERS = ["// as gr_gone does", "int x;  // see gone.h", "// Of tests (b/parts.h).", "enum { A };  // GR_GONE", "// gr_launch"]
REFERS_NOT = ["// as gr_run does; gr_launch_NAME too", "// GR_HAS_x (parts.h), see a/parts.h", "gr_gone();", "// <ctype.h> of the C library"]

def references():
    """What is wrong with finding comments that name what there is not."""
    def found(text):
        return list(style.refers_to_nothing(pathlib.PurePath("x/y.c"), text, KNOWN))
    yield from (f"not found once: {text}" for text in REFERS if len(found(text)) != 1)
    yield from (f"found: {text}" for text in REFERS_NOT if found(text))

NAMED_BADLY = ["int at = 0;", "f(r->own);", "enum { MOST_ROWS = 3 };", "x.from = y;", "bool is, was;"]
NAMED_WELL = ["// at", 'g("from");', "#define X at", "int at_most = 0;", "enum { UTMOST_ROWS };", "gr_cast_from(g);"]
GROUP = ["// Two of them.", "int gr_a(void);", "int gr_b(void);", "int gr_c(int x,", "         int y);  // the third", "",
         "int gr_d(void);", "// Inline.", "static inline int gr_e(void) {", "  return f(1);", "}", "typedef int (*gr_f)(int);"]

def names():
    """What is wrong with finding function words, and with counting prototypes."""
    path = pathlib.PurePath("x/y.h")
    for text in NAMED_BADLY:
        if len(list(style.function_words(path, text))) != 1:
            yield f"not found once: {text}"
    for text in NAMED_WELL:
        if list(style.function_words(path, text)):
            yield f"found: {text}"
    found = [line.split(":")[1] for line in style.undocumented(path, GROUP)]
    if found != ["3", "7"]:
        yield f"prototypes without a comment are in lines {found}"

def main():
    bad = list(circles()) + list(writers()) + list(handlers()) + list(bare()) + list(devices()) + list(names()) + list(results()) + list(deviations()) + list(references())
    for text in FOUND:
        if len(lines("cli/x.c", "\n" + text)) != 1 or not lines("cli/x.c", "\n" + text)[0].startswith("cli/x.c:2:"):
            bad.append(f"not found once, in line 2: {text}")
        bad += [f"found in {p}: {text}" for p in ("base/output.c", "tests/x.c") if lines(p, text)]
    bad += [f"found: {text}" for text in NOT_FOUND if lines("cli/x.c", text)]
    if lines("base/port.c", "fopen(p);") or len(lines("base/port.c", "creat(p);")) != 1:
        bad.append("an exception allows what it lists, and nothing else")
    for path, calls in style.MAY_OPEN.items():
        text = (style.ROOT / path).read_text()
        used = {call[1] or call[2] for call in style.OPENS.finditer(style.code_of(text))}
        if calls and calls != used:
            bad.append(f"{path} may call {sorted(calls)}, and calls {sorted(used)}")
    print("\n".join(bad), end="\n" if bad else "")
    print(f"{int(not bad)} passed, {int(bool(bad))} failed, 0 skipped")
    return bool(bad)

if __name__ == "__main__":
    sys.exit(main())
