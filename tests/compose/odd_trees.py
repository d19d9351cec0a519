"""Random configurations of odd shapes, for record.py: groups within groups within groups, packages
with dots, overrides of nested groups, the corners of YAML, arguments in odd quotes, sweeps of
functions."""
import os

GROUPS = ["db", "db/copy", "model", "model/enc", "model/enc/attn", "opt", "exp", "hooks"]
OPTIONS = ["base", "small", "v1.2", "x-y", "A_b"]
PACKAGES = ["_global_", "_here_", "x", "x.y.z", "_global_.x.y", "a._global_.b", "_here_.q", "_group_.r",
            "model.enc", "_group_", "x._here_"]
KEYS = ["name", "lr", "opts", "path", "a", "b", "a", "b", "list"]
ODD_KEYS = ["'quoted key'", "\"dq\\tkey\"", "1", "1.0", "1.5", "true", "on", "ключ", "k.z", "2024-01-01", "? cplx\n",
            "0x10", "1_0", "!!str 5", "-x", "a b c", "'a.b'", "null_", "'null'", "$d", ".5", "\"\"", "é"]
PLAIN = """1 -0 +12 1_000 1__0_ 0_7 017 -017 018 0o17 0b1010_01 0x_fF -0x1f +0b1 1e3 1E-5 +1e+3 1.e3 .5 .5e3 .5e+3
  -.5 1_0.5_ 1.5.2 1e400 -1e400 12e03 1e-400 .inf -.INF +.Inf .nan .NaN -.nan inf nan yes No ON off oFf y n true TRUE
  tRue null ~ Null NULL nULL none None 12:30 1:30:00 -1:30 1:30.5 190:20:30.15 60:60 0:0 1:5 09:30 2024-01-01
  2001-12-14t21:59:43.10-05:00 20:99 a:b http://x/y?z=1#q a#b a'b a"b _1 1_ -1_000 +.inf x-y <<x =x =, a=b
  [] {} '' "" "~" '1' "1e3" '.5' 'true' 'null' "a\\tb" "\\u00e9\\x41\\n" 'it''s' "\\"q\\"" '#x' """.split()
TEXTS = ["hello world", "' lead'", "\"trail \"", "a, b, c", "naïve 日本 😀", "x # comment", "'x' # comment", "word\n    goes on\n    here",
         "'single\n    quoted\n\n    lines'", "\"double \\\n    joined\"", "\"two\n\n    three\"", "|\n    one\n      two\n    three\n",
         "|-\n    keep\n    this\n", "|+\n    keep\n\n\n", ">\n    folded\n    text\n\n    para\n      more\n    end\n", ">-\n    a\n    b\n",
         "|2\n      indented\n", "|\n    tab\there\n", "!!str 1", "!!int '3'", "!!int 0x1F", "!!float 1", "!!float '.5'", "!!bool yes",
         "!!null ''", "!!str", "!!map {a: 1}", "!!seq [a]", "! 12", "'${a}'", "\"${b}\"", "${lr}", "x${a}y${b}",
         "'\\${a}'", "'\\\\${a}'", "'$${a}'", 
         "'${oc.env:NOPE,${a}}'", "'${oc.select:zz,[1, {a: b}]}'", "'${oc.decode:\"{a: [1, 2.5, x]}\"}'", "'${oc.create:[a, ${b}]}'",
         
         "'${oc.select:\".a\"}'", "'${list} and ${a}'", "'${oc.env:NOPE,null}'",
         "'${oc.decode:\"1, 2\"}'", "'${oc.decode:\"\"}'", "'${oc.select:a,}'", "'${oc.env:A,\"q, z\"}'", "\"${oc.env:NOPE,'q, z'}\"", "'${oc.env:NOPE,\\ x}'", "'???'", "&Z",
          "[a, [b, {c: d}], 'e']", "{1: a, 1: b}", "{a, b: }", "{? a : b}", "{'a':1}", "[x,]",
         "{a: {b: {c: {d: 1}}}}", "[[], {}, '', ~]", "{a: [1, 2.0, true, null]}", "['${a}', \"${b}\"]", "{k: '${a}'}", "[{a: 1}, {a: '${.a}'}]"]
# References that are there in some trees.
LOOSE_TEXTS = ["${hydra:runtime.choices}", "${hydra:job.config_name}", "'${hydra:overrides.task}'", "x${hydra:job.override_dirname}", "'${hydra:runtime.choices.db}'", "'${hydra:sweep.nope}'", "${hydra:job.config.override_dirname.kv_sep}", "'${.a}'", "'${..lr}'", "'${opts.a}'", "'${list[0]}'", "'${list.1}'", "'${a} ${nope}'", "'${${name}}'", "'${opts.${name}}'", "'${oc.dict.keys:opts}'", "'${oc.dict.values:opts}'", "'${oc.decode:${a}}'", "'a: ${opts}'", "'${oc.deprecated:a}'"]
BAD_TEXTS = ["-", "'", "{a: 1, a: 2}", "[1,,2]", "[1, 2", "{a: 1", "<<", "=", "*nope", "@x", "`x", "%x", "!!int abc", "!!str [a]", "'${}'", "'${a'", "${", "[${a}]", "[a: 1, b]", "???", "- not a list", "'${oc.nope:1}'", "'${oc.env:NOPE}'", "'${a.b.c}'"]
WHOLE = ["", "\n\n", "# nothing\n", "---\n", "---\na: 1\n", "a: 1\n...\n", "%YAML 1.1\n---\na: 017\n", "%YAML 1.2\n---\na: 017\n", "a: 1\n---\nb: 2\n",
         "\ufeffa: 1\n", "a: 1\r\nb: 2\r\n", "a: 1\rb: 2\r", "a:\n\tb: 1\n", "a: 1 \nb: 'x' \n", "- 1\n- {a: 2}\n", "just text\n", "12\n", "1.5\n", "null\n", "[]\n", "{}\n",
         "'quoted'\n", "${a}\n", "? a\n: b\n? c\n", "a: &A {x: 1}\nb: *A\nc: {<<: *A, y: 2}\n", "a: &A\n  x: 1\n  y: {z: 2}\nb:\n  <<: *A\n  x: 3\nc:\n  q: 0\n  <<: *A\n",
         "a: &A {x: 1}\nb: &B {x: 2, y: 3}\nc: {<<: [*A, *B], z: 4}\nd: {<<: *B, <<: *A}\n", "a: &A [1, 2]\nb: [*A, *A]\nc: {<<: *A}\n", "a: &A 1\nb: *A\n*A : c\n", "a: &A {x: &X 5, y: *X}\nb: *X\n",
         "a: &A {b: *A}\n", "base: &B\n  k: 1\nderived:\n  <<: *B\n  k: 2\n  m: ${.k}\n", "<<: {a: 1}\nb: 2\n", "<<: [{a: 1}, {a: 2, b: 3}]\nb: 2\n", "'<<': 1\n", "a: 1\n a: 2\n", "a: b: c\n", "a: 'x\n",
         "a: {b: 1,\n  c: 2}\n", "a:\n- 1\n- 2\nb:\n  - 3\n", "a:\n  - b: 1\n    c: 2\n  -\n    - x\n    - y\n", "a: |\n  # not a comment\n  ${b}\n", "defaults: null\na: 1\n", "defaults:\n- 1\n",
         "defaults:\n- base\n- base\n", "defaults: [_self_]\na: 1\n", "a: !foo 1\n", "a: !!python/none\n", "on: 1\noff: 2\n", "1: a\n1.0: b\ntrue: c\n", "a: 1 # c\n#c\nb: # c\n  c: 1\n", "a: ~\n~: b\n",
         "a: 1\nA: 2\n'a ': 3\n", "key with spaces: v\n\"key: colon\": w\n", "a: -\n", "a: [-1, - 1]\n", "a: 1:2\n", "a: {b:1}\n", "a: [b:1]\n", "a: *\n", "a: &\n", "x" * 200 + ": 1\n"]


# Most trees are whole; in the others `rng.rough` is the share of things that are wrong.

def value(rng, depth, pad):
    chance = rng.random()
    if depth and chance < 0.25:
        inner = mapping(rng, depth - 1, pad + "  ")
        return "\n" + inner if inner else " {}\n"
    if depth and chance < 0.33:
        return "\n" + "".join(f"{pad}- {rng.choice(PLAIN)}\n" for _ in range(rng.randint(1, 3)))
    text = rng.choice(PLAIN) if chance < 0.65 else rng.choice(TEXTS)
    if rng.random() < 0.03:
        text = rng.choice(LOOSE_TEXTS)
    if rng.random() < rng.rough:
        text = rng.choice(BAD_TEXTS)
    text = text.replace("\n    ", "\n" + pad + "    ").replace("\n      ", "\n" + pad + "      ")
    return " " + text + ("" if text.endswith("\n") else "\n")


def mapping(rng, depth, pad=""):
    out = ""
    for key in dict.fromkeys(rng.choice(KEYS) for _ in range(rng.randint(1, 4))):
        if rng.random() < 0.1:
            key = rng.choice(ODD_KEYS)
        if key.startswith("?"):
            out += f"{pad}{key}{pad}:" + value(rng, 0, pad)
        else:
            out += f"{pad}{key}:" + value(rng, depth, pad)
    return out


def option(rng, plain=False):
    if rng.random() < rng.rough * 2:
        return rng.choice(["'???'", "nope", "''", "'${nope}'", "./base", "1", "on", "{a: 1}", "[1]", "['${db}']"])
    chance = rng.random()
    if plain or chance < 0.75:
        return rng.choice(OPTIONS)
    if chance < 0.85:
        return "[" + ", ".join(rng.sample(OPTIONS, rng.randint(0, 3))) + "]"
    other = rng.choice(rng.chosen) if rng.random() >= rng.rough * 5 else rng.choice(GROUPS)
    return rng.choice(["null", "base.yaml", "'${oc.env:NOPE,base}'", f"'${{{other}}}'", f"'${{{other}}}.yaml'", f"'${{{other}}}${{oc.env:NOPE,\"\"}}'"])


def relative(rng, group, target):
    """The target's name as an entry of a file in `group` would give it."""
    if group and target.startswith(group + "/"):
        return target[len(group) + 1:] if rng.random() < 0.8 else "/" + target
    return ("/" if group and rng.random() >= rng.rough * 2 or rng.random() < 0.2 else "") + target


def entry(rng, group, target, override):
    """An entry of a file in `group`, about the group `target`."""
    at = "@" + rng.choice(PACKAGES) if rng.random() < 0.2 else ""
    if override:
        at = rng.packages.get(target, "") if rng.random() >= rng.rough * 5 else at
        return f"- override {relative(rng, group, target)}{at}: {option(rng)}\n"
    if rng.random() < 0.15:
        name = relative(rng, group, target + "/" + rng.choice(OPTIONS))
        if rng.random() < 0.25:
            other = rng.choice(rng.chosen)
            name = rng.choice([f"/opt/${{{other}}}", f"'/{other}/${{{other}}}'", "/base", "/base@x.y"])
        return f"- {name}{at if '@' not in name else ''}\n"
    return f"- {rng.choice(['', '', '', 'optional '])}{relative(rng, group, target)}{at}: {option(rng)}\n"


def with_self(rng, lines, share):
    if rng.random() < share:
        lines.insert(rng.randint(0, len(lines)), "- _self_\n")
    return lines


def inner_defaults(rng, group):
    """Mostly of groups further down, so that there is no cycle; experiments override what there is."""
    if group == "exp":
        lines = with_self(rng, [], 0.5)
        lines += [entry(rng, group, rng.choice([g for g in rng.chosen if g != "exp"] or ["db"]), True) for _ in range(rng.randint(0, 2))]
    else:
        below = [g for g in GROUPS if g.startswith(group + "/")] or (GROUPS if rng.random() < rng.rough * 3 else [])
        lines = with_self(rng, [entry(rng, group, rng.choice(below), False) for _ in range(rng.randint(0, 2)) if below], 0.5)
        if below and rng.random() < 0.15:
            lines.append(entry(rng, group, rng.choice(below), True))
    return "defaults:\n" + "".join(lines) if lines else ""


def primary(rng):
    """Each group at most once, parents before what is in them, so that most trees compose."""
    lines = []
    for g in rng.chosen:
        at = rng.packages.get(g, "")
        lines.append(f"- {'optional ' if rng.random() < 0.1 else ''}{g}{at}: {option(rng, rng.random() < 0.6)}\n")
    if rng.random() < 0.15:
        lines.insert(rng.randint(0, len(lines)), entry(rng, "", rng.choice(GROUPS), False))
    with_self(rng, lines, 0.7)
    if rng.random() < 0.2:
        lines.append(entry(rng, "", rng.choice(rng.chosen), True))
    return "defaults:\n" + "".join(lines) if lines else ""


def hydra_node(rng):
    if rng.random() < 0.8:
        return ""
    params = {rng.choice(["a", "+new", "++lr", rng.choice(rng.chosen), "opts.a", "list", "~b"]):
              rng.choice(["1,2", "'base,small'", "range(2)", "1", "true", "choice(a,b)", "'x y'", "[1, 2]", "\"'q',r\"", "glob(*)", "1.5"])
              for _ in range(rng.randint(1, 3))}
    inner = "".join(f"      {k}: {v}\n" for k, v in params.items())
    job = rng.choice(["", "  job: {config: {override_dirname: {exclude_keys: [++a, a], item_sep: '/', kv_sep: '-'}}}\n"])
    return f"hydra:\n  sweeper:\n    params:\n{inner}{job}"


def write_tree(rng, root):
    rng.rough = rng.choice([0, 0, 0, 0, 0.03])
    rng.chosen = [g for g in GROUPS if rng.random() < 0.5] or ["db"]
    rng.shuffle(rng.chosen)
    rng.chosen.sort(key=lambda g: g == "exp")
    rng.packages = {g: "@" + rng.choice(PACKAGES) for g in rng.chosen if rng.random() < 0.15}
    for group in GROUPS:
        for name in OPTIONS:
            if rng.random() < rng.rough:
                continue
            head = f"# @package {rng.choice(PACKAGES)}\n" if rng.random() < (0.8 if group == "exp" else 0.12) else ""
            if group == "exp" and rng.random() < 0.7:
                head = "# @package _global_\n"
            listed = inner_defaults(rng, group) if rng.random() < (0.6 if group == "exp" else 0.3) else ""
            body = mapping(rng, 2)
            if rng.random() < rng.rough * 3:
                head, listed, body = "", "", rng.choice(WHOLE)
            write(root, f"{group}/{name}.yaml", head + listed + body)
    write(root, "base.yaml", mapping(rng, 1))
    head = f"# @package {rng.choice(PACKAGES)}\n" if rng.random() < 0.03 else ""
    own = mapping(rng, 2)
    for key in ["a", "b", "lr", "opts", "name", "list"]:
        if f"\n{key}:" not in "\n" + own and rng.random() < 0.9:
            own += f"{key}: " + (rng.choice(["[1, x, {y: 2}]", "{a: 1, b: [x], lr: 2}"]) if key in ("opts", "list") else rng.choice(PLAIN)) + "\n"
    write(root, "config.yaml", head + primary(rng) + own + hydra_node(rng))


def write(root, path, text):
    name = os.path.join(root, path)
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "wb") as f:
        f.write(text.encode("utf-8", "surrogatepass"))


VALUES = ["1", "-1", "+1", "1_0", "01", "1e3", "1e-5", "-.5", ".5", "inf", "-inf", "nan", "1.", "null", "NULL", "true", "FALSE", "yes", "'1'", "\"a b\"", "'it\\'s'", "\"\\\\\"", "'\\\\\\''",
          "a b", " a ", "a\\,b", "a\\=b", "\\[x\\]", "\\ ", "a:b", "a/b.c-d+e%f@g?h|i", "C:\\\\dir", "C:\\dir", "${a}", "${a}x${b}", "'${opts.${name}}'", "${oc.env:NOPE,1}", "[]", "{}", "[1,2]", "[a, 'b c', [1.0]]", "{a:1}",
          "{a: 1, b: {c: [x]}}", "{a b: c}", "{1: x}", "{1.5: x, true: y}", "[${a},{b: ${lr}}]", "???", "[???]", "", "''", "str(1)", "int('7')", "float(3)", "bool(true)", "int([1.7,2])",
          "str({a: 1})", "str([1,a])", "float({a: [1]})", "'a,b'", "\"é\"", "'#'", "2024-01-01", "12:30", "0x1f", "{a: '1', b: 'true'}", "'x=y'", "$x", "*", "@x", "http://h:1/p"]
BAD_VALUES = ["{null: x}", "'${'", "int(abc)", "a#b", "1,2", "choice(1,2)", "[1,]", "{a}", "x=y", "'a", "[a", "é", "foo(1)", "int(1,2)"]


def group_argument(rng):
    add = rng.random() < 0.4
    some = [g for g in GROUPS if g not in rng.chosen] if add else rng.chosen
    group = rng.choice(some or GROUPS)
    group += rng.packages.get(group, "@" + rng.choice(PACKAGES) if add and rng.random() < 0.3 else "")
    chance = rng.random()
    if rng.random() < rng.rough * 5:
        return rng.choice(["", "+", "++"]) + group + "=" + rng.choice(["nope", "1", "[base,1]", "{a: 1}", "???", "null", ""])
    if chance < 0.15 and not add:
        return "~" + group + ("=" + rng.choice(OPTIONS) if rng.random() < rng.rough * 5 else "")
    chosen = rng.choice(OPTIONS) if chance < 0.85 else rng.choice(["[base,small]", "[]", "'base'", "x\\-y"])
    return ("+" if add else "") + group + "=" + chosen


def value_argument(rng):
    first = rng.choice(["model", "db", "opt", "x", "opts", "model.enc", "hooks", "exp", ""])
    least = 1 if first in GROUPS + [""] and rng.random() >= rng.rough * 5 else 0
    key = ".".join(filter(None, [first] + rng.sample(["name", "lr", "opts", "a", "b", "list", "path", "new"] + ["0", "1"] * bool(first), rng.randint(least, 2))))
    prefix = rng.choice(["++", "++", "++", "++", "++"] + ["~", "", "+"] * (rng.random() < 0.3))
    if prefix == "~" and rng.random() < 0.6:
        return "~" + key
    return f"{prefix}{key}={rng.choice(BAD_VALUES if rng.random() < rng.rough * 2 else VALUES)}"


def arguments(rng):
    return [group_argument(rng) if rng.random() < 0.3 else value_argument(rng) for _ in range(rng.choice([0, 0, 1, 1, 2, 3]))]


# ---- Sweeps -----------------------------------------------------------------------

def leaf(rng):
    return rng.choice(["1", "2", "3", "-1", "1.5", "a", "b", "'q'", "\"1\"", "true", "null", "x y", "[1,2]", "{a: 1}", "${a}", "a\\,b", "''"])


def sweep(rng, depth=2):
    kind = rng.random()
    if not depth or kind < 0.25:
        return "choice(" + ",".join(leaf(rng) for _ in range(rng.randint(1, 3))) + ")"
    if kind < 0.45:
        numbers = rng.choice(["1,4", "3", "0,10,5", "5,0,-2", "start=1,stop=3", "1,4,step=2", "0.5,3", "0,2,0.5", "2,1", "-3,-1", "1,1", "stop=2"])
        return f"range({numbers})"
    if kind < 0.55:
        return "sort(" + rng.choice(["3,1,2", "b,a", "choice(c,a,b)", "3,1,2,reverse=true", "choice(3,1),reverse=true", "[3,1,2]", "range(1,4)", "'b','a'"]) + ")"
    if kind < 0.75:
        return rng.choice(["int", "float", "str", "bool"]) + "(" + rng.choice([sweep(rng, depth - 1), "1,2", "'3',4", "1.5,2"]) + ")"
    if kind < 0.85:
        return "tag(" + rng.choice(["t,", "t,u,", ""]) + sweep(rng, depth - 1) + ")"
    return rng.choice(["1,2", "a,'b c',[1]", "interval(0,1)", "choice()", "1,choice(2,3)", "[choice(1,2)]"])


def sweep_arguments(rng):
    out = []
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.4:
            group = rng.choice(rng.chosen)
            out.append(group + rng.packages.get(group, "") + "=" + rng.choice(
                ["base,small", "glob(*)", "glob([b*,s*])", "glob(*,exclude=b*)", "glob([*],exclude=[v*,x*])", "choice(base,v1.2)", "small", "[base],[small]", "sort(small,base)"]))
        else:
            key = rng.choice(["a", "b", "lr", "new", "opts.a", "x.y"])
            out.append(f"++{key}={sweep(rng) if rng.random() < 0.8 else rng.choice([v for v in VALUES if not v.startswith('str(')])}")
    return out + (["~" + rng.choice(["a", "db"])] if rng.random() < rng.rough * 3 else [])
