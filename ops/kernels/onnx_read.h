// onnx_read.h - what ops share that are read from ONNX (ir/onnx_read.h): operands in the order of
// axes that they want, and ops that most readers emit.
#pragma once
#include "ir/onnx_read.h"

// Reads one node by the reader of its type; GR_ERR_UNSUPPORTED names it if there is none.
GR_MUST_USE gr_status gr_read_node(gr_onnx_reading *, const gr_onnx_node *);
// Reads what a graph in the node that is read has: its tensors, then its nodes.
void gr_read_nodes(gr_onnx_reading *, const gr_onnx_graph *);
// The var of a value in ONNX's order of axes, for outputs of the model; 0: there is no such name.
int gr_read_value(gr_onnx_reading *, const char *name);

// Whether a value is known, and no weight.
static inline bool gr_read_is_constant(const gr_onnx_reading *r, int var) {
  return var && gr_read_is_known(r, var) && !r->vars[var].weight;
}

// The k-th operand, in ONNX's order of axes; 0: it is left out, which is an error if `needed`.
int gr_read_in(gr_onnx_reading *, int k, bool needed);
// The k-th operand channels-last: [n, c, h, w] of ONNX is [n, h, w, c].
int gr_read_in_last(gr_onnx_reading *, int k);
// Whether it is so already.
bool gr_read_is_last(gr_onnx_reading *, int k);
// What a value is a transpose of, channels-last, where it is the same in ONNX's order; else 0.
int gr_read_source(const gr_onnx_reading *, int var);
// Sets the k-th result; last: it is channels-last.
void gr_read_out(gr_onnx_reading *, int k, int var, bool last);

// Permutes axes, and changes the shape; both leave out what undoes itself.
int gr_read_transpose(gr_onnx_reading *, int var, const int64_t *perm);
int gr_read_reshape(gr_onnx_reading *, int var, int rank,
                    int64_t (*sizes)[GR_READ_CHOICES]);  // of those sizes, by choice
// The sizes of a value's axes from `first` to before `end`, by choice; returns their number.
int gr_read_dims(const gr_onnx_reading *, int var, int first, int end,
                 int64_t (*out)[GR_READ_CHOICES]);
// Their product, by choice: the size of the one axis that they become.
void gr_read_count(const gr_onnx_reading *, int var, int first, int end, int64_t *out);
void gr_read_same(int64_t by_choice[GR_READ_CHOICES], int64_t);  // the same in all
// What a value is a reshape of; itself if it is none.
int gr_read_unshaped(const gr_onnx_reading *, int var);
// Reshapes to the var's own sizes without (keep[d] 0) axes of size 1.
int gr_read_squeeze(gr_onnx_reading *, int var, const bool *keep);
// Elements of one axis, from an index on, by choice.
int gr_read_slice(gr_onnx_reading *, int var, int axis, const int64_t *start, const int64_t *size);
// Repeats the value along a new axis of those sizes, by choice.
int gr_read_repeat(gr_onnx_reading *, int var, int axis, const int64_t *size);
// The value in those sizes, by choice, n of them: axes of 1 are repeated, and new ones come first.
int gr_read_expand(gr_onnx_reading *, int var, int n, int64_t (*sizes)[GR_READ_CHOICES]);
// As f32, or as whole numbers.
int gr_read_cast(gr_onnx_reading *, int var, bool is_float);
// An axis of ONNX's order in that of a value which is channels-last, if it is.
int gr_read_place(int axis, int rank, bool last);
// An axis from the end counted from the start; refuses one that is not there.
int gr_read_axis(gr_onnx_reading *, int64_t axis, int rank);
// The first n operands of a pointwise node: all channels-last, if one is and the others fit, which
// it returns; otherwise all in ONNX's order.
bool gr_read_together(gr_onnx_reading *, int n, int *in);
// Turns the sizes of an input to channels-last, in which the data have it.
void gr_read_become_last(gr_onnx_reading *, gr_read_binding *);
// Fills r->readers from the tables of all ops.
void gr_read_list_readers(gr_onnx_reading *);
// The sizes of the k-th operand in ONNX's order of axes; returns their number.
int gr_read_sizes(gr_onnx_reading *, int k, int64_t (*out)[GR_READ_CHOICES]);
// The k-th operand in the order that it has.
int gr_read_as_is(gr_onnx_reading *, int k, bool *last);
// A `linear` of x with weight [out, in] and bias (or 0), if no other node reads these; else 0.
int gr_read_linear(gr_onnx_reading *, int x, int weight, int bias);
// x times a matrix [in, out], along the last axis of what x was before its axes became rows.
int gr_read_product(gr_onnx_reading *, int x, int w);
// Reads a node as rows of a table: a layer, if nothing else reads the table.
void gr_read_embedding(gr_onnx_reading *, int table, int ids);
// If operand x is the result of a `linear` without bias that only this node reads, and operand b a
// vector that is one: it gets it, and its result is returned; else 0.
int gr_read_bias(gr_onnx_reading *, int x, int b);
// The axes that a reduction of a value of `rank` axes is over, from the start: those of operand 1
// or the attribute, or all. Returns their number; none: there are none, and it changes nothing.
int gr_read_axes(gr_onnx_reading *, int rank, int64_t *out, bool *none);
// A value reduced over axes, which have size 1: without them unless the node has keepdims.
int gr_read_reduced(gr_onnx_reading *, int var, int n, const int64_t *axes);
// Reads a reduction as the op with `axes` and `keepdim`, between those of the reader.
void gr_read_reduce(gr_onnx_reading *);
// Reads a node of any number of operands as the op of two, from the first on.
void gr_read_all(gr_onnx_reading *);
// 1 with the probability q, else 0, where x is a RandomUniformLike and q a known number from 0 to
// 1; 0 if they are not. A program that does not train has q.
int gr_read_chance(gr_onnx_reading *, int x, int q);
// Exchanges an axis and the last one.
int gr_read_swap_last(gr_onnx_reading *, int x, int axis);
// The first two operands, which are 0 or 1, in one dtype; as gr_read_together.
bool gr_read_truths(gr_onnx_reading *, int in[2]);
// Reads a node of two such operands as the op.
void gr_read_logic(gr_onnx_reading *);
// Reads a node with an `axis` as the op over the last one.
void gr_read_over_last(gr_onnx_reading *);
typedef struct gr_read_windows {
  int axes;
  int64_t kernel[GR_MAX_RANK], stride[GR_MAX_RANK], dilation[GR_MAX_RANK];
  int64_t pad[GR_MAX_RANK], after[GR_MAX_RANK];  // elements before and after an axis
} gr_read_windows;
// The attributes of windows over that many axes of x, which is channels-last; kernel: the sizes
// that its weight has, NULL if only the attribute says them. False: they are not read.
bool gr_read_window(gr_onnx_reading *, int x, int axes, const int64_t *kernel, gr_read_windows *);
// x, padded where there is more before an axis than after it, or less, by the difference: zeros, or
// what is no maximum. Padding is the same at both ends then.
int gr_read_pad_evenly(gr_onnx_reading *, int x, bool least, gr_read_windows *);
const char *gr_read_each(gr_onnx_reading *, int n, const int64_t *);  // "2", or "[2, 1]"
// Reads pooling as that op; count_include_pad: its attribute of that name, or NULL.
void gr_read_pool(gr_onnx_reading *, const gr_op *, const char *count_include_pad);
// Reads a GroupNormalization as the block group_norm.
void gr_group_norm_read(gr_onnx_reading *);
// The same of an InstanceNormalization.
void gr_instance_norm_read(gr_onnx_reading *);
void gr_einsum_read(gr_onnx_reading *);            // reads an Einsum
void gr_gather_read(gr_onnx_reading *);            // a Gather
void gr_gather_nd_read(gr_onnx_reading *);         // a GatherND
void gr_gather_elements_read(gr_onnx_reading *);   // a GatherElements
void gr_scatter_nd_read(gr_onnx_reading *);        // a ScatterND
void gr_scatter_elements_read(gr_onnx_reading *);  // a ScatterElements
// A known value at known indices [..., k], of its first k axes, which is known.
int gr_read_known_at(gr_onnx_reading *, int x, int ids);
// Elements of x at such indices.
int gr_read_places(gr_onnx_reading *, int x, int ids);
// The second index of pairs whose first is the sample, as x[arange(n), i] takes them; 0: they are
// not.
int gr_read_second_of_pairs(const gr_onnx_reading *, int x, int pairs);
// y[s, j, ...] = x[s, id[s, j], ...], where `pairs` are (s, id).
int gr_read_of_samples(gr_onnx_reading *, int x, int pairs, int id);
// An index of an axis of that size, counted from its end if it is negative; refuses others.
int64_t gr_read_index(gr_onnx_reading *, int64_t i, int64_t size);
// A known value, of which the elements by choice are borrowed.
int gr_read_known_by_choice(gr_onnx_reading *, const gr_type type[GR_READ_CHOICES],
                            const void *const data[GR_READ_CHOICES]);
// The axis of known indices [..., k] along which the j-th change; -1: none; -2: more than one.
int gr_read_index_axis(const gr_onnx_reading *, int ids, int j);
// n[c] elements of an axis at those indices, by choice: those that follow each other are a slice,
// others rows of a product, which must be the same in all sizes.
int gr_read_elements(gr_onnx_reading *, int x, int axis, const int64_t *n,
                     const int64_t *const *index);
// Elements of x along an axis at an index that is known in each step of the scan that is read, of a
// counter: the slice of another sequence of that scan; 0: it is no such index.
int gr_read_at_step(gr_onnx_reading *, int x, int ids, int axis);
// Reads a Resize as repetition or a product along each axis.
void gr_resize_read(gr_onnx_reading *);
void gr_slice_read(gr_onnx_reading *);     // reads a Slice
void gr_split_read(gr_onnx_reading *);     // a Split
void gr_sequence_read(gr_onnx_reading *);  // a SplitToSequence, whose parts have names of their own
void gr_sequence_at_read(gr_onnx_reading *);  // a SequenceAt of such parts
// As many zeros before and after the elements of an axis, by choice.
int gr_read_pad_zeros(gr_onnx_reading *, int x, int axis, const int64_t *before,
                      const int64_t *after);
// Elements of that value instead, as text; where *before or *after is 0 there are none.
int gr_read_pad_with(gr_onnx_reading *, int x, int axis, const int64_t *before,
                     const int64_t *after, const char *value);
void gr_pad_read(gr_onnx_reading *);  // reads a Pad
// Along an axis, `rows` elements that are each a sum of x's: those times a row of the matrix
// [rows, size of the axis], which is constant.
int gr_read_mix(gr_onnx_reading *, int x, int axis, int64_t rows, const float *matrix);
