#!/usr/bin/env python3
"""`graphrun config --schema` against a real validator: what graphrun takes it must take, and what
graphrun refuses by its table of keys it must refuse.

    tests/compose/json_schema.py build/graphrun        with jsonschema and omegaconf from PyPI
"""
import glob
import json
import os
import subprocess
import sys

try:
    from jsonschema import Draft202012Validator
    from omegaconf import OmegaConf
except ImportError as missing:
    print(f"  SKIPPED: the JSON Schema: {missing}")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

# What no file shows by itself: keys that are missing, or come from another file or the command line; and 16.0, an integer
# to JSON Schema.
COMPOSED = {"schema_no_graph", "schema_left_missing", "schema_package", "schema_number_key", "schema_float_for_integer"}
failed = passed = 0


def check(name, good, why=""):
    global failed, passed
    failed, passed = failed + (not good), passed + good
    print(f"ok {name}" if good else f"FAIL {name}: {why}")


def load(path):
    return OmegaConf.to_container(OmegaConf.load(path))


def defaults_of(node, path=""):
    for key, inner in node.get("properties", {}).items():
        if "default" in inner:
            yield path + key, inner
        yield from defaults_of(inner, path + key + ".")


def main():
    graphrun = os.path.abspath(sys.argv[1])
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

    def output(*arguments):
        return json.loads(subprocess.run([graphrun, "config", *arguments], check=True, capture_output=True).stdout)

    schema = output("--schema")
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)

    def errors(value):
        return "; ".join(e.message[:80] for e in validator.iter_errors(value))

    for path in sorted(glob.glob("configs/*.yaml")) + ["docs/tour/run.yaml", "tests/e2e/tones.yaml"]:
        check(path, not errors(load(path)), errors(load(path)))
        if path != "configs/distributed.yaml":  # a part of others
            made = output(path, "--resolve", "--json", "data.manifest=x.jsonl")
            check(f"{path}, composed", not errors(made), errors(made))
    for path in sorted(glob.glob("tests/compose/bad/schema_*/config.yaml")):
        name = path.split("/")[-2]
        check(name, bool(errors(load(path))) != (name in COMPOSED), "it must be refused")
    for path, inner in defaults_of(schema):
        wrong = list(Draft202012Validator(inner).iter_errors(inner["default"]))
        check(f"default of {path}", not wrong, str(wrong[:1]))
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


sys.exit(main())
