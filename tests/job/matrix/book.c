// book.c - the bytes that a step may send, by textbook algorithms. See cell.h.
//
// A ring over n ranks sends (n - 1) / n B of B bytes to gather or to scatter them, and twice that
// to sum them on all ranks (Patarasuk, Yuan 2009). With P bytes of trained weights, L bytes of
// activations and A micro-steps, in units of (n - 1) / n:
//
//   ddp, dp   2 P        gradients are summed, once a step
//   zero1     2 P        the same in halves: gradients scattered, weights gathered
//   zero2     (A + 1) P  gradients are scattered in each micro-step (Rajbhandari et al. 2020)
//   fsdp      3 A P      weights gathered forward and back, gradients scattered (Zhao et al.
//                        2023); matrices are gathered in the 2 bytes of bf16
//   hsdp      3 A P      over `shard`; over `replicate` 2 P / shard once a step, but 2 P of
//                        vectors, which are too small to be split
//   tp        2 L        for each pair of layers, split by columns and then by rows, one sum
//                        forward and one back (Shoeybi et al. 2019); and those forward again
//                        that recompute needs
//
// Activations have 4 bytes in bf16, too: ranks' terms are added as what they are cast to (shard.c).
// P is of the ranks' part where tp splits weights. An uneven split has slices of one size.
// Besides these: scalars, of loss, metrics and norm; and where the ranks share a batch, what batch
// norm sums over them.
#include <math.h>
#include <string.h>
#include "tests/job/matrix/cell.h"

enum { BATCH = 48, SCALARS = 8 };

// What of a model is split by tp, and what it normalises over the batch.
static const struct model {
  const char *name;
  int activations;      // numbers of a sample, where a pair of layers ends
  int forward, back;    // sums of them: a gradient of the data is not needed
  int again;            // sums that recompute does again: a block's last one it need not
  int norms, channels;  // batch norms
} models[] = {{"mlp", 32, 2, 2, 0, 0, 0},
              {"transformer", 6 * 16, 4, 4, 2, 0, 0},
              {"cnn", 4 * 6 * 12, 1, 0, 1, 2, 12},
              {"lstm", 12, 1, 1, 0, 0, 0},
              {"lmu", 12, 1, 1, 0, 0, 0}};

static const struct model *find(const char *name) {
  const struct model *m = models;
  while (strcmp(m->name, name)) m++;
  return m;
}

static int size_of(const gr_mesh *m, const char *axis) {
  for (int a = 0; a < m->n_axes; a++)
    if (!strcmp(m->axis[a].name, axis)) return m->axis[a].size;
  return 1;
}

// Numbers of a weight as tp leaves them to a rank, and in n slices of the dimension that needs the
// least padding.
static double padded(const gr_plan *p, const gr_plan_state *s, int n) {
  double all = 1, least = INFINITY;
  int64_t dim[GR_MAX_RANK];
  for (int d = 0; d < s->global.rank; d++) {
    dim[d] = s->global.dim[d];
    for (int a = 0; a < p->mesh.n_axes; a++)
      if (!strcmp(p->mesh.axis[a].name, "tp") && s->layout.placement[a] == d)
        dim[d] = (dim[d] + p->mesh.axis[a].size - 1) / p->mesh.axis[a].size;
    all *= (double)dim[d];
  }
  for (int d = 0; d < s->global.rank; d++)
    least = fmin(least, all / (double)dim[d] * (double)((dim[d] + n - 1) / n * n));
  return s->global.rank ? least : 1;
}

// P in bytes, where matrices have so many a number.
static double weights(const gr_plan *p, int n, double of_matrix) {
  double sum = 0;
  for (uint32_t i = 0; i < p->n_states; i++)
    if (p->states[i].trained)
      sum += padded(p, &p->states[i], n) * (p->states[i].global.rank > 1 ? of_matrix : 4);
  return sum;
}

// Over an axis of n ranks that share a batch.
static double of_weights(const cell *c, const gr_plan *p, const char *axis, int n) {
  double a = c->accumulate, whole = weights(p, n, 4);
  double gathered = weights(p, n, strcmp(c->precision, "bf16") ? 4 : 2);
  if (!strcmp(axis, "replicate")) {
    int shard = size_of(&p->mesh, "shard");
    return 2 * weights(p, shard, 4.0 / shard);
  }
  if (!strcmp(c->strategy, "zero2")) return (a + 1) * whole;
  if (strstr(c->strategy, "fsdp") || !strcmp(axis, "shard")) return a * (2 * gathered + whole);
  return 2 * whole;
}

// Sums, numbers of rows and squares forward; two sums back.
static double of_norms(const cell *c, const struct model *m) {
  int forward = 2 * m->channels + 1, back = 2 * m->channels;
  return 2.0 * 4 * m->norms * c->accumulate * (forward * (c->recompute ? 2 : 1) + back);
}

double cell_book(const cell *c, const cell_run *r, int axis) {
  const gr_plan *p = r->figures->plan;
  const struct model *m = find(c->model);
  const char *name = p->mesh.axis[axis].name;
  double n = p->mesh.axis[axis].size, sum = 2.0 * 4 * SCALARS;
  int shared = gr_mesh_ranks(&p->mesh) / size_of(&p->mesh, "tp");
  if (!strcmp(name, "tp"))  // and the slices of running statistics are gathered
    sum += 2.0 * 4 * m->activations * (BATCH / shared) *
               (m->forward + m->back + (c->recompute ? m->again : 0)) +
           2.0 * 4 * m->norms * m->channels * c->accumulate;
  else
    sum += of_weights(c, p, name, p->mesh.axis[axis].size) + of_norms(c, m);
  return (n - 1) / n * sum;
}
