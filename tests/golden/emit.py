#!/usr/bin/env python3
"""Writes emit_in.yaml and emit_out.yaml, for tests/compose/emit.c: strings with every kind of character that YAML
escapes, as a document in ASCII, and the same document as PyYAML 6.0.3 writes it with OmegaConf's rule of quotes
(words for bools and numbers are quoted) and unicode allowed."""
import pathlib, random
import yaml

HERE = pathlib.Path(__file__).resolve().parent
WORDS = ["y", "No", "true", "null", "~", "1e3", "0x1F", "1_000", "12:30", ".inf", "=", "- a", "a: b", "a #b", "---", "..."]
ODD = "\x01\x07\x08\t\n\x0b\x0c\r\x1b\x1f\x7f\x80\x85\x9f\xa0\xad\u00e9\u2028\u2029\u3042\ufeff\ufffd\U0001f600\ud7ff\ue000\"'\\"
BOOLS = {w for b in ("y", "yes", "n", "no", "true", "false", "on", "off") for w in (b, b.capitalize(), b.upper())}
rng = random.Random(5)


def is_number(text):
    for kind in (int, float):
        try:
            kind(text)
            return True
        except ValueError:
            pass
    return False


def represent(dumper, text):
    quoted = text in BOOLS or is_number(text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="'" if quoted else None)


class Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data):
        return True


def ascii_text(text):
    out = ""
    for c in text:
        n = ord(c)
        out += "\\" + c if c in '"\\' else c if 32 <= n < 127 else f"\\U{n:08x}"
    return f'"{out}"'


def strings():
    yield from WORDS
    yield from ("", " ", "a ", " a", "a\n", "\na", "a\n\nb", "a \nb", "a\n b", "it's", 'say "so"', "x" * 100)
    for c in ODD.replace("\x85", ""):  # which PyYAML writes alone as a line break, and reads as a space
        yield c
        yield f"a{c}b"
    words = ["word", "it's", "a:", "#", "\u00e9t\u00e9", "\x07", "\\"]
    for k in range(40):  # of which long ones are folded
        yield " ".join(rng.choice(words[: 2 + k % 6]) for _ in range(10 + k))
    for k in range(30):
        yield "".join(rng.choice(ODD + "ab  c") for _ in range(5 * k))


Dumper.add_representer(str, represent)
data = {f"k{i}": text if i % 3 else [text, {"deep": text}] for i, text in enumerate(strings())}
put = lambda x: ascii_text(x) if isinstance(x, str) else f"[{ascii_text(x[0])}, {{deep: {ascii_text(x[1]['deep'])}}}]"
(HERE / "emit_in.yaml").write_text("".join(f"{k}: {put(v)}\n" for k, v in data.items()))
text = yaml.dump(data, Dumper=Dumper, default_flow_style=False, allow_unicode=True, sort_keys=False)
(HERE / "emit_out.yaml").write_bytes(text.encode())
