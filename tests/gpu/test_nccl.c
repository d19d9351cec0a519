// test_nccl.c - collectives of values in the memory of GPUs: the same results as on the host, also
// captured. Ranks are threads with a GPU each: from one to as many as there are GPUs, at most 4.
#include <pthread.h>
#include <stdlib.h>
#include "base/log.h"
#include "ops/comm/collective.h"
#include "ops/kernels/cpu.h"
#include "ops/ops.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/nccl.h"
#include "runtime/device/cuda.h"
#include "tests/check.h"
#include "tests/gpu/nccl_rank.h"

enum { MAX_RANKS = 4, PIECES = 5 };

// ---- Every kind, dtype and size ----------------------------------------------------------------

static uint32_t mix(int round, int who, int64_t i) {
  uint32_t x = (uint32_t)(round * 7919 + who * 104729) + (uint32_t)i * 2654435761u;
  x ^= x >> 15, x *= 2246822519u, x ^= x >> 13, x *= 3266489917u;
  return x ^ x >> 16;
}
static int draw(int round, int what, int n) {
  return (int)(mix(round, -1 - what, 0) % (uint32_t)n);
}

// Numbers that sums of two bytes round in a few ways only: multiples of 1/8 below 4.
static void fill(void *to, gr_dtype d, int64_t n, int round, int who) {
  for (int64_t i = 0; i < n; i++) gr_put(to, d, i, (double)(mix(round, who, i) % 32) / 8);
}

static gr_status compare(const nccl_rank *r, int round, gr_collective kind, gr_dtype d, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (gr_get(r->got, d, i) != gr_get(r->want, d, i))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE,
                     "rank %d of %d, round %d: collective %d of %s: %g at %lld, expected %g",
                     r->comm->rank, r->comm->ranks, round, (int)kind, gr_dtypes[d].name,
                     gr_get(r->got, d, i), (long long)i, gr_get(r->want, d, i));
  return GR_OK;
}

static gr_status check_round(nccl_rank *r, int round) {
  static const int64_t sizes[] = {0, 1, 3, 31, 1000, 4097, 65537, NCCL_RANK_MOST};
  gr_collective kind = (gr_collective)draw(round, 0, 4);
  gr_dtype d = (gr_dtype)draw(round, 1, GR_DTYPE_COUNT);
  int pieces = 1 + draw(round, 2, PIECES), ranks = r->comm->ranks;
  int64_t n = sizes[draw(round, 3, 8)] / pieces;
  int64_t ins = n * (kind == GR_REDUCE_SCATTER ? ranks : 1);
  int64_t outs = n * (kind == GR_ALL_GATHER ? ranks : 1);
  size_t size = gr_dtypes[d].size, all = size * (size_t)(outs * pieces);
  char *in = r->block.address, *out = in + r->bytes;
  gr_comm_piece here[PIECES], there[PIECES];
  for (int k = 0; k < pieces; k++) {
    size_t in_offset = size * (size_t)(k * ins), out_offset = size * (size_t)(k * outs);
    fill(r->in + in_offset, d, ins, round * PIECES + k, r->comm->rank);
    here[k] = (gr_comm_piece){n, r->in + in_offset, r->want + out_offset};
    there[k] = (gr_comm_piece){n, in + in_offset, out + out_offset};
  }
  GR_TRY(nccl_rank_upload(r, in, r->in, size * (size_t)(ins * pieces)));
  GR_TRY(r->host->ops->run(r->host, kind, d, pieces, here));
  GR_TRY(r->comm->ops->run(r->comm, kind, d, pieces, there));
  GR_TRY(nccl_rank_download(r, r->got, out, all));
  return compare(r, round, kind, d, outs * pieces);
}

static gr_status check_all(nccl_rank *r) {
  for (int round = 0; round < 24; round++) GR_TRY(check_round(r, round));
  return GR_OK;
}

// ---- Slices that are staged --------------------------------------------------------------------

static gr_status run_op(nccl_rank *r, const gr_op *op, const gr_type *in, const gr_type *out,
                        int dim, bool device) {
  struct gr_coll a = {.ranks = r->comm->ranks, .dim = {1, {dim}}, .size = {1, {out->dim[dim]}}};
  size_t bytes = 1 << 16;
  gr_comm *comm[1] = {device ? r->comm : r->host};
  char *base = device ? r->block.address : r->in;
  const void *ins[] = {base};
  void *outs[] = {device ? base + r->bytes : r->want};
  gr_launch l = {.attr = &a,
                 .n_in = 1,
                 .n_out = 1,
                 .in_type = in,
                 .out_type = out,
                 .in = ins,
                 .out = outs,
                 .scratch = base + bytes,
                 .comm = comm};
  return op->cpu(&l);
}

// A matrix whose columns, or rows, are slices: gathered from the ranks, and summed to them.
static gr_status check_op(nccl_rank *r, const gr_op *op, int rows, int columns, int dim) {
  bool gather = op == &gr_op_all_gather;
  int64_t ranks = r->comm->ranks, whole[2] = {rows, columns}, part[2] = {rows, columns};
  part[dim] = (whole[dim] + ranks - 1) / ranks;
  gr_type full = {.dtype = GR_F32, .rank = 2, .dim = {whole[0], whole[1]}};
  gr_type slice = {.dtype = GR_F32, .rank = 2, .dim = {part[0], part[1]}};
  const gr_type *in = gather ? &slice : &full, *out = gather ? &full : &slice;
  fill(r->in, GR_F32, gr_type_count(in), rows + columns, r->comm->rank);
  GR_TRY(nccl_rank_upload(r, r->block.address, r->in, gr_type_bytes(in)));
  GR_TRY(run_op(r, op, in, out, dim, false));
  GR_TRY(run_op(r, op, in, out, dim, true));
  GR_TRY(nccl_rank_download(r, r->got, (char *)r->block.address + r->bytes, gr_type_bytes(out)));
  return compare(r, rows * 100 + columns, gather ? GR_ALL_GATHER : GR_REDUCE_SCATTER, GR_F32,
                 gr_type_count(out));
}

static gr_status check_slices(nccl_rank *r) {
  static const int sizes[][2] = {{4, 6}, {5, 7}, {1, 1}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int dim = 0; dim < 2; dim++) {
      GR_TRY(check_op(r, &gr_op_all_gather, sizes[i][0], sizes[i][1], dim));
      GR_TRY(check_op(r, &gr_op_reduce_scatter, sizes[i][0], sizes[i][1], dim));
    }
  return GR_OK;
}

// ---- Captured ----------------------------------------------------------------------------------

static gr_status issue(void *arg) {
  nccl_rank *r = arg;
  float *data = r->block.address;
  const gr_comm_piece two[] = {{1000, data, data}, {24, data + 1000, data + 1000}};
  GR_TRY(nccl_rank_fork(r));
  GR_TRY(r->comm->ops->run(r->comm, GR_ALL_REDUCE, GR_F32, 2, two));
  return nccl_rank_join(r);
}

static gr_status check_capture(nccl_rank *r) {
  static const char graph[64];  // the device compares its address alone
  enum { TIMES = 5 };
  float want = 1;
  for (int i = 0; i < 1024; i++) ((float *)(void *)r->in)[i] = 1;
  GR_TRY(nccl_rank_upload(r, r->block.address, r->in, 4096));
  for (int i = 0; i < TIMES; i++) {
    GR_TRY(r->device->ops->run(r->device, (const gr_graph *)(const void *)graph, issue, r));
    want *= (float)r->comm->ranks;
  }
  GR_TRY(nccl_rank_download(r, r->got, r->block.address, 4096));
  for (int i = 0; i < 1024; i++)
    if (((float *)(void *)r->got)[i] != want)
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "%g at %d, expected %g",
                     (double)((float *)(void *)r->got)[i], i, (double)want);
  return GR_OK;
}

// ---- Ranks as threads --------------------------------------------------------------------------

typedef gr_status (*body)(nccl_rank *);
typedef struct member {
  pthread_t thread;
  gr_comm *host;
  body run;
  gr_status status;
} member;

static void *run_member(void *arg) {
  member *m = arg;
  nccl_rank r;
  m->status = nccl_rank_open(&r, m->host, 60);
  m->status = m->status ? m->status : m->run(&r);
  if (m->status) m->host->ops->abort(m->host, gr_status_text(m->status));
  nccl_rank_close(&r);
  return NULL;
}

static void all_well(int ranks, body run) {
  gr_loopback *world;
  member m[MAX_RANKS];
  MUST(gr_loopback_create(ranks, 60, &world));
  for (int i = 0; i < ranks; i++) {
    m[i] = (member){.host = gr_loopback_comm(world, i), .run = run};
    if (pthread_create(&m[i].thread, NULL, run_member, &m[i])) abort();
  }
  for (int i = 0; i < ranks; i++) pthread_join(m[i].thread, NULL);
  for (int i = 0; i < ranks; i++) {
    CHECK(!m[i].status, "rank %d of %d: %s", i, ranks, gr_status_text(m[i].status));
    gr_status_drop(m[i].status);
  }
  gr_loopback_destroy(world);
}

static void each_number_of_ranks(int least, body run) {
  int gpus = gr_device_count(&gr_device_cuda);
  if (gpus < least) SKIP("%d GPUs are needed, and there are %d", least, gpus);
  for (int ranks = least; ranks <= gpus && ranks <= MAX_RANKS; ranks++) all_well(ranks, run);
}
static void collectives(void) { each_number_of_ranks(1, check_all); }
static void staged_slices(void) { each_number_of_ranks(2, check_slices); }
static void captured(void) { each_number_of_ranks(1, check_capture); }

// A communicator closes only once what has captured its collectives is gone.
static void captured_work_is_gone_before_it_closes(void) {
  char text[4096] = "";
  FILE *log = tmpfile();
  if (!log) abort();
  gr_log_copy_to(log);
  each_number_of_ranks(1, check_capture);
  gr_log_copy_to(NULL);
  rewind(log);
  CHECK(!fread(text, 1, sizeof text - 1, log) || !strstr(text, "did not close"), "%s", text);
  fclose(log);
}

// ---- Beside transfers --------------------------------------------------------------------------

// More than the pinned buffers hold, which a device with communicators waits for in its own way.
static gr_status check_transfers(nccl_rank *r) {
  enum { BYTES = 50 << 20 };
  gr_device *d = r->device;
  gr_device_block b;
  uint32_t *sent = malloc(BYTES), *got = calloc(1, BYTES);
  for (int64_t i = 0; i < BYTES / 4; i++) sent[i] = mix(1, r->comm->rank, i);
  gr_status s = d->ops->allocate(d, BYTES, NULL, &b);
  s = s ? s : nccl_rank_upload(r, b.address, sent, BYTES);
  s = s ? s : nccl_rank_download(r, got, b.address, BYTES);
  if (!s && memcmp(sent, got, BYTES))
    s = gr_fail(GR_ERR_BUG, GR_NOWHERE, "%d bytes came back otherwise", BYTES);
  if (b.address) d->ops->free(d, &b);
  free(sent), free(got);
  return s;
}
static void large_transfers(void) { each_number_of_ranks(1, check_transfers); }

// ---- Closed ------------------------------------------------------------------------------------

// The device goes on without a communicator that is closed, which it asks no more.
static gr_status check_closed(nccl_rank *r) {
  GR_TRY(nccl_rank_download(r, r->got, r->block.address, 64));
  r->comm->ops->close(r->comm);
  r->comm = NULL;
  return nccl_rank_download(r, r->got, r->block.address, 64);
}
static void closed_communicators_are_left_alone(void) { each_number_of_ranks(1, check_closed); }

// ---- Variables ---------------------------------------------------------------------------------

static void variables_of_the_user_win(void) {
  gr_collectives_setting set[GR_COLLECTIVES_SETTINGS];
  static const char *const names[] = {"CUDA_DEVICE_MAX_CONNECTIONS", "NCCL_DEBUG", "NCCL_ALGO",
                                      "NCCL_PROTO", "NCCL_SOCKET_IFNAME"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
  setenv("NCCL_DEBUG", "INFO", 1);
  int n = gr_collectives_nccl.set_environment(true, true, set), found = 0;
  for (int i = 0; i < n; i++) {
    CHECK(strcmp(set[i].name, "NCCL_DEBUG"), "the user's NCCL_DEBUG is listed");
    found += !strcmp(set[i].name, "NCCL_ALGO") || !strcmp(set[i].name, "NCCL_SOCKET_IFNAME");
    CHECK(!strcmp(getenv(set[i].name), set[i].value), "%s is not set", set[i].name);
  }
  CHECK(found == 2 && !strcmp(getenv("NCCL_DEBUG"), "INFO"), "%d of 2, NCCL_DEBUG=%s", found,
        getenv("NCCL_DEBUG"));
  CHECK(gr_collectives_nccl.set_environment(true, true, set) == 0, "variables are set again");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"collectives", collectives}, {"staged_slices", staged_slices},
             {"captured", captured}, {"large_transfers", large_transfers},
             {"closed_communicators_are_left_alone", closed_communicators_are_left_alone},
             {"captured_work_is_gone_before_it_closes", captured_work_is_gone_before_it_closes},
             {"variables_of_the_user_win", variables_of_the_user_win});
}
