"""gdb prints graphrun's values as the program itself would: graphs and their nodes in the text of ir/text.h, types,
layouts and places as in messages, configurations with the place of each value, errors with place and hint.

    (gdb) source tools/gdb/graphrun.py

gdb loads this by itself, as build/graphrun-gdb.py, where it trusts the folder: docs/debugging.md. The values are read from
memory without calling the program, so that they print in core dumps too. tests/docs/gdb.sh compares them with what the
program prints.
"""
import gdb
import gdb.printing
import json
import math
import re


def text(pointer):
    """A C string, or None of a null pointer."""
    return pointer.string(errors="replace") if int(pointer) else None


def constant(name):
    return int(gdb.parse_and_eval(name))


def word(enum):
    """An enumerator in lower case, without the prefix that all of its kind have: GR_CONF_MAP is map."""
    return re.sub("^GR_(CONF|ERR|KIND|ATTR|ROLE)?_?", "", str(enum)).lower()


def place(loc):
    file = text(loc["file"])
    return f"{file}:{int(loc['line'])}:{int(loc['col'])}" if file else ""


# ---- Graphs -----------------------------------------------------------------------------------


def reference(val):
    return f"%{int(val['id'])}" if int(val["id"]) else "none"


def dtype(number):
    return text(gdb.parse_and_eval("gr_dtypes")[int(number)]["name"])


def type_text(t):
    return f"{dtype(t['dtype'])}[{','.join(str(int(t['dim'][i])) for i in range(int(t['rank'])))}]"


def placement(layout, axis):
    code, pad = int(layout["placement"][axis]), int(layout["pad"][axis])
    if code < 0:
        return {constant("GR_REPLICATE"): "R", constant("GR_PARTIAL"): "P"}.get(code, str(code))
    return f"S{code}" + (f"-{pad}" if pad else "")


def layout_text(layout, mesh=None):
    """For each axis of the mesh on which the value is not replicated; without a mesh for all that there may be."""
    if mesh is None:
        n = layout["placement"].type.range()[1] + 1
        return " (" + ", ".join(placement(layout, a) for a in range(n)) + ")"
    parts = [(text(mesh["axis"][a]["name"]), placement(layout, a)) for a in range(int(mesh["n_axes"]))]
    return "".join(f" {name}:{where}" for name, where in parts if where != "R")


def name_text(name):
    return name if re.fullmatch(r"[A-Za-z0-9_.$/-]+", name) else json.dumps(name, ensure_ascii=False)


def number_text(value):
    value = float(value)
    return repr(value) if math.isfinite(value) else str(value)


def list_text(values):
    n = int(values["n"])
    return "[" + ",".join(str(int(values["items"][i])) for i in range(n)) + "]"


def attribute(attr, a):
    """The text of one field of a node's attributes, by its row of the op's table."""
    address = attr.cast(gdb.lookup_type("char").pointer()) + int(a["offset"])

    def read(name):
        return address.cast(gdb.lookup_type(name).pointer()).dereference()

    kind = word(a["kind"])
    if kind == "int":
        return str(int(read("int64_t")))
    if kind == "float":
        return number_text(read("double"))
    if kind == "bool":
        return "true" if int(read("int64_t")) else "false"
    if kind == "dtype":
        return dtype(read("int64_t"))
    if kind == "ints":
        return list_text(read("gr_ints"))
    if kind == "list":
        return list_text(read("gr_list"))
    if kind == "choice":
        return text(a["choices"]).split("|")[int(read("int64_t"))]
    return f"0x{int(read('uint64_t')):016x}"  # a stream


def attributes(node):
    """The rows of the op's table."""
    rows, i = node["op"]["attrs"], 0
    while int(rows) and int(rows[i]["name"]):
        yield rows[i]
        i += 1


def note(node):
    parts = [text(node["created_by"]) or "", text(node["scope"]), place(node["loc"])]
    return "  # " + " ".join([parts[0]] + [p for p in parts[1:] if p])


def node_head(node):
    outs = " ".join(f"%{int(node['out']['id']) + k}" for k in range(int(node["n_out"])))
    ins = "".join(f" %{int(node['in'][k]['id'])}" for k in range(int(node["n_in"])))
    attrs = [f"{text(a['name'])}={attribute(node['attr'], a)}" for a in attributes(node) if word(a["kind"]) != "graph"]
    return f"{outs} = {text(node['op']['name'])}{ins}" + (" {" + ", ".join(attrs) + "}" if attrs else "")


def value_type(value, mesh):
    return type_text(value["type"]) + layout_text(value["layout"], mesh)


LEAVES = {"ema": "average"}  # kinds whose word in a graph's text is another than the enumerator


def leaf_text(value, mesh):
    kind = word(value["kind"])
    head = "input" if word(value["role"]) == "input" else LEAVES.get(kind, kind)
    name = text(value["name"])
    out = head + (f" {name_text(name)}" if name else "") + " : " + value_type(value, mesh)
    for link in ("next", "grad"):
        if int(value[link]["id"]):
            out += f" {link}={reference(value[link])}"
    return out


def node_lines(graph, node, indent):
    types = [value_type(graph["values"][int(node["out"]["id"]) + k], graph["mesh"]) for k in range(int(node["n_out"]))]
    yield " " * indent + node_head(node) + " : " + ", ".join(types) + note(node)
    for a in attributes(node):
        if word(a["kind"]) == "graph":
            pointer = node["attr"].cast(gdb.lookup_type("char").pointer()) + int(a["offset"])
            body = pointer.cast(gdb.lookup_type("gr_graph").pointer().pointer()).dereference().dereference()
            yield " " * indent + text(a["name"]) + " {"
            yield from graph_lines(body, indent + 2)
            yield " " * indent + "}"


def graph_lines(graph, indent=0):
    """As gr_graph_print (ir/text.c), line by line."""
    space, mesh = " " * indent, graph["mesh"]
    if int(mesh["n_axes"]):
        axes = [mesh["axis"][a] for a in range(int(mesh["n_axes"]))]
        yield space + "mesh" + "".join(f" {text(a['name'])}={int(a['size'])}" for a in axes)
    for i in range(1, int(graph["n_values"])):
        value = graph["values"][i]
        if word(value["role"]) != "temp":
            where = place(value["loc"])
            yield f"{space}%{i} = {leaf_text(value, mesh)}" + (f"  # {where}" if where else "")
        elif int(graph["nodes"][int(value["node"])]["out"]["id"]) == i:
            yield from node_lines(graph, graph["nodes"][int(value["node"])], indent)
    if int(graph["loss"]["id"]):
        over = graph["loss_denominator"]
        yield space + f"loss {reference(graph['loss'])}" + (f" / {reference(over)}" if int(over["id"]) else "")
    names = graph["result_names"]
    for i in range(int(graph["n_results"])):
        name = text(names[i]) if int(names) else None
        yield space + "result " + (f"{name_text(name)} " if name else "") + reference(graph["results"][i])


# ---- Configurations and errors ------------------------------------------------------------------


def scalar_text(conf):
    kind = word(conf["kind"])
    if kind == "bool":
        return "true" if conf["truth"] else "false"
    if kind == "int":
        return str(int(conf["integer"]))
    if kind == "float":
        return number_text(conf["number"])
    if kind in ("text", "interp"):
        return json.dumps(text(conf["text"]) or "", ensure_ascii=False)
    return "???" if kind == "missing" else kind


def conf_text(conf):
    kind, n = word(conf["kind"]), int(conf["n"])
    what = f"{kind} of {n}" if kind in ("map", "list") else scalar_text(conf)
    where = place(conf["loc"]) or place(conf["key_loc"])
    return what + (f" ({where})" if where else "") + (" by default" if conf["is_default"] else "")


def error_text(error):
    name = text(gdb.parse_and_eval("gr_codes")[int(error["code"])]["name"])
    file = text(error["file"])
    where = f"{file}:{int(error['loc']['line'])}:{int(error['loc']['col'])}: " if file else ""
    out = f"{where}{name} error: {text(error['text'].address.cast(gdb.lookup_type('char').pointer()))}"
    hint = error["hint"].string(errors="replace")
    out += f" (hint: {hint})" if hint else ""
    out += f" [{text(error['cfile'])}:{int(error['cline'])}]"
    return out + (" and " + error_text(error["next"].dereference()) if int(error["next"]) else "")


# ---- Printers -------------------------------------------------------------------------------------


class Printer:
    """Prints a value as the text that `show` makes of it."""

    def __init__(self, show, value):
        self.show, self.value = show, value

    def to_string(self):
        return self.show(self.value)


class ConfPrinter:
    """A map or a list with its members, which are printed likewise."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return conf_text(self.value)

    def children(self):
        named = int(self.value["keys"])
        for i in range(int(self.value["n"])):
            yield text(self.value["keys"][i]) if named else f"[{i}]", self.value["items"][i].dereference()


SHOWS = {
    "gr_loc": lambda v: place(v) or "nowhere",
    "gr_val": reference,
    "gr_type": type_text,
    "gr_layout": lambda v: layout_text(v).strip(),
    "gr_value": lambda v: leaf_text(v, None) if word(v["role"]) != "temp" else f"temp : {value_type(v, None)}",
    "gr_node": lambda v: node_head(v) + note(v),
    "gr_graph": lambda v: "\n" + "\n".join(graph_lines(v)),
    "gr_error": error_text,
    "gr_text": lambda v: json.dumps(text(v["chars"]) or "", ensure_ascii=False),
}
# Pointers to these are printed as what they point to; `print *p` prints more of a configuration.
POINTERS = {"gr_error": error_text, "gr_conf": conf_text, "gr_node": SHOWS["gr_node"]}


def tag_of(value_type):
    """The name of a structure's type: that of its typedef or its tag."""
    name = value_type.name
    while value_type.code == gdb.TYPE_CODE_TYPEDEF and name not in SHOWS:
        value_type = value_type.target()
        name = value_type.name
    return name


def find_printer(value):
    bare = value.type.strip_typedefs()
    if bare.code == gdb.TYPE_CODE_PTR:
        show = POINTERS.get(tag_of(bare.target().unqualified()))
        return Printer(lambda v: show(v.dereference()), value) if show and int(value) else None
    tag = tag_of(value.type.unqualified())
    if tag == "gr_conf":
        return ConfPrinter(value)
    return Printer(SHOWS[tag], value) if tag in SHOWS else None


class Lookup(gdb.printing.PrettyPrinter):
    """All of these, as one entry of `info pretty-printer`."""

    def __call__(self, value):
        try:
            return find_printer(value)
        except gdb.error:
            return None


gdb.printing.register_pretty_printer(None, Lookup("graphrun"), replace=True)
