// test_read.c - files of ONNX as models: what a node becomes, and files that contradict themselves.
// That the models compute the same is what PyTorch says (onnx.import).
#include <math.h>
#include <unistd.h>
#include "compiler/onnx/onnx.h"
#include "ops/ops.h"
#include "tests/check.h"

// ---- Files --------------------------------------------------------------------------------------

// The words of a line, in place.
static int split(char *line, const char **out, int most) {
  int n = 0;
  for (char *p = strtok(line, " "); p && n < most; p = strtok(NULL, " ")) out[n++] = p;
  return n;
}

// "f32[n,3,7]" as a type, in which n is -1.
static gr_type type_of(const char *text) {
  gr_type t = {.dtype = !strncmp(text, "i64", 3) ? GR_I64 : GR_F32};
  for (const char *p = strchr(text, '['); *p && *p != ']' && p[1] != ']'; p = strpbrk(p + 1, ",]"))
    t.dim[t.rank++] = p[1] == 'n' ? -1 : atoll(p + 1);
  return t;
}

// "w f32[2,3]": elements 1, 2, ...; "p i64[2] 0 3": those.
static void put_tensor(gr_onnx_graph *g, char *line) {
  const char *word[32];
  int n = split(line, word, 32);
  gr_type t = type_of(word[1]);
  int64_t *data = gr_arena_alloc(g->arena, (size_t)gr_type_count(&t) * 8 + 8);
  for (int64_t i = 0; i < gr_type_count(&t); i++) {
    double x = n > 2 ? atof(word[2 + i]) : (double)(i + 1);
    if (t.dtype == GR_I64)
      data[i] = n > 2 ? atoll(word[2 + i]) : i + 1;
    else
      ((float *)data)[i] = (float)x;
  }
  gr_onnx_tensor_add(g, word[0], &t, data);
}

// "axis=1", "pads=1,0,0,1" or "mode=edge".
static void put_attr(gr_arena *a, gr_onnx_node *n, const char *text) {
  const char *value = strchr(text, '=') + 1;
  bool number = (*value >= '0' && *value <= '9') || *value == '-';
  gr_onnx_attr *to = &n->attr[n->n_attrs++];
  *to = (gr_onnx_attr){.name = gr_arena_strndup(a, text, (size_t)(value - text) - 1)};
  to->kind = !number ? GR_ONNX_TEXT : strchr(value, ',') ? GR_ONNX_INTS : GR_ONNX_INT;
  to->text = value;
  if (to->kind == GR_ONNX_INT) to->i = atoll(value);
  if (to->kind != GR_ONNX_INTS) return;
  int64_t *ints = GR_NEW(a, int64_t, 16);
  for (const char *p = value - 1; p; p = strchr(p + 1, ',')) ints[to->i++] = atoll(p + 1);
  to->ints = ints;
}

// "Conv x w -> y strides=2,2", whose name is that of its first result.
static void put_node(gr_onnx_graph *g, char *line) {
  const char *word[24];
  int n = split(line, word, 24), k = 1;
  gr_onnx_node *to = GR_NEW(g->arena, gr_onnx_node, 1);
  to->op = word[0], to->in = GR_NEW(g->arena, const char *, 24);
  to->out = GR_NEW(g->arena, const char *, 24);
  for (; strcmp(word[k], "->") != 0; k++) to->in[to->n_in++] = strcmp(word[k], "-") ? word[k] : "";
  for (k++; k < n && !strchr(word[k], '='); k++) to->out[to->n_out++] = word[k];
  for (; k < n; k++) put_attr(g->arena, to, word[k]);
  to->name = to->out[0];
  *(g->nodes ? &g->last_node->next : &g->nodes) = to;
  g->last_node = to, g->n_nodes++;
}

// The file's lines: "x TYPE" of the input, tensors after "=", and nodes; its output is y.
static void write_file(gr_arena *a, const char *text, const char *path) {
  gr_onnx_graph *g = gr_onnx_graph_create(a, NULL, "g");
  char *rest = NULL;
  for (char *line = strtok_r(gr_arena_strdup(a, text), "\n", &rest); line;
       line = strtok_r(NULL, "\n", &rest)) {
    gr_type t = type_of("f32[n]");
    if (!strncmp(line, "x ", 2)) {
      t = type_of(line + 2);
      gr_onnx_input(g, "x", &t);
    } else if (*line == '=') {
      put_tensor(g, line + 1);
    } else {
      put_node(g, line);
    }
  }
  gr_type one = {.dtype = GR_F32, .rank = 1, .dim = {-1}};
  gr_onnx_output(g, "y", &one);
  FILE *to = fopen(path, "wb");
  MUST(gr_onnx_file(&(gr_onnx_model){.graph = g, .version = "1"}, to));
  CHECK(!fclose(to), "'%s' is not written", path);
}

typedef struct want {
  const char *file, *expected;  // of the text, or of the error
  gr_code code;                 // 0: it is read
} want;

static void check_files(const want *w, size_t n) {
  const char *path = "test_read.onnx";
  for (size_t i = 0; i < n; i++) {
    gr_arena *a = gr_arena_create();
    gr_onnx_imported m = {.text = NULL};
    write_file(a, w[i].file, path);
    gr_status s = gr_onnx_import(a, path, true, &m);
    const char *got = s ? gr_status_text(s) : m.text;
    CHECK(gr_status_code(s) == w[i].code, "code %d of\n%s\n%s", (int)gr_status_code(s), w[i].file,
          got);
    CHECK(strstr(got, w[i].expected), "'%s' is not what is made of\n%s\n%s", w[i].expected,
          w[i].file, got);
    CHECK(!s || gr_status_hint(s), "'%s' has no hint", got);
    gr_status_drop(s);
    gr_arena_destroy(a);
  }
  unlink(path);
}
#define CHECK_FILES(...) \
  check_files((const want[]){__VA_ARGS__}, sizeof((const want[]){__VA_ARGS__}) / sizeof(want))

// ---- Files that contradict themselves -----------------------------------------------------------

// A name that two give would be read as the last of them.
static void values_given_twice(void) {
  CHECK_FILES(
      {"x f32[n,4]\nRelu x -> h\nSigmoid x -> h\nTanh h -> y", "give the value 'h'", GR_ERR_CONFIG},
      {"x f32[n,4]\nRelu x -> x\nTanh x -> y", "give the value 'x'", GR_ERR_CONFIG},
      {"x f32[n,4]\n=w f32[4]\nRelu x -> w\nAdd x w -> y", "give the value 'w'", GR_ERR_CONFIG},
      {"x f32[n,4]\nAdd x z -> h\nRelu h -> z\nTanh z -> y",
       "'h' (Add) reads 'z', which nothing before it gives", GR_ERR_CONFIG});
}

// A layer's weights have its sizes: nothing but the start of a run would notice others.
static void weights_of_other_sizes(void) {
  CHECK_FILES({"x f32[n,4]\n=w f32[5,3]\nMatMul x w -> y", "sizes 4 and 5 differ", GR_ERR_TYPE},
              {"x f32[n,4]\n=w f32[3,5]\n=b f32[3]\nGemm x w b -> y transB=1",
               "sizes 4 and 5 differ", GR_ERR_TYPE},
              {"x f32[n,4]\n=w f32[5]\n=b f32[4]\nLayerNormalization x w b -> y",
               "sizes 4 and 5 differ", GR_ERR_TYPE},
              {"x f32[n,3,8,8]\n=w f32[4,3,3,3]\nConv x w -> y kernel_shape=5,5",
               "has a kernel_shape of 5 on an axis where its weight has 3", GR_ERR_UNSUPPORTED},
              {"x f32[n,3,8,8]\n=w f32[3]\n=b f32[3]\n=m f32[3]\n=v f32[5]\n"
               "BatchNormalization x w b m v -> y",
               "has a running_var that is no vector of 3 channels", GR_ERR_UNSUPPORTED},
              {"x f32[n,3,8,8]\n=w f32[3]\n=b f32[3]\n=m f32[3,1]\n=v f32[3]\n"
               "BatchNormalization x w b m v -> y",
               "has a running_mean that is no vector of 3 channels", GR_ERR_UNSUPPORTED},
              {"x f32[n,4,8,8]\n=w f32[4,1]\n=b f32[4]\nGroupNormalization x w b -> y num_groups=2",
               "weights of another number", GR_ERR_UNSUPPORTED});
}

// ---- Integers -----------------------------------------------------------------------------------

// They are i32, and those that are not would be others.
static void integers(void) {
#define ADD(c) "x i64[n,2]\n=c i64[2] " c "\nAdd x c -> h\nCast h -> y to=1"
  CHECK_FILES(
      {ADD("1099511627776 7"), "'h' (Add) reads the integer 1099511627776", GR_ERR_UNSUPPORTED},
      {ADD("7 -2147483649"), "reads the integer -2147483649", GR_ERR_UNSUPPORTED},
      {ADD("2147483648 2147483648"), "reads the integer 2147483648", GR_ERR_UNSUPPORTED},
      {ADD("2147483647 2147483647"), "value: 2147483647, dtype: i32", 0},
      {ADD("-2147483648 7"), "add: [x, c]", 0});
}

// ---- Windows and padding ------------------------------------------------------------------------

static void padding_of_windows(void) {
#define IMAGE(rest) "x f32[n,3,7,8]\n" rest
#define CONV(attrs) IMAGE("=w f32[4,3,4,3]\nConv x w -> y " attrs)
  CHECK_FILES({CONV("auto_pad=VALID"), "conv2d: x, out: 4, kernel_h: 4, kernel_w: 3, bias", 0},
              {CONV("auto_pad=SAME_UPPER"), "pad: x, axis: 1, from: 0, size: 8}", 0},
              {CONV("auto_pad=SAME_LOWER"), "pad: x, axis: 1, from: 1, size: 8}", 0},
              {CONV("auto_pad=SAME_UPPER strides=3,4"), "pad: x, axis: 1, from: 0, size: 8}", 0},
              {CONV("pads=0,1,2,1"), "pad: x, axis: 1, from: 0, size: 9}", 0},
              {CONV("auto_pad=SOME"), "has auto_pad=SOME", GR_ERR_UNSUPPORTED},
              {IMAGE("MaxPool x -> y kernel_shape=3,3 pads=1,1,2,1"),
               "shape: [n, 1, 8, 3], value: -3.4", 0},
              {IMAGE("AveragePool x -> y kernel_shape=3,3 strides=2,2 ceil_mode=1"), "mul: [", 0},
              {IMAGE("AveragePool x -> y kernel_shape=2,2 pads=2,0,0,0"),
               "has a window of padding alone", GR_ERR_UNSUPPORTED},
              {"x f32[n,3,n,8]\nAveragePool x -> y kernel_shape=3,3 strides=1,2 ceil_mode=1",
               "along an axis whose size is open", GR_ERR_UNSUPPORTED},
              {"x f32[n,3,n,8]\n=w f32[4,3,3,3]\nConv x w -> y auto_pad=SAME_UPPER strides=3,3",
               "pads an axis by its size (auto_pad), which is open", GR_ERR_UNSUPPORTED});
}

static void pads(void) {
#define PAD(tensors, rest) "x f32[n,4]\n" tensors "\nPad x " rest
  CHECK_FILES(
      {PAD("=p i64[4] 0 1 0 2\n=v f32[] 2.5", "p v -> y"), "shape: [n, 1], value: 2.5", 0},
      {PAD("=p i64[4] 0 -1 0 2", "p -> y"), "slice: x, axis: 1, from: 1, size: 3", 0},
      {PAD("=p i64[2] 1 2\n=a i64[1] -1", "p - a -> y"), "pad: x, axis: 1, from: 1, size: 7", 0},
      {PAD("=p i64[4] 0 -2 0 -2", "p -> y"), "cuts off all of axis 1", GR_ERR_UNSUPPORTED},
      {PAD("=p i64[4] 0 1 0 2", "p -> y mode=refelct"), "has the mode 'refelct'",
       GR_ERR_UNSUPPORTED},
      {PAD("=p i64[2] 1 2", "p -> y"), "not two for each axis", GR_ERR_UNSUPPORTED});
#define OPEN                                                                 \
  "x f32[n,n]\n=k i64[2] 19 19\n=z i64[2] 0 0\nShape x -> s\nMod s k -> m\n" \
  "Concat z m -> p axis=0\nPad x p -> y"
  CHECK_FILES({OPEN, "a size that is no product and no sum", GR_ERR_UNSUPPORTED},
              {OPEN " mode=edge", "widths that depend on an open size", GR_ERR_UNSUPPORTED});
}

// ---- Names and readers --------------------------------------------------------------------------

// A loss reads tensors of the data by names that no constant of the model may take.
static void names_of_data(void) {
  CHECK_FILES(
      {"x f32[n,4]\n=labels f32[4]\nAdd x labels -> h\nRelu h -> y", "name: \"labels_2\"", 0});
}

// Of two ops that read one type of nodes, the one that is listed last would.
static void one_reader_of_a_type(void) {
  gr_arena *a = gr_arena_create();
  gr_map seen = gr_map_make(a);
  for (const gr_op *const *op = gr_ops; *op; op++) {
    const gr_onnx_reader *t = (*op)->from_onnx;
    const char *row_of_op = t ? NULL : (*op)->onnx;
    for (int k = 0; row_of_op || (t && t[k].row); row_of_op = NULL, k++) {
      const char *row = row_of_op ? row_of_op : t[k].row;
      const char *type = gr_arena_strndup(a, row, strcspn(row, " "));
      CHECK(!gr_map_find(&seen, type, NULL), "%s is read by two ops, the second is %s", type,
            (*op)->name);
      gr_map_put(&seen, type, 1);
      if (!t) break;
    }
  }
  gr_arena_destroy(a);
}

static void reductions(void) {
  CHECK_FILES({"x f32[n,3,4]\nReduceSumSquare x -> y axes=1,2 keepdims=1",
               "axes: [1, 2], keepdim: true", 0},
              {"x f32[n,3,4]\nArgMin x -> h axis=1\nCast h -> y to=1", "argmax: ", 0},
              {"x f32[n,n]\nReduceProd x -> y axes=1,1", "whose size is open", GR_ERR_UNSUPPORTED});
}

// ---- Numbers ------------------------------------------------------------------------------------

// The matrix of that size.
static const gr_onnx_weight *find_weight(const gr_onnx_imported *m, int64_t rows, int64_t columns) {
  for (int i = 0; i < m->n_weights; i++) {
    const gr_type *t = &m->weights[i].type;
    if (t->rank == 2 && t->dim[0] == rows && t->dim[1] == columns) return &m->weights[i];
  }
  return NULL;
}

// Element 3 of five of eight lies at 3.5 / 0.7 - 0.5, which is 4.5 in f32 and more with the digits
// of the double: the nearest of 4 and 5 is 4, which comes first.
static void places_in_f32(void) {
  const char *path = "test_read.onnx";
  gr_arena *a = gr_arena_create();
  gr_onnx_imported m = {.text = NULL};
  write_file(a, "x f32[n,1,1,8]\n=s f32[4] 1 1 1 0.7\nResize x - s -> y mode=nearest", path);
  MUST(gr_onnx_import(a, path, true, &m));
  const gr_onnx_weight *w = find_weight(&m, 5, 8);
  CHECK(w, "no matrix in\n%s", m.text);
  const float *row = w ? (const float *)w->data + 3 * 8 : (const float[8]){0};
  CHECK(row[4] == 1 && row[5] == 0, "%g and %g", (double)row[4], (double)row[5]);
  gr_arena_destroy(a);
  unlink(path);
}

static void ranges(void) {
#define RANGE(bounds) "x f32[n,4]\n" bounds "\nRange a b c -> r\nAdd x r -> h\nRelu h -> y"
  CHECK_FILES({RANGE("=a f32[] 0.5\n=b f32[] 2.5\n=c f32[] 0.5"),
               "{param: [4], name: \"h\", train: false}", 0},
              {RANGE("=a f32[] 0\n=b f32[] 4\n=c f32[] 0"), "has steps of 0", GR_ERR_UNSUPPORTED},
              {RANGE("=a i64[] 0\n=b i64[] 4611686018427387904\n=c i64[] 1"),
               "bounds that are too large", GR_ERR_UNSUPPORTED});
}

// Matrices of a product are repeated as other values are.
static void products(void) {
  CHECK_FILES(
      {"x f32[n,3,7,8]\n=w f32[3,8,2]\nMatMul x w -> y", "broadcast: w, axis: 0, size: n}", 0},
      {"x f32[n,5,6]\n=w f32[1,6,2]\nMatMul x w -> y", "broadcast: ", 0},
      {"x f32[n,3,7,8]\n=w f32[2,8,2]\nMatMul x w -> y", "differ", GR_ERR_TYPE});
}

static void einsums(void) {
#define EINSUM(equation) "x f32[n,3,4]\n=w f32[4,5]\nEinsum x w -> y equation=" equation
  CHECK_FILES(
      {EINSUM("bij,jk->bik"), "matmul: [x, w]}", 0}, {EINSUM("bij,jk"), "matmul: [x, w]}", 0},
      {EINSUM("bij,ij->b"), "has two sizes of 'i'", GR_ERR_UNSUPPORTED},
      {"x f32[n,4,4]\n=w f32[4,5]\nEinsum x w -> y equation=bii,ik->bk", "matmul: ", 0},
      {EINSUM("bij,jk,->bik"), "has an equation that is not read", GR_ERR_UNSUPPORTED},
      {EINSUM("bij"), "has fewer terms than operands", GR_ERR_UNSUPPORTED},
      {EINSUM("bj,jk->bk"), "has 2 letters for a value of 3 axes", GR_ERR_UNSUPPORTED},
      {EINSUM("bij,jk->biq"), "has a result 'biq' that its operands do not give",
       GR_ERR_UNSUPPORTED},
      {EINSUM("bij,jk->bi>k"), "has an equation that is not read, at '>k'", GR_ERR_UNSUPPORTED},
      {EINSUM("...ij,...jk->...ik"), "has '...' of two numbers of axes", GR_ERR_UNSUPPORTED},
      {"x f32[n,3]\n=a f32[3,2,2,2]\n=b f32[3,2,2,2]\n"
       "Einsum x a b -> y equation=ni,iabc,idef->nabcdef",
       "has terms of more than 6 axes", GR_ERR_UNSUPPORTED});
}

static void choices(void) {
#define TOP_K(k, rest) "x f32[n,3,4]\n=k i64[1] " k "\nTopK x k -> v i " rest "\nAdd v v -> y"
  CHECK_FILES({TOP_K("2", "axis=1"), "top_k: transpose, k: 2}", 0},
              {TOP_K("2", "axis=-1 largest=0 sorted=0"), "top_k: neg, k: 2}", 0},
              {TOP_K("5", "axis=-1"), "the 5 largest of 4 elements", GR_ERR_TYPE},
              {TOP_K("2", "axis=3"), "names the axis 3 of a value of 3 axes", GR_ERR_UNSUPPORTED},
              {"x i64[n,4]\n=k i64[1] 2\nTopK x k -> v y", "whole numbers", GR_ERR_UNSUPPORTED},
              {"x f32[n,4]\n=z f32[4]\nReduceMax x -> m keepdims=0\nCast m -> k to=7\n"
               "TopK z k -> v y",
               "a number of elements that the data decide", GR_ERR_UNSUPPORTED});
#define ONE_HOT(rest) "x i64[n,3]\n=d i64[] 4\n=v f32[2] 0 1\nOneHot x " rest
  CHECK_FILES({ONE_HOT("d v -> y"), "one_hot: add, classes: 4}", 0},
              {ONE_HOT("d v -> y axis=3"), "names the axis 3", GR_ERR_UNSUPPORTED},
              {ONE_HOT("x v -> y"), "a number of classes that is no constant", GR_ERR_UNSUPPORTED},
              {ONE_HOT("d x -> y"), "has values that are no constants", GR_ERR_UNSUPPORTED},
              {"x f32[n,3]\n=d i64[] 4\n=v f32[2] 0 1\nOneHot x d v -> y", "that are floats",
               GR_ERR_UNSUPPORTED});
}

static void writes(void) {
#define ELEMENTS(node) "x f32[n,4]\nAbs x -> a\nCast a -> i to=7\nScatterElements x i a -> y " node
  CHECK_FILES({ELEMENTS("axis=1 reduction=add"), "scatter_add: [abs, cast], size: 4}", 0},
              {ELEMENTS("axis=1"), "at computed indices that may come twice", GR_ERR_UNSUPPORTED},
              {ELEMENTS("axis=1 reduction=mul"), "has the reduction 'mul'", GR_ERR_UNSUPPORTED},
              {ELEMENTS("axis=2"), "names the axis 2", GR_ERR_UNSUPPORTED},
              {"x f32[n,4]\n=i i64[1,2] 0 1\nAbs x -> a\nScatterElements x i a -> y axis=1",
               "of other sizes than its first operand", GR_ERR_UNSUPPORTED});
#define BOUNDS "=s i64[1] 0\n=e i64[1] 2\n=a i64[1] 1\n"
#define COLUMNS(ids)                                             \
  "x f32[n,4]\n" BOUNDS "Transpose x -> t perm=1,0\n=i i64[" ids \
  "\n"                                                           \
  "=b i64[1] 0\nSlice t s e b -> p\nScatterND t i p -> y "
  CHECK_FILES({COLUMNS("2,1] 1 2"), "concat: [slice_", 0},
              {COLUMNS("2,1] 1 3"), "do not follow each other along each axis", GR_ERR_UNSUPPORTED},
              {COLUMNS("2,1] 2 1"), "do not follow each other along each axis", GR_ERR_UNSUPPORTED},
              {COLUMNS("2,1] 3 4"), "do not follow each other along each axis", GR_ERR_UNSUPPORTED},
              {COLUMNS("2,1] 1 2") "reduction=add", "has a reduction", GR_ERR_UNSUPPORTED},
              {"x f32[n,4]\nCast x -> i to=7\nScatterND x i x -> y", "indices that are computed",
               GR_ERR_UNSUPPORTED});
}

// t[first[i], id[i]]: of each row of t, if `first` counts them.
static void pairs_of_indices(void) {
#define PAIRS(first)                                                                              \
  "x f32[n,4]\nTranspose x -> t perm=1,0\n=q i64[1] 1\nReduceMax t q -> m keepdims=1\nCast m -> " \
  "id to=7\n=f i64[4,1] " first "\nConcat f id -> pair axis=1\nGatherND t pair -> y"
  CHECK_FILES({PAIRS("0 1 2 3"), "gather: [", 0}, {PAIRS("0 0 1 1"), "indices", GR_ERR_UNSUPPORTED},
              {PAIRS("0 1 3 2"), "indices", GR_ERR_UNSUPPORTED});
}

// x [n, 5, 3] as a sequence, and a state [1, n, 2] of it.
static void first_states(void) {
#define LAYER(rest)                                                                          \
  "x f32[n,5,3]\nTranspose x -> t perm=1,0,2\n=w f32[1,8,3]\n=r f32[1,8,2]\n=f i64[2] 0 0\n" \
  "=e i64[2] 1 2\n=a i64[2] 1 2\nSlice x f e a -> c\nTranspose c -> s perm=1,0,2\nLSTM t w " \
  "r " rest " hidden_size=2"
  CHECK_FILES({LAYER("- -> y"), "lstm_layer: x, hidden: 2, bias: false, name:", 0},
              {LAYER("- - s s -> y"), "lstm_layer: [x, reshape, reshape_2], hidden: 2", 0},
              {LAYER("- - s s -> p q y"), "{lstm_states: [x, reshape, reshape_2]", 0},
              {LAYER("- - s -> y"), "a first state without a first cell state", GR_ERR_UNSUPPORTED},
              {LAYER("- - - s -> y"), "a first cell state without a first", GR_ERR_UNSUPPORTED},
              {LAYER("- - t t -> y"), "has a first state of another shape", GR_ERR_UNSUPPORTED},
              {LAYER("- - s s w -> y"), "has peepholes", GR_ERR_UNSUPPORTED},
              {LAYER("- s -> y"), "has a length for each sample", GR_ERR_UNSUPPORTED},
              {LAYER("r -> y"), "of another shape", GR_ERR_UNSUPPORTED});
}

static void pooling_with_gaps(void) {
#define GAPS(rest) "x f32[n,3,9,9]\nMaxPool x -> y kernel_shape=3,3 " rest
  CHECK_FILES({GAPS("dilations=2,2"), "slice: x, axis: 1, from: 4, size: 5}", 0},
              {GAPS("dilations=2,2"), "max_pool: max_4, kernel: 1, stride: 1", 0},
              {GAPS("dilations=1,3 strides=2,2"), "kernel: [3, 1], stride: 2, pad: 0}", 0},
              {GAPS("dilations=2,1 pads=2,1,2,1"), "concat: [y_2, x, y_2], axis: 1}", 0},
              {GAPS("dilations=2,2 ceil_mode=1"), "and ceil_mode=1", GR_ERR_UNSUPPORTED},
              {GAPS("dilations=5,1"), "reach beyond an axis", GR_ERR_UNSUPPORTED},
              {"x f32[n,3,9,9]\nAveragePool x -> y kernel_shape=3,3 dilations=2,2",
               "windows with gaps", GR_ERR_UNSUPPORTED},
              {"x f32[n,3,9,9]\nMaxPool x -> y kernel_shape=3,3 dilations=1,1", "max_pool: x", 0});
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"values_given_twice", values_given_twice},
             {"weights_of_other_sizes", weights_of_other_sizes}, {"integers", integers},
             {"padding_of_windows", padding_of_windows}, {"pads", pads},
             {"names_of_data", names_of_data}, {"one_reader_of_a_type", one_reader_of_a_type},
             {"reductions", reductions}, {"places_in_f32", places_in_f32}, {"ranges", ranges},
             {"products", products}, {"einsums", einsums}, {"choices", choices}, {"writes", writes},
             {"pairs_of_indices", pairs_of_indices}, {"first_states", first_states},
             {"pooling_with_gaps", pooling_with_gaps});
}
