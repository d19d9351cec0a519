#!/usr/bin/env python3
"""Records what Hydra itself answers on random configurations and on ours, for test_conformance.

    python3 -m venv /tmp/hydra && /tmp/hydra/bin/pip install hydra-core==1.3.8 pyyaml==6.0.3
    /tmp/hydra/bin/python tests/compose/record.py /tmp/cases 5000 1
    build/tests/test_conformance /tmp/cases /tmp/cases/unpacked

    /tmp/hydra/bin/python tests/compose/record.py own

Arguments: a new folder, how many trees, a seed; then `odd` for the trees of odd_trees.py, or `plain`,
and how many texts of each kind. Writes generated.jsonl with generated.tar.gz (composition, resolved
composition, as YAML, defaults lists, choices, the runs of a sweep) and, of texts, parse.jsonl (whole
overrides), refer.jsonl (interpolations) and yaml.jsonl. `own` asks about the cases of
recorded/cases.txt, on the trees in recorded/configs, and writes defaults.jsonl and compose.jsonl
beside them.
"""
import functools
import io
import json
import logging
import os
import random
import re
import sys
import tarfile
import warnings

import yaml

import odd_trees
from hydra._internal.config_repository import CachingConfigRepository, ConfigRepository
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.defaults_list import create_defaults_list
from hydra._internal.utils import create_config_search_path
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import (
    ChoiceSweep, Glob, IntervalSweep, Override, QuotedString, Quote, RangeSweep)
from hydra.core.plugins import Plugins
from hydra.core.utils import setup_globals
from hydra.types import RunMode
from hydra import version
from omegaconf import OmegaConf

KEYS = ["a", "b", "lr", "x_y", "d-e", "n", "1", "on", "true", "k.z", "g"]
SCALARS = ["1", "1.0", "true", "null", "???", "hello", "'1'", "1e-3", ".5e3", "010", "2024-01-01",
           "off", "'a b'", "''", "[1, a, 2.5]", "{p: 1, q: {r: 2}}", "[{a: 1}, [2]]", "{}", "[]",
           "1_000", "12:30", "0x1F", ".inf", "\"${a}\"", "\"${.b}\"", "\"${..lr}\"", "\"x${a}y\"",
           "\"${g.a}\"", "\"${oc.env:NOPE,3}\"", "\"\\\\${a}\"", "\"${oc.select:zz,5}\"",
           "\"${oc.decode:'[1,2]'}\"", "\"${oc.create:{u: 1, v: [a, b]}}\"", "\"${n}\"",
           "\"${oc.dict.keys:g}\"", "\"${oc.dict.values:g}\"", "\"${x_y}\"", "\"${${lr}}\"",
           "\"${a[0]}\"", "\"${a.b.c}\"", "\"a: ${b}, ${n}\""]
GROUPS = ["g", "h", "m", "g/s"]
OPTIONS = ["p", "q", "r"]
PACKAGES = ["_global_", "foo", "foo.bar", "_here_", "_group_", "g", "_global_.z", "a"]


HEADERS = ["# @package {}\n"] * 6 + ["#@package {}\n", "\n  # @package {}\n", "# a\n# @package {}\n",
                                      "# @package: {}\n", "# @package {} b\n", "# @foo {}\n"]
BODIES = ["", "- 1\n- a\n", "hello", "42", "true", "a: 1\na: 2\n", "defaults: {g: p}\n", "'${a}'",
          "defaults:\n- g: 1\n", "defaults: []\na: 1\n", "defaults:\n- {g: p, h: q}\n", "a: [\n",
          "x:\n  defaults: [a, b]\n", "# only a comment\n", "defaults:\n- 5\n", "a: ${\n", "---\n---\n"]


def mapping(rng, depth, indent):
    lines = []
    for key in rng.sample(KEYS, rng.randint(0, 3)):
        pad = "  " * indent
        if depth and rng.random() < 0.3:
            inner = mapping(rng, depth - 1, indent + 1)
            lines.append(f"{pad}{key}:" + ("\n" + inner if inner.strip() else " {}\n"))
        else:
            lines.append(f"{pad}{key}: {rng.choice(SCALARS)}\n")
    return "".join(lines)


def entry(rng, here, files):
    kind = rng.random()
    if kind < 0.12:
        return "- _self_"
    if kind < 0.25 and files:
        path = rng.choice(files)
        path = ("/" + path) if rng.random() < 0.7 else path.split("/")[-1]
        return f"- {path}" + (f"@{rng.choice(PACKAGES)}" if rng.random() < 0.3 else "")
    group = rng.choice(GROUPS)
    if rng.random() < 0.5 or here:
        group = "/" + group if rng.random() < 0.8 else group
    words = ""
    if rng.random() < 0.12:
        words += "optional "
    if rng.random() < 0.15:
        words += "override "
    if rng.random() < 0.3:
        group += "@" + rng.choice(PACKAGES)
    option = rng.choice(OPTIONS)
    chance = rng.random()
    if chance < 0.06:
        option = "null"
    elif chance < 0.09:
        option = "'???'"
    elif chance < 0.16:
        option = "[" + ", ".join(rng.sample(OPTIONS, rng.randint(0, 2))) + "]"
    elif chance < 0.24:
        option = "'${" + rng.choice(GROUPS) + "}'"
    elif chance < 0.26:
        option = "nope"
    elif chance < 0.29:
        option = rng.choice(["p.yaml", "_self_", "s/q", "'${h}_x'", "on", "1", "'${g@foo}'"])
    return f"- {words}{group}: {option}"


def write_tree(rng, root):
    files = []
    for group in GROUPS:
        for option in OPTIONS:
            if rng.random() < 0.75:
                files.append(f"{group}/{option}")
    for path in files + ["config"]:
        text = ""
        if path != "config" and rng.random() < 0.3:
            text += rng.choice(HEADERS).format(rng.choice(PACKAGES))
        many = 3 if path == "config" else 1
        if rng.random() < (0.95 if path == "config" else 0.3):
            lines = [entry(rng, path != "config", files) for _ in range(rng.randint(0, many))]
            lines.sort(key=lambda l: "override" in l)
            if lines:
                text += "defaults:\n" + "".join(l + "\n" for l in lines)
        text += mapping(rng, 2, 0)
        if path != "config" and rng.random() < 0.08:
            text = rng.choice(BODIES)
        name = os.path.join(root, path + ".yaml")
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w") as f:
            f.write(text)


VALUES = ["???", "'${..b}'", "${oc.env:X,y}", "1e400", "1_0", "[a,{b: ${a}}]", "{1: a, true: b}", "1", "foo", "null", "{p: 7}", "[1,2]", "1.0", "true", "'q t'", "${a}", "-1e-3", "{}", "[]",
          "{q: {r: 3}, w: x}", "", "a:b", "\\,", "inf", "010", "1,2", "range(1,3)"]


def overrides(rng):
    out = []
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        if rng.random() < 0.4:
            key = rng.choice(GROUPS) + (f"@{rng.choice(PACKAGES)}" if rng.random() < 0.2 else "")
            value = rng.choice(OPTIONS + ["null", "[p,q]", "nope", "1"])
        else:
            key = ".".join(rng.sample([k for k in KEYS if k[0] not in "1"] + ["0", "p", "foo"],
                                      rng.randint(1, 3)))
            value = rng.choice(VALUES)
        prefix = rng.choice(["", "", "+", "+", "++", "~"])
        out.append(prefix + key + ("" if prefix == "~" and rng.random() < 0.7 else "=" + value))
    return out


def loader(root):
    return ConfigLoaderImpl(config_search_path=create_config_search_path(search_path_dir=root))


def composed(root, lines, primary="config"):
    cfg = loader(root).load_configuration(primary, lines, RunMode.RUN)
    HydraConfig.instance().set_config(cfg)
    OmegaConf.set_struct(cfg, False)
    choices = {k: v for k, v in cfg.hydra.runtime.choices.items() if not k.startswith("hydra/")}
    del cfg["hydra"]
    return cfg, choices


def plain_choices(choices):
    return {k: OmegaConf.to_container(v) if OmegaConf.is_list(v) else v for k, v in choices.items()}


class TooMany(Exception):
    """Of a sweep's runs: it is left out."""


def sweep(root, lines):
    """The configuration of each run, as BasicSweeper makes them."""
    config = loader(root)
    master = config.load_configuration("config", lines, RunMode.MULTIRUN)
    params = [f"{k}={v}" for k, v in (master.hydra.sweeper.params or {}).items()]
    parsed = OverridesParser.create(config_loader=config).parse_overrides(params + lines)
    runs = BasicSweeper.split_arguments(parsed, None)[0]
    if len(runs) > 8:
        raise TooMany()
    return [OmegaConf.to_container(composed(root, run)[0]) for run in runs]


def defaults(root, lines):
    found = loader(root).compute_defaults_list("config", lines, RunMode.RUN).defaults
    return [[d.config_path, d.package, d.is_self, d.parent] for d in found
            if not d.config_path.startswith("hydra/")]


def answer(function):
    try:
        return {"ok": function()}
    except RecursionError:
        return {"err": "recursion"}
    except Exception as e:  # every kind of error counts as one
        return {"err": type(e).__name__, "msg": str(e)[:300]}


def plain(value, nested=False):
    """A parsed value in the form of parse.jsonl (see the harness's `show`)."""
    if isinstance(value, QuotedString):
        return {"$quoted": value.text, "q": "double" if value.quote == Quote.double else "single"}
    if isinstance(value, bool) or value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return {"$float": repr(value)}
    if isinstance(value, list):
        return [plain(v, True) for v in value]
    if isinstance(value, dict):
        return {"$map": [[plain(k, True), plain(v, True)] for k, v in value.items()]}
    if nested:
        raise ValueError("a sweep inside a value: accepted there, and of no use")
    tags = sorted(getattr(value, "tags", []))
    if isinstance(value, ChoiceSweep):
        return {"$choice": [plain(v, True) for v in value.list], "simple": value.simple_form,
                "shuffle": value.shuffle, "tags": tags}
    if isinstance(value, RangeSweep):
        return {"$range": [plain(value.start), plain(value.stop), plain(value.step)],
                "shuffle": value.shuffle, "tags": tags}
    if isinstance(value, IntervalSweep):
        return {"$interval": [plain(value.start), plain(value.end)], "tags": tags}
    assert isinstance(value, Glob)
    return {"$glob": value.include, "exclude": value.exclude}


def parsed(text):
    o: Override = OverridesParser.create().parse_override(text)
    return {"$override": o.type.name, "key": o.key_or_group, "package": o.package,
            "vtype": o.value_type.name if o.value_type else None, "value": plain(o._value)}


PIECES = ["a", "b1", "1", "2.5", "-", "+", "1e3", ".5", "inf", "nan", "true", "null", " ", "\t", ",",
          ":", "=", "[", "]", "{", "}", "(", ")", "'", "\"", "\\", "\\\\", "\\,", "\\'", "${a}", "${",
          "}", "$", "%", "*", "@", "?", "|", "/", ".", "_", "1_0", "int(", "str(", "choice(", "range(",
          "sort(", "reverse=true", "tag(", "float(", "bool(", "interval(", "glob(", "abc", "x-y", "0",
          "007", "1__0", "é", "#", "~", "shuffle(", "list="]


def random_text(rng):
    body = "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 7)))
    if rng.random() < 0.3:
        call = rng.choice(["int", "str", "bool", "float", "choice", "range", "sort", "tag", "interval"])
        arguments = ",".join(rng.choice(["1", "2.5", "a", "'b'", "true", "[3,1]", "choice(2,1)",
                                         "range(3)", "null", "'1'", "-1", "reverse=true", "start=1"])
                             for _ in range(rng.randint(0, 3)))
        body = f"{call}({arguments})"
    key = rng.choice(["k", "k", "a.b", "a/b", "k@p", "$k", "a.0", "", "a-b", "k@", "a b", "1a", "k@a.b"])
    return rng.choice(["", "", "+", "++", "~"]) + key + rng.choice(["=", "=", "=", ""]) + body


TREE = {"a": 1, "f": 1.5, "t": "text", "n": None, "b": True, "l": [1, "two", {"k": 3}],
        "m": {"k": "v", "x": {"up": "${..k}"}}, "ref": "${a}", "unset": "???", "a-b": 2, "which": "a"}
PADDED = ["' x '", "'x '", "' 1'", "'1 '", "' [1] '", "'[ 1 , 2 ]'", "\" 'q' \"", "'x y'", "' a, b '", "'a,b'", "' a:b '", "'\t1\t'", "' ${a} '", "' true'",
          "'{ k : v }'", "' {k: v}'", "''", "' '", "'a\\ '", "' a\\,b '", "\"'x\"", "'1 2'", "' 1.5 2 '", "\"[a, [b, {c: ' d '}]]\"", "'x]'", "'null '", "'${t} '", "'a\\'b '",
          "\" \\${a} \"", "'  [a'", "' - '", "'$ '", "' %1'", "' \\[a\\] '", "'( '", "' = '"]
NODES = ["a", "f", "t", "n", "b", "l", "m", "l[0]", "l.1", "l[2].k", "m.k", "m[k]", "m.x.up", "ref", ".a", "..a", "a-b", "${which}",
         "m.${t}", "nope", "l[9]", "l.k", "m.k.z", "unset", " a ", "a.", ".", "m[x][up]", "m.x", "A", "1", "l[1_0]", "l[-1]", "é", "a b"]
CALLS = ["oc.env:NOPE", "oc.env:A", "oc.select:", "oc.decode:", "oc.create:", "oc.dict.keys:", "oc.dict.values:", "oc.deprecated:",
         "oc.env:", "no.such:", "oc.select", "${which}:"]
WORDS = ["1", "-1", "+1", "1_0", "01", "1.5", ".5", "-.5", "1e3", "inf", "-nan", "null", "NULL", "true", "False", "x", "x y", " x ", "a.b", "'q'", '"q"', "'a\\'b'",
         '"a\\"b"', "'${a}'", '"${t}!"', "[]", "{}", "[1, x]", "{k: 1}", "{k: [1, {z: 2}]}", "x\\,y", "\\ ", "a:b", "a/b", "%d", "@", "?", "|", "*", "$", "", "''", "???",
         "\\}", "'}'", "é", "'é'", "=", "(", "\\(", "007", "0x1", "1__0", "1.", "1.e2", "-", "--", "a-b", "a_b", "a\\=b", "[1,]", "{k}", "{1: 2, true: 4}", "{'q': 1}"]


def random_interpolation(rng, depth=2):
    kind = rng.random()
    if kind < 0.45:
        return "${" + rng.choice(NODES) + "}"
    if kind < 0.5:
        return "${oc.decode:" + rng.choice(PADDED) + "}"
    words = [random_interpolation(rng, depth - 1) if depth and rng.random() < 0.2 else rng.choice(WORDS)
             for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    call = rng.choice(CALLS)
    if call in ("oc.select:", "oc.deprecated:") and words and words[0] in ("", "''"):
        words[0] = "a"  # not the whole tree, which the value is in
    if call in ("oc.env:NOPE", "oc.env:A") and words:
        call += ","
    return "${" + call + rng.choice([",", ", ", " ,"]).join(words) + "}"


def random_reference(rng):
    text = "".join(rng.choice(["", "x", " ", "\\", "\\\\", "$", "é", "}", "{"]) if rng.random() < 0.3 else
                   random_interpolation(rng) for _ in range(rng.choice([1, 1, 2, 3])))
    if rng.random() < 0.2 and text:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(["", "", "$", "{", "}", "'", '"', "\\", ":", ",", ".", "[", "]", " ", "é", "\t"]) + text[at + 1:]
    return text


def referred(text):
    tree = OmegaConf.create({**TREE, "v": text})
    value = tree.v
    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def random_yaml(rng):
    rng.rough = rng.choice([0, 0.1])
    text = rng.choice(odd_trees.WHOLE) if rng.random() < 0.1 else odd_trees.mapping(rng, 2)
    for _ in range(rng.choice([0, 0, 1, 2])):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice([" ", ":", "-", "[", "]", "{", "}", ",", "'", '"', "#", "&", "*", "|", ">", "%", "@", "\n", "?", "<", "=",
                                       "~", "0", "x", "é", ": ", "- ", "\n  ", "", "", "", ""]) + text[at + rng.choice([0, 1]):]
    return text


def same_events(text):
    """Whether PyYAML's own scanner reads a document as libyaml does, which Hydra 1.4 uses, and we."""
    def events(loader):
        try:
            return [(type(e).__name__, getattr(e, "value", None), getattr(e, "anchor", None), getattr(e, "tag", None))
                    for e in yaml.parse(text, Loader=loader)]
        except yaml.YAMLError:
            return "error"
    return events(yaml.Loader) == events(yaml.CLoader)


def loaded(text):
    tree = OmegaConf.load(io.StringIO(text))
    return [OmegaConf.to_container(tree), OmegaConf.to_yaml(tree)]


def record(f, name, root, lines, ops):
    for op, run in ops.items():
        case = {"id": f"{name}_{op}", "op": op, "dir": name, "config": "config", "overrides": lines}
        found = answer(run)
        of_value = op == "defaults" and found.get("err") == "GrammarParseError"
        if not of_value and found.get("err") != "TooMany":
            f.write(json.dumps({**case, **found}) + "\n")


def own_defaults(root, primary, lines):
    repository = CachingConfigRepository(ConfigRepository(config_search_path=create_config_search_path(root)))
    parsed_lines = OverridesParser.create().parse_overrides(lines)
    found = create_defaults_list(repo=repository, config_name=primary, overrides_list=parsed_lines,
                                 prepend_hydra=False, skip_missing=False).defaults
    return [[d.config_path, d.package, d.parent, bool(d.is_self), bool(d.primary)] for d in found]


def record_own():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")
    with open(os.path.join(folder, "cases.txt")) as f:
        cases = [line.rstrip("\n").split("\t") for line in f if line.strip() and line[0] != "#"]
    with open(os.path.join(folder, "defaults.jsonl"), "w") as of_lists, \
            open(os.path.join(folder, "compose.jsonl"), "w") as of_trees:
        for where, primary, *lines in cases:
            root = os.path.join(folder, "configs", where)
            case = {"dir": "configs/" + where, "config": primary, "overrides": lines}
            made = functools.cache(lambda: composed(root, lines, primary)[0])
            tree = answer(lambda: OmegaConf.to_container(made()))
            resolved = answer(lambda: OmegaConf.to_container(made(), resolve=True))
            listed = answer(lambda: own_defaults(root, primary, lines))
            if "ok" in tree or "err" in listed and listed["err"] != "GrammarParseError":
                write(of_lists, case, listed)  # what is wrong with values is no matter of lists
            write(of_trees, case, tree)
            if "ok" in tree and resolved != tree:
                write(of_trees, {**case, "op": "resolve"}, resolved)
            if "ok" in tree:
                write(of_trees, {**case, "op": "yaml"}, answer(lambda: OmegaConf.to_yaml(made())))


def write(f, case, found):
    found.pop("msg", None)  # it may name folders of this machine
    f.write(json.dumps({**case, **found}) + "\n")


def main():
    version.setbase("1.3")
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    Plugins.instance()
    setup_globals()
    os.environ.pop("NOPE", None)
    os.environ["A"] = "set"
    if sys.argv[1:] == ["own"]:
        record_own()
        return
    out, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    odd = sys.argv[4:5] == ["odd"]
    texts = int(sys.argv[5]) if len(sys.argv) > 5 else count * 4
    os.makedirs(out + "/trees")
    rng = random.Random(seed)
    with open(os.path.join(out, "generated.jsonl"), "w") as f:
        for i in range(count):
            name = f"{'odd' if odd else ''}{seed}_{i}"
            root = os.path.abspath(os.path.join(out, "trees", name))
            (odd_trees.write_tree if odd else write_tree)(rng, root)
            lines = (odd_trees.arguments if odd else overrides)(rng)
            made = functools.cache(lambda: composed(root, lines))
            ops = {"compose": lambda: OmegaConf.to_container(made()[0]),
                   "resolve": lambda: OmegaConf.to_container(made()[0], resolve=True),
                   "defaults": lambda: defaults(root, lines)}
            if odd:
                ops["yaml"] = lambda: OmegaConf.to_yaml(made()[0])
                ops["choices"] = lambda: plain_choices(made()[1])
            record(f, name, root, lines, ops)
            if odd and i % 3 == 0:
                swept = odd_trees.sweep_arguments(rng)
                record(f, name, root, swept, {"sweep": lambda: sweep(root, swept)})
    for name, make, run in (("parse", random_text, parsed), ("refer", random_reference, referred),
                            ("yaml", random_yaml, loaded)):
        with open(f"{out}/{name}.jsonl", "w") as f:
            for _ in range(texts):
                text = make(rng)
                if name == "yaml" and (not same_events(text) or re.search(r"\$\{\s*:|\\0", text)):
                    continue
                case = {"rule": "override" if name == "parse" else name, "text": text}
                f.write(json.dumps({**case, **answer(lambda: run(text))}) + "\n")
    with tarfile.open(os.path.join(out, "generated.tar.gz"), "w:gz") as tar:
        tar.add(os.path.join(out, "trees"), "generated")


main()
