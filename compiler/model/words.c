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
    {"adaptive_max_pool", "reduce_max"},
    {"addmm", "matmul"},
    {"affine", "linear"},
    {"amax", "reduce_max"},
    {"amin", "reduce_min"},
    {"argsort", "top_k"},
    {"astype", "cast"},
    {"average_pool", "avg_pool"},
    {"avg", "mean"},
    {"axes", "axis"},
    {"axis", "axes"},
    {"baddbmm", "matmul"},
    {"bce", "bce_with_logits"},
    {"bernoulli", "sample_uniform"},
    {"binary_cross_entropy_with_logits", "bce_with_logits"},
    {"bmm", "matmul"},
    {"bool", "cast"},
    {"broadcast_to", "broadcast"},
    {"cat", "concat"},
    {"ce", "cross_entropy"},
    {"celu", "elu"},
    {"cer", "edit_distance"},
    {"clip", "clamp"},
    {"concatenate", "concat"},
    {"constant_pad", "pad"},
    {"conv", "conv1d"},
    {"conv_transpose", "conv_transpose2d"},
    {"convolution", "conv1d"},
    {"ctc", "ctc_loss"},
    {"ctc_decode", "ctc_greedy"},
    {"cumulative_sum", "cumsum"},
    {"deconv", "conv_transpose2d"},
    {"deconvolution", "conv_transpose2d"},
    {"dense", "linear"},
    {"depth_to_space", "pixel_shuffle"},
    {"detach", "stop_gradient"},
    {"dim", "axis"},
    {"dim", "axes"},
    {"dims", "axes"},
    {"dims", "perm"},
    {"divide", "div"},
    {"dot", "matmul"},
    {"double", "cast"},
    {"drop", "dropout"},
    {"dropout_p", "dropout"},
    {"embed", "embedding"},
    {"embedding_bag", "embedding"},
    {"embedding_dim", "dim"},
    {"epsilon", "eps"},
    {"eq", "equal"},
    {"expand", "broadcast"},
    {"eye", "one_hot"},
    {"fc", "linear"},
    {"flatten", "reshape"},
    {"float", "cast"},
    {"full", "fill"},
    {"fully_connected", "linear"},
    {"ge", "greater_equal"},
    {"global_avg_pool", "adaptive_avg_pool"},
    {"grad", "gradient"},
    {"greater_than", "greater"},
    {"greedy_decode", "ctc_greedy"},
    {"gt", "greater"},
    {"half", "cast"},
    {"hardtanh", "clamp"},
    {"hidden_size", "hidden"},
    {"index_add", "add_rows"},
    {"index_put", "add_rows"},
    {"index_select", "gather_rows"},
    {"inner", "matmul"},
    {"int", "cast"},
    {"interpolate", "upsample2d"},
    {"is_causal", "causal"},
    {"keepdims", "keepdim"},
    {"kernel_size", "kernel"},
    {"kthvalue", "top_k"},
    {"l1", "mae"},
    {"l2_normalize", "normalize"},
    {"label_smoothing", "smoothing"},
    {"le", "less_equal"},
    {"less_than", "less"},
    {"levenshtein", "edit_distance"},
    {"linspace", "arange"},
    {"ln", "layer_norm"},
    {"logical_and", "mul"},
    {"logical_or", "max"},
    {"long", "cast"},
    {"lookup", "embedding"},
    {"lt", "less"},
    {"masked_fill", "where"},
    {"maximum", "max"},
    {"mean_absolute_error", "mae"},
    {"mean_squared_error", "mse"},
    {"median", "top_k"},
    {"mha", "self_attention"},
    {"minimum", "min"},
    {"mm", "matmul"},
    {"multi_head_attention", "self_attention"},
    {"multihead_attention", "self_attention"},
    {"multinomial", "sample_categorical"},
    {"multiply", "mul"},
    {"narrow", "slice"},
    {"ne", "not_equal"},
    {"negative", "neg"},
    {"nll_loss", "cross_entropy"},
    {"num_embeddings", "vocab"},
    {"num_heads", "heads"},
    {"ones", "fill"},
    {"out_channels", "out"},
    {"out_features", "out"},
    {"outer", "mul"},
    {"padding", "pad"},
    {"pairwise_distance", "distance"},
    {"parameter", "param"},
    {"permute", "transpose"},
    {"plus", "add"},
    {"positional_encoding", "sinusoidal_positions"},
    {"power", "pow"},
    {"probability", "p"},
    {"rate", "p"},
    {"reduce_mean", "mean"},
    {"reduce_sum", "sum"},
    {"repeat_interleave", "broadcast"},
    {"residual", "add"},
    {"resize", "upsample2d"},
    {"rsqrt", "pow"},
    {"scaled_dot_product_attention", "attention"},
    {"scatter", "scatter_add"},
    {"scatter_reduce", "add_rows"},
    {"segment_sum", "add_rows"},
    {"sort", "top_k"},
    {"squeeze", "reshape"},
    {"start", "from"},
    {"subtract", "sub"},
    {"swapaxes", "transpose"},
    {"swish", "silu"},
    {"take", "gather_rows"},
    {"take_along_axis", "gather"},
    {"take_along_dim", "gather"},
    {"tile", "broadcast"},
    {"to", "cast"},
    {"topk", "top_k"},
    {"transformer", "transformer_encoder"},
    {"triplet", "triplet_margin"},
    {"type", "dtype"},
    {"unflatten", "reshape"},
    {"units", "out"},
    {"unsqueeze", "reshape"},
    {"up_sampling", "upsample2d"},
    {"upsample", "upsample2d"},
    {"upsampling_bilinear", "upsample2d"},
    {"upsampling_nearest", "upsample2d"},
    {"variance", "var"},
    {"view", "reshape"},
    {"wer", "edit_distance"},
    {"zero_pad", "pad"},
    {"zeros", "fill"},
};

#define OF_ONE                                                                                  \
  "of the functions of one number there are exp, log, sqrt, square, pow, abs, sin, cos, tanh, " \
  "sigmoid"
// Ops that do not exist, and what to use instead.
static const struct {
  const char *word, *instead;
} absent[] = {
    {"acos", OF_ONE},
    {"all", "reduce_min of what is 0 or 1 makes it"},
    {"any", "reduce_max of what is 0 or 1 makes it"},
    {"asin", OF_ONE},
    {"atan", OF_ONE},
    {"atan2", OF_ONE},
    {"bucketize", "less, and a sum over the bounds, make it"},
    {"cdist",
     "sub of [n, 1, c] and [m, c], square, and sum over the last axis make squares of distances"},
    {"ceil", "neg, floor and neg make it"},
    {"chunk", "slice takes one part"},
    {"clone", "values never change: the name itself will do"},
    {"contiguous", "values never change, and are dense: the name itself will do"},
    {"cosh", OF_ONE},
    {"cumprod", "exp of the cumsum of logs makes it of what is above 0"},
    {"diag", "mul by one_hot of arange keeps a diagonal"},
    {"diagonal", "mul by one_hot of arange, and a sum, make it"},
    {"dice_loss", "sigmoid, mul, and sums over the axes of a sample make it"},
    {"drop_path",
     "dropout of ones, one for each sample: {fill: , shape: [n, 1], value: 1}, times x"},
    {"expm1", "exp, and sub of 1 after it, make it"},
    {"fft", "a product with a matrix of sines and cosines makes it"},
    {"flip", "a scan with 'reverse: true' runs backwards"},
    {"floor_divide", "div and floor make it"},
    {"for", "'repeat: N' repeats nodes; a scan runs along an axis"},
    {"full_like", "'{fill: , shape: [n, c], value: 1}' makes a value of a shape"},
    {"global_mean_pool", "add_rows of the nodes, over add_rows of ones, makes it"},
    {"gru_cell",
     "gru_layer of a sequence of one step, [n, 1, c], starts at a state that it is given"},
    {"gumbel_softmax",
     "sample_uniform, log, neg, log and neg make the noise; add and softmax follow"},
    {"identity", "'- b: a' is a second name for a"},
    {"if", "'when: expression' is a key that every node has"},
    {"item", "values are tensors: a scalar is one of no axes"},
    {"lerp", "sub, mul and add make it"},
    {"log1p", "add of 1, and log after it, make it"},
    {"logical_not", "'{sub: [1, x]}' of what is 0 or 1 makes it"},
    {"logit", "log of x, less log of 1 - x, makes it"},
    {"lstm_cell",
     "lstm_states of a sequence of one step, [n, 1, c], starts at states that it is given"},
    {"margin_ranking_loss", "sub, mul by the labels, neg, add of a margin, and relu make it"},
    {"masked_select", "sizes do not depend on values: mul by the mask, or where, keeps the shape"},
    {"nonzero", "sizes do not depend on values: mul by a mask, or where, keeps the shape"},
    {"norm",
     "layer_norm, batch_norm, group_norm, instance_norm and rms_norm are layers; normalize scales "
     "vectors to length 1"},
    {"normal",
     "'{fill: , shape: [n, c], value: 0}' has a shape, and sample_normal of it random numbers"},
    {"ones_like", "'{fill: , shape: [n, c], value: 1}' makes a value of a shape"},
    {"pack_padded_sequence", "lstm and gru take lengths [n] as their second operand"},
    {"pad_packed_sequence", "lstm and gru take lengths [n] as their second operand"},
    {"prod", "exp of the sum of logs makes it of what is above 0"},
    {"rand",
     "'{fill: , shape: [n, c], value: 0}' has a shape, and sample_uniform of it random numbers"},
    {"rand_like", "sample_uniform gives random numbers in the shape of its operand"},
    {"randint", "sample_uniform, scale, floor and cast make it"},
    {"randn",
     "'{fill: , shape: [n, c], value: 0}' has a shape, and sample_normal of it random numbers"},
    {"randn_like", "sample_normal gives random numbers in the shape of its operand"},
    {"reciprocal", "'{div: [1, x]}' makes it"},
    {"remainder", "x less floor of x / y times y makes it"},
    {"repeat", "broadcast repeats x along a new axis; 'repeat: N' with nodes: repeats nodes"},
    {"rnn", "rnn_layer is one layer in one direction; lstm, gru and lmu have several"},
    {"rnn_cell",
     "rnn_layer of a sequence of one step, [n, 1, c], starts at a state that it is given"},
    {"roll", "slice and concat make it"},
    {"round", "add of 0.5, and floor after it, make it"},
    {"sequential", "nodes run in order as they are"},
    {"sinh", OF_ONE},
    {"softmin", "neg and softmax make it"},
    {"softshrink", "sub of clamp of x from -0.5 to 0.5 makes it"},
    {"spectral_norm", "stop_gradient, matmul and normalize make it, with a buffer for the vector"},
    {"split", "slice takes one part"},
    {"stack", "reshape gives each a new axis, concat joins them"},
    {"stochastic_depth",
     "dropout of ones, one for each sample: {fill: , shape: [n, 1], value: 1}, times x"},
    {"tan", OF_ONE},
    {"tril", "'causal: true' of attention and softmax leaves out what comes later"},
    {"triu", "'causal: true' of attention and softmax leaves out what comes later"},
    {"trunc", "cast to an integer and back makes it"},
    {"unbind", "select takes one index of the first axis, slice a part of another"},
    {"unique", "sizes do not depend on values: top_k sorts"},
    {"weight_norm", "a param v over its length (square, sum, sqrt, div) times a param g makes it"},
    {"while", "'repeat: N' repeats nodes; a scan runs along an axis"},
    {"zeros_like", "'{fill: , shape: [n, c], value: 0}' makes a value of a shape"},
};

// Normalizes a name: "nn.LayerNorm" and "layer_norm" both become "layernorm".
static void plain(const char *word, char out[64]) {
  const char *dot = strrchr(word, '.');
  size_t n = 0;
  for (const char *p = dot ? dot + 1 : word; *p && n < 63; p++)
    if (*p != '_') out[n++] = (char)tolower((unsigned char)*p);
  out[n] = 0;
}

// Without what classes of PyTorch end in: "BatchNorm2d", "MSELoss" and "TransformerEncoderLayer".
static bool cut_ending(char *word) {
  static const char *const endings[] = {"1d", "2d", "3d", "loss", "layer"};
  size_t n = strlen(word);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t size = strlen(endings[i]);
    if (n <= size || strcmp(word + n - size, endings[i]) != 0) continue;
    word[n - size] = 0;
    return true;
  }
  return false;
}

// word: normalized.
static bool is_alike(const char *word, const char *name) {
  char other[64];
  plain(name, other);
  return *word && !strcmp(word, other);
}

static const char *find_alike(const char *word, const char *const *known, int n) {
  for (int k = 0; k < n; k++)
    if (is_alike(word, known[k])) return known[k];
  for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
    for (int k = 0; k < n && is_alike(word, synonyms[i].word); k++)
      if (!strcmp(synonyms[i].meant, known[k])) return known[k];
  return NULL;
}

const char *gr_model_nearest(const char *word, const char *const *known, int n) {
  char name[64];
  plain(word, name);
  const char *found = find_alike(name, known, n);
  return found || !cut_ending(name) ? found : find_alike(name, known, n);
}

const char *gr_model_alternative(const char *word) {
  char name[64];
  plain(word, name);
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
    if (is_alike(name, absent[i].word)) return absent[i].instead;
  return NULL;
}
