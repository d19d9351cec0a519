// cases.c - see cases.h.
#include "tests/gpu/cases.h"
#include <string.h>

#define SCALARS "f32[]", "f32[]", "f32[]"
const gpu_case gpu_cases[] = {
    // several tiles of 64 by 64, the last ones partly filled; sums in several slabs and parts
    {"conv1d", {{"f32[3,50,70]", "f32[130,70,5]", "f32[130]"}}, "stride=2 pad=3 dilation=2"},
    {"conv1d", {{"f32[2,37,3]", "f32[5,3,4]"}}, "pad=1"},
    {"conv_grad_x", {{"f32[70,66,3]", "f32[2,40,70]"}}, "stride=2 pad=2 dilation=2 size=79"},
    {"conv_grad_x", {{"f32[7,5,4]", "f32[2,8,7]"}}, "stride=3 size=26"},
    {"conv2d", {{"f32[2,9,11,40]", "f32[140,20,3,3]", "f32[140]"}}, "stride=[2,1] pad=1 groups=2"},
    {"conv3d", {{"f32[2,5,6,7,10]", "f32[70,10,3,2,3]"}}, "stride=[1,2,1] pad=[1,0,2] dilation=2"},
    {"conv_grad_x",
     {{"f32[140,70,2,3]", "f32[2,5,7,140]"}},
     "stride=[2,1] pad=[0,1] dilation=[1,2] size=[11,9] groups=2"},
    {"conv_grad_x", {{"f32[66,5,2,1,3]", "f32[2,3,4,3,66]"}}, "pad=1 size=[2,2,3]"},
    {"conv_grad_w",
     {{"f32[4,17,21,40]", "f32[4,9,21,140]"}},
     "stride=[2,1] pad=1 size=[3,3] groups=2"},
    {"conv_grad_w", {{"f32[2,7,9,8,5]", "f32[2,7,9,8,9]"}}, "pad=1 size=[3,3,3]"},
    {"conv_grad_w", {{"f32[4,200,20]", "f32[4,200,70]"}}, "pad=2 size=5"},
    {"conv_grad_w", {{"f32[4,401,20]", "f32[4,200,7]"}}, "stride=2 size=3"},
    // windows at borders, beyond a block's threads; overlapping ones
    {"max_pool", {{"f32[3,23,17,9]"}}, "kernel=3 stride=2 pad=1"},
    {"max_pool_grad",
     {{"f32[3,9,7,5,9]", "f32[3,9,4,3,9]", "f32[3,9,4,3,9]"}, .fill = "mmn"},
     "kernel=[1,3,3] stride=[1,2,2] pad=[0,1,1]"},
    {"max_pool_grad",
     {{"f32[3,29,9]", "f32[3,27,9]", "f32[3,27,9]"}, .fill = "mmn"},
     "kernel=3 stride=1"},
    {"avg_pool", {{"f32[3,23,17,9]"}}, "kernel=3 stride=2 pad=1 count_include_pad=false"},
    {"avg_pool_grad", {{"f32[3,12,17,9]"}}, "kernel=[3,2] stride=[2,1] pad=1 size=[23,16]"},
    {"adaptive_avg_pool", {{"f32[2,8,16,16,33]"}}, "size=1"},
    {"adaptive_avg_pool_grad", {{"f32[2,5,7,33]"}}, "size=[13,9]"},
    {"matmul", {{"f32[5,70,300]", "f32[5,90,300]"}}, "tb=true sum=true"},
    {"matmul", {{"f32[5,300,70]", "f32[5,90,300]"}}, "ta=true tb=true sum=true"},
    {"matmul", {{"f32[5,70,300]", "f32[5,300,90]"}}, "sum=true"},
    {"matmul", {{"f32[5,300,70]", "f32[5,300,90]"}}, "ta=true sum=true"},
    {"matmul", {{"f32[33,20]", "f32[4,20,17]"}}, ""},
    {"matmul", {{"f32[4,20,33]", "f32[4,17,20]"}}, "ta=true tb=true"},
    // ids of many rows, in ranges of several; more ids than a block has threads
    {"embedding", {{"f32[300,150]", "i32[3,40]"}, .fill = "nl"}, ""},
    {"embedding", {{"f32[60,33]", "i32[40]"}, .fill = "nl"}, ""},
    {"embedding_grad", {{"f32[2500,130]", "i32[2500]"}, .fill = "nl"}, "rows=600"},
    {"embedding_grad", {{"f32[70,5,3]", "i32[70,5]"}, .fill = "ni"}, "rows=4"},
    // loops of a grid over more elements than it has threads
    {"accumulate", {{"f32[600001]", "f32[600001]", "i32[]"}, .fill = "nn1"}, ""},
    {"dropout", {{"f32[13,37,6]", "i32[]"}, .fill = "ni"}, "p=0.3 seed=5 stream=7"},
    {"init_uniform", {{0}}, "shape=[33,31] low=-2 high=3 stream=7"},
    {"init_normal", {{0}}, "shape=[33,31] mean=1 std=0.1 stream=8"},
    {"init_trunc_normal", {{0}}, "shape=[33,31] mean=1 std=0.1 stream=9"},
    {"lmu_memory", {{0}}, "order=24 theta=5"},
    {"adafactor_squares", {{"f32[2,300,70]"}}, ""},
    {"adafactor_norm",
     {{"f32[3,80,100]", "f32[3,80]", "f32[3,100]", "f32[3]", "f32[]"}, .fill = "npppp"},
     "rows=80 count=24000"},
    {"adafactor",
     {{"f32[3,80,100]", "f32[3,80,100]", "f32[3,80]", "f32[3,100]", "f32[3]", "f32[]", "i32[]",
       "f32[]", SCALARS},
      .fill = "nnpppsis1pp"},
     "rows=80 count=24000 weight_decay=0.01"},
    // lattices with repeated symbols, of one position per thread, of more, and in working memory
    {"ctc_loss_with_residuals",
     {{"f32[3,40,33]", "i32[3,20]", "i32[3]", "i32[3]"}, .fill = "nill"},
     ""},
    {"ctc_loss_with_residuals",
     {{"f32[2,200,300]", "i32[2,180]", "i32[2]", "i32[2]"}, .fill = "nill"},
     "blank=7 normalize=none",
     "2=190 3=90"},
    {"ctc_loss_with_residuals",
     {{"f32[1,60,30]", "i32[1,700]", "i32[1]", "i32[1]"}, .fill = "nill"},
     "zero_infinity=false",
     "2=60 3=20"},
    {"ctc_loss_with_residuals",
     {{"f32[2,12,20]", "i32[2,1600]", "i32[2]", "i32[2]"}, .fill = "nill"},
     "",
     "2=12 3=5"},
    {"ctc_loss_with_residuals",
     {{"f32[1,1100,8]", "i32[1,600]", "i32[1]", "i32[1]"}, .fill = "nill"},
     "blank=5",
     "2=1100 3=520"},
    {"ctc_loss", {{"f32[3,40,33]", "i32[3,20]", "i32[3]", "i32[3]"}, .fill = "nill"}, "blank=11"},
    {"ctc_greedy", {{"f32[3,70,40]", "i32[3]"}, .fill = "nl"}, "blank=3"},
    {"edit_distance", {{"i32[3,300]", "i32[3]", "i32[3,280]", "i32[3]"}, .fill = "ilil"}, ""},
    {"edit_distance",
     {{"i32[3,300]", "i32[3]", "i32[3,280]", "i32[3]"}, .fill = "ilil"},
     "unit=word space=2"},
    // rows: of a warp, in packs of 16 bytes; of a block, in packs and not; too long for registers
    {"softmax", {{"f32[9,40]"}}, ""},
    {"softmax", {{"f32[2,1000]"}}, ""},
    {"softmax", {{"f32[2,1001]"}}, ""},
    {"softmax", {{"f32[2,9001]"}}, ""},
    {"softmax", {{"f32[3,2,700]", "i32[3]"}, .fill = "nl"}, ""},
    {"softmax", {{"f32[2,3,7,600]", "i32[2]"}, .fill = "nl"}, "causal=true", "1=0"},
    {"softmax_grad", {{"f32[9,40]", "f32[9,40]"}}, ""},
    {"softmax_grad", {{"f32[2,1000]", "f32[2,1000]"}}, ""},
    {"softmax_grad", {{"f32[2,2,9001]", "f32[2,2,9001]", "i32[2]"}, .fill = "nnl"}, ""},
    {"softmax_grad", {{"f32[2,2,9]", "f32[2,2,9]", "i32[2]"}, .fill = "nnl"}, "", "2=0"},
    {"log_softmax", {{"f32[9,40]"}}, ""},
    {"log_softmax", {{"f32[2,1000]"}}, ""},
    {"log_softmax", {{"f32[2,9001]"}}, ""},
    {"log_softmax_grad", {{"f32[9,40]", "f32[9,40]"}}, ""},
    {"log_softmax_grad", {{"f32[2,1001]", "f32[2,1001]"}}, ""},
    {"log_softmax_grad", {{"f32[2,9001]", "f32[2,9001]"}}, ""},
    // several pieces of rows, tiles of channels and groups of samples
    {"channel_sums", {{"f32[6,300,70]", "f32[6]"}, .fill = "nm"}, "groups=2"},
    {"channel_squares", {{"f32[6,3000,3]", "f32[6]", "f32[1,3]"}, .fill = "nmn"}, ""},
    {"batch_norm_sums",
     {{"f32[6,30,70]", "f32[6,30,70]", "f32[3,70]", "f32[3,70]"}, .fill = "nnnp"},
     "groups=3"},
    {"layer_norm", {{"f32[9,40]", "f32[40]", "f32[40]"}}, ""},
    {"layer_norm", {{"f32[2,1000]", "f32[1000]", "f32[1000]"}}, ""},
    {"layer_norm", {{"f32[2,9001]", "f32[9001]", "f32[9001]"}}, ""},
    {"layer_norm_grad", {{"f32[90,40]", "f32[40]", "f32[90,40]"}}, ""},
    {"layer_norm_grad", {{"f32[7,1000]", "f32[1000]", "f32[7,1000]"}}, ""},
    {"layer_norm_grad", {{"f32[7,5001]", "f32[5001]", "f32[7,5001]"}}, ""},
    {"cross_entropy", {{"f32[9,40]", "i32[9]"}, .fill = "ni"}, ""},
    {"cross_entropy",
     {{"f32[2,3,1000]", "i32[2,3]", "f32[1000]"}, .fill = "nic"},
     "smoothing=0.1 ignore_index=1"},
    {"cross_entropy", {{"f32[2,40,9001]", "i32[2,40]"}, .fill = "ni"}, "smoothing=0.1"},
    {"cross_entropy_grad",
     {{"f32[3,2,40]", "i32[3,2]", "f32[3]", "f32[40]"}, .fill = "ninp"},
     "smoothing=0.1 ignore_index=1"},
    {"cross_entropy_grad", {{"f32[2,3,1000]", "i32[2,3]", "f32[2]"}, .fill = "nin"}, ""},
    {"cross_entropy_grad",
     {{"f32[2,1,9001]", "i32[2,1]", "f32[2]"}, .fill = "nin"},
     "smoothing=0.1"},
    {"accuracy", {{"f32[90,40]", "i32[90]"}, .fill = "ni"}, ""},
    {"accuracy", {{"f32[2,3,1001]", "i32[2,3]"}, .fill = "ni"}, "ignore_index=1"},
    {"accuracy", {{"f32[2,9001]", "i32[2]"}, .fill = "ni"}, ""},
    {"accuracy", {{"f32[40,3]", "i32[40]"}, .fill = "mm"}, ""},  // equal logits
    {"argmax", {{"f32[2,3,1001]"}}, ""},
    {"argmax", {{"f32[2,9001]"}}, ""},
    {"argmax", {{"f32[40,3]"}, .fill = "m"}, ""},  // equal elements
    {"top_k", {{"f32[2,1001]"}}, "k=7"},
    {"top_k", {{"f32[2,9001]"}}, "k=3"},
    {"top_k", {{"f32[40,30]"}, .fill = "m"}, "k=20"},  // equal elements
    {"gather", {{"f32[40,30]", "i32[40,7]"}, .fill = "ni"}, ""},
    {"gather_grad", {{"f32[40,7]", "i32[40,7]"}, .fill = "ni"}, "size=33"},
    {"one_hot", {{"i32[400]"}, .fill = "i"}, "classes=13"},
    {"cumsum", {{"f32[3,700,5]"}}, "axis=1"},
    {"cumsum", {{"f32[40,70]"}}, "axis=1 reverse=true"},
    {"arange", {{0}}, "size=3000 start=-4 step=0.125"},
    {"sample_uniform", {{"f32[33,31]", "i32[]"}, .fill = "ni"}, "stream=7"},
    {"sample_normal", {{"f32[33,31]", "i32[]"}, .fill = "ni"}, "stream=7"},
    {"sample_categorical", {{"f32[300,31]", "i32[]"}, .fill = "ni"}, "stream=7"},
    {"sample_sum", {{"f32[3,20000]"}}, ""},
    {"mse", {{"f32[3,20000]", "f32[3,20000]"}}, ""},
    {"mse_grad", {{"f32[3,7]", "f32[3,7]", "f32[3]"}}, ""},
    // reductions: rows and columns, in one stage and in two; axes apart; axes of size 1
    {"sum", {{"f32[3,900]"}}, "axes=[1]"},
    {"sum", {{"f32[3,4001]"}}, "axes=[1]"},
    {"sum", {{"f32[2,40000]"}}, "axes=[1]"},
    {"sum", {{"f32[4000,8]"}}, "axes=[0]"},
    {"sum", {{"f32[400,301]"}}, "axes=[0]"},
    {"sum", {{"f32[3,70,2]"}}, "axes=[1]"},
    {"sum", {{"f32[40,4,600]"}}, "axes=[0,2]"},
    {"sum", {{"f32[3,2,4,2,5,2]"}}, "axes=[0,2,4]"},
    {"sum", {{"f32[3,2,4,2,5,2]"}}, "axes=[1,3,5]"},
    {"sum", {{"f32[1,5,40]"}}, "axes=[0]"},
    {"sum", {{"f32[5,40]"}}, "axes=[]"},
    {"sum", {{"i32[500,12]"}, .fill = "i"}, "axes=[0]"},
    {"reduce_max", {{"f32[4000,8]"}}, "axes=[0]"},
    {"reduce_max", {{"f32[2,40000]"}}, "axes=[1]"},
    {"reduce_max_grad", {{"f32[30,70]", "f32[30]", "f32[30]"}, .fill = "mmn"}, "axes=[1]"},
    {"reduce_max_grad",
     {{"f32[3,70,40]", "f32[3,1,40]", "f32[3,1,40]"}, .fill = "m1n"},
     "axes=[1] keepdim=true"},
    {"reduce_max_grad", {{"f32[3,4,5,2]", "f32[4,2]", "f32[4,2]"}, .fill = "mmn"}, "axes=[0,2]"},
    {"sum_squares", {{"f32[300,401]"}}, ""},
    {"bias_add_grad", {{"f32[3,400,64]"}}, ""},
    // packs of 16 bytes
    {"add", {{"f32[5,1000]", "f32[5,1000]"}}, ""},
    {"where", {{"f32[5,8]", "f32[5,8]", "f32[5,8]"}, .fill = "mnn"}, ""},
    {"bias_add", {{"f32[90,64]", "f32[64]"}}, ""},
    {"mask", {{"f32[6,5,16]", "i32[6]"}, .fill = "nl"}, ""},
    {"broadcast", {{"f32[3,64]"}}, "axis=1 size=5"},
    {"concat", {{"f32[5,16]", "f32[5,32]", "f32[5,8]"}}, "axis=1"},
    {"slice", {{"f32[2,7,16]"}}, "axis=1 from=2 size=3"},
    {"pad", {{"f32[3,16]"}}, "axis=0 from=1 size=6"},
    // tiles, several each way; rows in packs; a short axis
    {"transpose", {{"f32[70,130]"}}, "perm=[1,0]"},
    {"transpose", {{"f32[40,5,70]"}}, "perm=[2,0,1]"},
    {"transpose", {{"f32[2,5,6,16]"}}, "perm=[0,2,1,3]"},
    {"transpose", {{"f32[9,3,4,33]"}}, "perm=[3,1,0,2]"},
    {"transpose", {{"f32[3,1000]"}}, "perm=[1,0]"},
    {0},
};

gr_status gpu_case_attr(gr_arena *arena, const gr_op *op, const char *words, const void **out) {
  char *text = gr_arena_strdup(arena, words), *next = NULL;
  void *attr = gr_arena_alloc(arena, op->attr_size + 1);
  gr_attr_defaults(op, attr);
  for (char *word = strtok_r(text, " ", &next); word; word = strtok_r(NULL, " ", &next)) {
    size_t n = strcspn(word, "=");
    const gr_attr *a = op->attrs;
    while (a->name && (strlen(a->name) != n || strncmp(a->name, word, n) != 0)) a++;
    GR_TRY(gr_attr_parse(op, a, word + n + 1, GR_NOWHERE, attr));
  }
  *out = attr;
  return GR_OK;
}

bool gpu_case_retyped(gr_arena *arena, const gr_case *c, const char *dtype, gr_case *out) {
  bool any = false;
  *out = *c;
  for (int k = 0; k < GR_CASE_ARGS && c->in[k]; k++) {
    if (strncmp(c->in[k], "f32[", 4) != 0 || c->in[k][4] == ']') continue;
    out->in[k] = gr_arena_printf(arena, "%s%s", dtype, c->in[k] + 3);
    any = true;
  }
  return any;
}
