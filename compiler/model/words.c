// words.c - names that other libraries use, above all PyTorch's, for "did you mean": a synonym is a
// better guess than a name with a similar spelling.
#include <ctype.h>
#include <string.h>
#include "compiler/model/parts.h"

// Ops, blocks and attributes. A word may have several synonyms; the first that exists is suggested.
static const struct {
  const char *word, *meant;
} synonyms[] = {
    {"absolute", "abs"},
    {"adaptive_avg_pool1d", "adaptive_avg_pool"},
    {"adaptive_avg_pool2d", "adaptive_avg_pool"},
    {"adaptive_avg_pool3d", "adaptive_avg_pool"},
    {"affine", "linear"},
    {"amax", "reduce_max"},
    {"astype", "cast"},
    {"average_pool", "avg_pool"},
    {"avg", "mean"},
    {"avg_pool1d", "avg_pool"},
    {"avg_pool2d", "avg_pool"},
    {"avg_pool3d", "avg_pool"},
    {"axes", "axis"},
    {"axis", "axes"},
    {"bce_loss", "cross_entropy"},
    {"binary_cross_entropy_with_logits", "bce_with_logits"},
    {"bmm", "matmul"},
    {"broadcast_to", "broadcast"},
    {"cat", "concat"},
    {"ce", "cross_entropy"},
    {"ce_loss", "cross_entropy"},
    {"cer", "edit_distance"},
    {"clip", "clamp"},
    {"concatenate", "concat"},
    {"conv", "conv1d"},
    {"convolution", "conv1d"},
    {"cross_entropy_loss", "cross_entropy"},
    {"ctc", "ctc_loss"},
    {"ctc_decode", "ctc_greedy"},
    {"cumulative_sum", "cumsum"},
    {"dense", "linear"},
    {"detach", "stop_gradient"},
    {"dim", "axis"},
    {"dim", "axes"},
    {"dims", "axes"},
    {"dims", "perm"},
    {"divide", "div"},
    {"dot", "matmul"},
    {"drop", "dropout"},
    {"dropout_p", "dropout"},
    {"embed", "embedding"},
    {"embedding_dim", "dim"},
    {"epsilon", "eps"},
    {"expand", "broadcast"},
    {"fc", "linear"},
    {"flatten", "reshape"},
    {"full", "fill"},
    {"fully_connected", "linear"},
    {"global_avg_pool", "adaptive_avg_pool"},
    {"greedy_decode", "ctc_greedy"},
    {"hidden_size", "hidden"},
    {"huber_loss", "huber"},
    {"is_causal", "causal"},
    {"keepdims", "keepdim"},
    {"kernel_size", "kernel"},
    {"label_smoothing", "smoothing"},
    {"levenshtein", "edit_distance"},
    {"ln", "layer_norm"},
    {"lookup", "embedding"},
    {"masked_fill", "where"},
    {"max_pool1d", "max_pool"},
    {"max_pool2d", "max_pool"},
    {"max_pool3d", "max_pool"},
    {"maximum", "max"},
    {"mha", "self_attention"},
    {"minimum", "min"},
    {"mm", "matmul"},
    {"mse_loss", "mse"},
    {"multi_head_attention", "self_attention"},
    {"multihead_attention", "self_attention"},
    {"multinomial", "sample_categorical"},
    {"multiply", "mul"},
    {"narrow", "slice"},
    {"negative", "neg"},
    {"nll_loss", "cross_entropy"},
    {"num_embeddings", "vocab"},
    {"num_heads", "heads"},
    {"ones", "fill"},
    {"out_channels", "out"},
    {"out_features", "out"},
    {"padding", "pad"},
    {"parameter", "param"},
    {"permute", "transpose"},
    {"plus", "add"},
    {"power", "pow"},
    {"probability", "p"},
    {"rand", "sample_uniform"},
    {"randn", "sample_normal"},
    {"rate", "p"},
    {"reduce_mean", "mean"},
    {"reduce_sum", "sum"},
    {"residual", "add"},
    {"rsqrt", "pow"},
    {"scaled_dot_product_attention", "attention"},
    {"scatter", "scatter_add"},
    {"smooth_l1_loss", "huber"},
    {"squeeze", "reshape"},
    {"start", "from"},
    {"subtract", "sub"},
    {"swapaxes", "transpose"},
    {"swish", "silu"},
    {"take_along_axis", "gather"},
    {"tile", "broadcast"},
    {"topk", "top_k"},
    {"type", "dtype"},
    {"unflatten", "reshape"},
    {"units", "out"},
    {"unsqueeze", "reshape"},
    {"view", "reshape"},
    {"wer", "edit_distance"},
    {"zeros", "fill"},
};

// Ops that do not exist, and what to use instead.
static const struct {
  const char *word, *instead;
} absent[] = {
    {"chunk", "slice takes one part"},
    {"einsum", "transpose, reshape and matmul make it"},
    {"elu", "relu, gelu and silu are there"},
    {"flip", "a scan with 'reverse: true' runs backwards"},
    {"for", "'repeat: N' repeats nodes; a scan runs along an axis"},
    {"identity", "'- b: a' is a second name for a"},
    {"if", "'when: expression' is a key that every node has"},
    {"l1_loss", "sub, abs and mean make it"},
    {"leaky_relu", "relu, gelu and silu are there"},
    {"rnn", "lstm, gru and lmu are there; a scan writes any other recurrence"},
    {"sequential", "nodes run in order as they are"},
    {"split", "slice takes one part"},
    {"stack", "reshape gives each a new axis, concat joins them"},
    {"tan",
     "of the functions of one number there are exp, log, sqrt, square, pow, abs, sin, cos, tanh, "
     "sigmoid"},
    {"while", "'repeat: N' repeats nodes; a scan runs along an axis"},
};

// Normalizes a name: "nn.LayerNorm" and "layer_norm" both become "layernorm".
static void plain(const char *word, char out[64]) {
  const char *dot = strrchr(word, '.');
  size_t n = 0;
  for (const char *p = dot ? dot + 1 : word; *p && n < 63; p++)
    if (*p != '_') out[n++] = (char)tolower((unsigned char)*p);
  out[n] = 0;
}

static bool alike(const char *a, const char *b) {
  char x[64], y[64];
  plain(a, x), plain(b, y);
  return *x && !strcmp(x, y);
}

const char *gr_model_nearest(const char *word, const char *const *known, int n) {
  for (int k = 0; k < n; k++)
    if (alike(word, known[k])) return known[k];
  for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
    for (int k = 0; k < n && alike(word, synonyms[i].word); k++)
      if (!strcmp(synonyms[i].meant, known[k])) return known[k];
  return NULL;
}

const char *gr_model_alternative(const char *word) {
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
    if (alike(word, absent[i].word)) return absent[i].instead;
  return NULL;
}
