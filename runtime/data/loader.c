// loader.c - prepares one rank's batches ahead of the step, on worker threads; see loader.h.
//
// Batches are numbered from where the loader starts. Batch k is built in slot k % depth, row by
// row: workers take rows in order, and start the following batch when its slot is free. The
// contents of a row depend only on its position, so thread timing does not change them. The caller
// holds one slot; the other slots hold batches that are prepared ahead.
#include "runtime/data/loader.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/thread.h"
#include "base/work.h"
#include "runtime/data/parts.h"

enum { MAX_WORKERS = 256, MAX_PREFETCH = 64 };

typedef struct slot {
  gr_batch batch;
  char *memory[GR_MAX_FIELDS];  // of the fields, sized for the largest bucket
  uint32_t *samples;            // of the batch; GR_NO_SAMPLE of rows that pad it
  uint32_t *read, *repeat;      // what a row holds: of rows that pad it a sample of another row
  int done;                     // rows
  gr_status error;
  int error_row;
} slot;

struct gr_loader {
  gr_dataset *data;
  gr_loader_spec spec;
  gr_arena *arena;
  gr_order_spec order_spec;
  gr_order order;
  int depth, rows, next_row;  // rows, next_row: of the batch that was started last
  slot *slots;
  pthread_mutex_t lock;
  pthread_cond_t work, ready;  // a slot is free or the loader stops; a batch is complete
  pthread_t threads[MAX_WORKERS];
  int n_threads;
  bool stop, holds, bare;  // holds: the caller has batch `taken` - 1; bare: without transforms
  uint64_t started, taken, end;  // batches started, given to the caller; one past the last
  uint32_t epoch, index;         // of the next batch to start
  bool order_made;               // for `epoch`
};

static int divide_up(int n, int by) { return n / by + (n % by > 0); }

// Of each rank.
static int rows_of(const gr_loader_spec *s, int bucket) {
  int micro = s->micro > 0 ? s->micro : 1;
  int rows = divide_up(s->of_bucket ? s->of_bucket[bucket] : s->batch, s->ranks);
  return divide_up(rows, micro) * micro;
}

// The row of the global batch that is row i of the rank's.
static int64_t global_row(const gr_loader_spec *s, int rows, int i) {
  if (!s->interleaved) return (int64_t)s->rank * rows + i;
  int each = rows / (s->micro > 0 ? s->micro : 1);
  return ((int64_t)(i / each) * s->ranks + s->rank) * each + i % each;
}

// Selects this rank's rows of the next batch from the global order. The caller holds the lock.
static void begin_batch(gr_loader *l) {
  if (!l->order_made) gr_order_fill(&l->order, l->data, &l->order_spec, l->epoch);
  l->order_made = true;
  slot *s = l->slots + l->started % (uint64_t)l->depth;
  const gr_order_batch *g = l->order.batches + l->index;
  l->rows = rows_of(&l->spec, g->bucket);
  for (int i = 0; i < l->rows; i++) {
    int64_t row = global_row(&l->spec, l->rows, i), place = g->first + row % g->count;
    s->read[i] = l->order.samples[place], s->repeat[i] = l->order.repeat[place];
    s->samples[i] = row < g->count ? s->read[i] : GR_NO_SAMPLE;
  }
  gr_batch *b = &s->batch;
  gr_contract_shapes(&l->data->contract, g->bucket, l->rows, b);
  for (int f = 0; f < b->n_fields; f++) b->field[f].data = s->memory[f];
  b->sample = s->samples, b->samples = g->count;
  b->epoch = l->epoch, b->index = l->index, b->of = l->order.n;
  s->done = 0;
  l->next_row = 0;
  l->started++;
  if (++l->index == l->order.n) l->index = 0, l->epoch++, l->order_made = false;
}

// Assigns the next row to a worker. The caller holds the lock.
static bool take_row(gr_loader *l, slot **s, int *row) {
  if (l->next_row == l->rows) {
    uint64_t in_use = l->started - l->taken + (l->holds ? 1 : 0);
    if (l->started == l->end || in_use >= (uint64_t)l->depth) return false;
    begin_batch(l);
  }
  *s = l->slots + (l->started - 1) % (uint64_t)l->depth;
  *row = l->next_row++;
  return true;
}

// Sets a row to what a field holds beyond a sample's extent and returns its bytes.
static void *row_of(const gr_dataset *d, const slot *s, int field, int row, size_t *bytes) {
  gr_type t = s->batch.field[field].type;
  t.dim[0] = 1;
  *bytes = gr_type_bytes(&t);
  void *values = memset(s->memory[field] + (size_t)row * *bytes, 0, *bytes);
  int32_t pad = d->field[field].pad;
  for (size_t i = 0; pad && i < *bytes / sizeof pad; i++) ((int32_t *)values)[i] = pad;
  return values;
}

// The sample that a row holds, how often the epoch had it before, and the row's weight, 0 or 1.
typedef struct held {
  uint32_t sample, repeat, weight;
} held;

static gr_status fill_from(const gr_loader *l, const slot *s, int row, const held *h,
                           const gr_loaded *x) {
  const gr_dataset *d = l->data;
  const gr_draw draw = {l->spec.seed, (uint64_t)h->repeat << 32 | s->batch.epoch, h->sample,
                        l->spec.augment};
  gr_row r = {.length = d->buckets[s->batch.bucket].length};
  gr_transform_row transformed;
  size_t bytes;
  for (int f = 0; f < d->n_fields; f++) r.field[f] = row_of(d, s, f, row, &bytes);
  *(float *)r.field[d->n_fields - 1] = (float)h->weight;
  GR_TRY(gr_transforms_begin(d->transforms, &r, &transformed));
  gr_dataset_fill(d, h->sample, x, &draw, &r);
  if (l->bare)
    gr_transforms_drop(&transformed);
  else
    gr_transforms_end(d->transforms, &draw, &transformed);
  return GR_OK;
}

// *there: false, if the sample cannot be read; the row is then zero.
static gr_status fill_as(gr_loader *l, slot *s, int row, const held *h, bool *there) {
  gr_loaded x;
  bool kept;
  size_t bytes;
  GR_TRY(gr_cache_get(l->data, h->sample, &x, &kept, there));
  gr_status error = GR_OK;
  if (*there)
    error = fill_from(l, s, row, h, &x);
  else
    for (int f = 0; f < l->data->n_fields; f++) (void)row_of(l->data, s, f, row, &bytes);
  if (!kept) free(x.data);
  return error;
}

// In place of a sample that cannot be read the row holds the next one of the rank's that can, or
// else the first of the bucket's.
static gr_status fill_row(gr_loader *l, slot *s, int row) {
  const gr_dataset *d = l->data;
  const uint32_t *others = d->members[l->spec.split][s->batch.bucket];
  uint32_t n = d->buckets[s->batch.bucket].count[l->spec.split];
  gr_status error = GR_OK;
  bool there = false;
  for (int i = 0; i < s->batch.rows && !there && !error; i++) {
    int as = (row + i) % s->batch.rows;
    const held h = {s->read[as], s->repeat[as], !i && s->samples[row] != GR_NO_SAMPLE};
    error = fill_as(l, s, row, &h, &there);
  }
  for (uint32_t i = 0; i < n && !there && !error; i++)
    error = fill_as(l, s, row, &(held){.sample = others[i]}, &there);
  return error;
}

// Keeps the error of the first failing row, regardless of thread timing. The caller holds the lock.
static void note_done(slot *s, int row, gr_status error) {
  s->done++;
  bool better = error && (!s->error || row < s->error_row);
  gr_status_drop(better ? s->error : error);
  if (better) s->error = error, s->error_row = row;
}

static void *work(void *arg) {
  gr_loader *l = arg;
  slot *s;
  int row;
  pthread_mutex_lock(&l->lock);
  while (!l->stop) {
    if (!take_row(l, &s, &row)) {
      pthread_cond_wait(&l->work, &l->lock);
      continue;
    }
    pthread_mutex_unlock(&l->lock);
    gr_status error = fill_row(l, s, row);
    pthread_mutex_lock(&l->lock);
    note_done(s, row, error);
    if (s->done == s->batch.rows) pthread_cond_signal(&l->ready);
  }
  pthread_mutex_unlock(&l->lock);
  return NULL;
}

static gr_status check_spec(const gr_dataset *d, const gr_loader_spec *s) {
  if ((s->batch < 1 && !s->of_bucket) || s->ranks < 1 || s->rank < 0 || s->rank >= s->ranks)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "a batch of %d for rank %d of %d cannot be", s->batch,
                   s->rank, s->ranks);
  GR_TRY(gr_range("workers", s->workers, 0, MAX_WORKERS));
  GR_TRY(gr_range("prefetch", s->prefetch, 1, MAX_PREFETCH));
  uint32_t n = gr_contract_batches(&d->contract, s->split, s->batch, s->of_bucket);
  if (s->first > n)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot go on at batch %u of an epoch of %u", s->first, n),
        "the data or the batch size are not those of the run to be continued");
  return GR_OK;
}

// Room for a batch of any bucket; false: there is none, or the size of one overflows.
static bool make_slot(const gr_loader *l, slot *s) {
  size_t most[GR_MAX_FIELDS] = {0};
  int rows = 0;
  for (int b = 0; b < l->data->n_buckets; b++) {
    gr_batch shapes;
    gr_contract_shapes(&l->data->contract, b, rows_of(&l->spec, b), &shapes);
    rows = shapes.rows > rows ? shapes.rows : rows;
    for (int f = 0; f < shapes.n_fields; f++) {
      const gr_type *t = &shapes.field[f].type;
      if (!gr_type_possible(t)) return false;
      most[f] = gr_type_bytes(t) > most[f] ? gr_type_bytes(t) : most[f];
    }
  }
  for (int f = 0; f < l->data->n_fields; f++)
    if (!(s->memory[f] = malloc(most[f]))) return false;
  s->samples = GR_NEW(l->arena, uint32_t, rows);
  s->read = GR_NEW(l->arena, uint32_t, rows);
  s->repeat = GR_NEW(l->arena, uint32_t, rows);
  return true;
}

static gr_status no_memory(const gr_loader *l) {
  gr_batch largest;
  char type[96];
  int bucket = l->data->n_buckets - 1;
  gr_contract_shapes(&l->data->contract, bucket, rows_of(&l->spec, bucket), &largest);
  return gr_hint(
      gr_about(
          gr_fail(GR_ERR_DATA, GR_NOWHERE, "no memory for %d batches of %d rows: %s %s", l->depth,
                  largest.rows, largest.field[0].name, gr_type_text(&largest.field[0].type, type)),
          "prefetch"),
      "fewer data.prefetch, a smaller training.batch_size, or shorter samples");
}

static gr_status start_threads(gr_loader *l) {
  int code = 0;
  while (!code && l->n_threads < l->spec.workers) {
    code = gr_thread_start(&l->threads[l->n_threads], work, l);
    l->n_threads += !code;
  }
  if (!code) return GR_OK;
  return gr_fail_errno(GR_ERR_LAUNCH, code, "cannot start data worker %d of %d", l->n_threads + 1,
                       l->spec.workers);
}

static gr_status loader_set_up(gr_loader *l, bool trial) {
  l->order = gr_order_make(l->arena, l->data, &l->order_spec);
  if (l->order.n && l->index == l->order.n) l->index = 0, l->epoch++;
  uint64_t left = (uint64_t)l->spec.epochs * l->order.n - (l->spec.epochs ? l->spec.first : 0);
  l->end = l->spec.epochs || !l->order.n ? left : UINT64_MAX;
  if (trial && l->end) l->end = 1;
  l->slots = GR_NEW(l->arena, slot, l->depth);
  for (int i = 0; i < l->depth; i++)
    if (!make_slot(l, l->slots + i)) return no_memory(l);
  return start_threads(l);
}

static void open_locks(gr_loader *l) {
  pthread_condattr_t steady;
  pthread_condattr_init(&steady);
  pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
  pthread_mutex_init(&l->lock, NULL);
  pthread_cond_init(&l->work, NULL);
  pthread_cond_init(&l->ready, &steady);
  pthread_condattr_destroy(&steady);
}

// A trial has one batch.
static gr_status open_loader(gr_dataset *d, const gr_loader_spec *spec, bool trial, bool bare,
                             gr_loader **out) {
  *out = NULL;
  GR_TRY(gr_dataset_place_error(d, check_spec(d, spec)));
  if (!bare) GR_TRY(gr_dataset_place_error(d, gr_dataset_fit(d)));
  gr_arena *a = gr_arena_create();
  gr_loader *l = GR_NEW(a, gr_loader, 1);
  l->arena = a, l->data = d, l->spec = *spec, l->bare = bare;
  l->order_spec =
      (gr_order_spec){spec->split, spec->batch, spec->of_bucket, spec->seed, spec->shuffle};
  l->depth = 1 + (spec->workers ? spec->prefetch : 0);
  l->epoch = spec->epoch, l->index = spec->first;
  open_locks(l);
  gr_status s = gr_dataset_place_error(d, loader_set_up(l, trial));
  if (s)
    gr_loader_close(l);
  else
    *out = l;
  return s;
}

gr_status gr_loader_open(gr_dataset *d, const gr_loader_spec *spec, gr_loader **out) {
  return open_loader(d, spec, false, false, out);
}

gr_status gr_loader_try(gr_dataset *d, const gr_loader_spec *spec, bool fit) {
  gr_loader *l;
  const gr_batch *ignored;
  GR_TRY(open_loader(d, spec, true, !fit && !gr_dataset_fitted(d), &l));
  gr_status s = gr_loader_next(l, &ignored);
  gr_loader_close(l);
  return s;
}

// Waits for a worker, but not so long that a request to stop is served late. The caller holds the
// lock.
static void wait_ready(gr_loader *l) {
  enum { POLL = 100000000 };  // nanoseconds
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += POLL;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  (void)pthread_cond_timedwait(&l->ready, &l->lock, &until);  // the caller looks again
  (void)gr_work_add(gr_work_current(), 0);                    // shows how long it takes
}

// Waits for the next batch or builds it here. False: the process is asked to stop before it is
// made. The caller holds the lock.
static bool make_next(gr_loader *l, slot *s) {
  int row;
  if (!l->spec.workers)
    for (slot *filled; !gr_stop_requested() && take_row(l, &filled, &row);)
      note_done(filled, row, fill_row(l, filled, row));
  while (l->started <= l->taken || s->done < s->batch.rows) {
    if (gr_stop_requested()) return false;
    wait_ready(l);
  }
  return true;
}

// Instead of the error of a worker, which does not know what it worked for.
static gr_status stopped(gr_status worker) {
  gr_status_drop(worker);
  gr_status s = gr_stop_check();  // GR_OK where requests are deferred
  return s ? s : gr_fail(GR_ERR_STOPPED, GR_NOWHERE, "stopped by a signal while a batch was made");
}

// The batch that is made, unless reading it has failed.
static gr_status hand_over(gr_loader *l, slot *s, const gr_batch **out) {
  l->taken++;
  l->holds = true;
  gr_status error = s->error;
  s->error = NULL;
  if (!error && l->data->ops->check)
    error = gr_dataset_place_error(l->data, l->data->ops->check(l->data->self));
  if (!error) *out = &s->batch;
  return error;
}

// Releases the caller's batch first.
gr_status gr_loader_next(gr_loader *l, const gr_batch **out) {
  *out = NULL;
  pthread_mutex_lock(&l->lock);
  if (l->holds) pthread_cond_broadcast(&l->work);
  l->holds = false;
  slot *s = l->slots + l->taken % (uint64_t)l->depth;
  gr_status error = GR_OK;
  if (l->taken < l->end) error = make_next(l, s) ? hand_over(l, s, out) : stopped(GR_OK);
  if (gr_status_code(error) == GR_ERR_STOPPED && gr_stop_requested()) error = stopped(error);
  pthread_mutex_unlock(&l->lock);
  return error;
}

void gr_loader_peek(gr_loader *l, const gr_batch **out) {
  pthread_mutex_lock(&l->lock);
  slot *s = l->slots + l->taken % (uint64_t)l->depth;
  bool made = l->spec.workers && l->taken < l->end && make_next(l, s);
  *out = made && !s->error ? &s->batch : NULL;
  pthread_mutex_unlock(&l->lock);
}

bool gr_loader_ready(gr_loader *l) {
  if (!l) return true;
  pthread_mutex_lock(&l->lock);
  const slot *s = &l->slots[l->taken % (uint64_t)l->depth];
  bool ready = l->taken >= l->end || (l->started > l->taken && s->done == s->batch.rows);
  pthread_mutex_unlock(&l->lock);
  return ready;
}

void gr_loader_close(gr_loader *l) {
  if (!l) return;
  pthread_mutex_lock(&l->lock);
  l->stop = true;
  pthread_cond_broadcast(&l->work);
  pthread_mutex_unlock(&l->lock);
  for (int i = 0; i < l->n_threads; i++) pthread_join(l->threads[i], NULL);
  for (int i = 0; l->slots && i < l->depth; i++) {
    for (int f = 0; f < GR_MAX_FIELDS; f++) free(l->slots[i].memory[f]);
    gr_status_drop(l->slots[i].error);
  }
  pthread_cond_destroy(&l->work);
  pthread_cond_destroy(&l->ready);
  pthread_mutex_destroy(&l->lock);
  gr_arena_destroy(l->arena);
}
