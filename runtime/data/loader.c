// loader.c - one rank's batches, made ahead of the step by threads; see data.h.
//
// Batches are numbered from where the loader starts. Batch k is made in slot k % depth, row by
// row: a worker takes the next row of the batch that is being handed out, in order, and starts
// the following batch when its slot is free. What a row holds depends on nothing but its
// place, so the threads' timing changes nothing. The caller holds one slot; the others are ahead.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/port.h"
#include "runtime/data/parts.h"

enum { MOST_WORKERS = 256, MOST_PREFETCH = 64 };

typedef struct slot {
  gr_batch batch;
  float *features, *weight;  // the batch's arrays, as large as the largest bucket's
  int32_t *lengths, *targets, *target_lengths;
  uint32_t *utterances;
  int done;  // rows
  gr_status error;
  int error_row;
} slot;

struct gr_loader {
  gr_data *data;
  gr_loader_spec spec;
  gr_arena *arena;
  gr_order order;
  int rows, depth;
  slot *slots;
  pthread_mutex_t lock;
  pthread_cond_t work, ready;  // a slot came free or it is over; a batch is whole
  pthread_t threads[MOST_WORKERS];
  int n_threads;
  bool stop, holds;              // the caller has the batch before `taken`
  uint64_t started, taken, end;  // batches begun, given to the caller; the last plus one
  int next_row;                  // of the batch begun last
  uint32_t epoch, index;         // of the next batch to begin
  bool order_made;               // for `epoch`
  double waited;
};

int gr_loader_rows(const gr_loader_spec *s) {
  int least = s->batch / s->ranks + (s->batch % s->ranks > 0);
  return s->rows > least ? s->rows : least;
}

// The rows of the next batch that are this rank's, from the global order. Under the lock.
static void begin(gr_loader *l) {
  if (!l->order_made) gr_order_fill(&l->order, l->data, &l->spec, l->epoch);
  l->order_made = true;
  slot *s = l->slots + l->started % (uint64_t)l->depth;
  const gr_order_batch *g = l->order.batches + l->index;
  const gr_data_bucket *b = l->data->buckets + g->bucket;
  for (int i = 0; i < l->rows; i++) {
    int64_t row = (int64_t)l->spec.rank * l->rows + i;
    s->utterances[i] = row < g->count ? l->order.utterances[g->first + row] : GR_NO_UTTERANCE;
  }
  s->batch = (gr_batch){.bucket = g->bucket,
                        .rows = l->rows,
                        .t = b->frames,
                        .u = b->targets,
                        .mels = l->data->spec.features.mels,
                        .features = s->features,
                        .lengths = s->lengths,
                        .targets = s->targets,
                        .target_lengths = s->target_lengths,
                        .weight = s->weight,
                        .utterances = s->utterances,
                        .epoch = l->epoch,
                        .index = l->index,
                        .of = l->order.n,
                        .samples = g->count};
  s->done = 0;
  l->next_row = 0;
  l->started++;
  if (++l->index == l->order.n) l->index = 0, l->epoch++, l->order_made = false;
}

// Hands out the next row of work. Under the lock.
static bool take(gr_loader *l, slot **s, int *row) {
  if (l->next_row == l->rows) {
    uint64_t in_use = l->started - l->taken + (l->holds ? 1 : 0);
    if (l->started == l->end || in_use >= (uint64_t)l->depth) return false;
    begin(l);
  }
  *s = l->slots + (l->started - 1) % (uint64_t)l->depth;
  *row = l->next_row++;
  return true;
}

static void fill_from(const gr_loader *l, slot *s, int row, const float *x, int32_t frames) {
  const gr_batch *b = &s->batch;
  const gr_item *item = l->data->items + s->utterances[row];
  size_t frame = (size_t)b->mels, used = (size_t)frames * frame;
  float *out = s->features + (size_t)row * (size_t)b->t * frame;
  memcpy(out, x, used * sizeof *out);
  memset(out + used, 0, ((size_t)b->t * frame - used) * sizeof *out);
  if (l->spec.augment)
    gr_augment_apply(&l->data->spec.augment, l->spec.seed, b->epoch, s->utterances[row], out,
                     frames, b->mels);
  int32_t *targets = s->targets + (size_t)row * (size_t)b->u;
  memset(targets, 0, (size_t)b->u * sizeof *targets);
  memcpy(targets, item->targets, (size_t)item->n_targets * sizeof *targets);
  s->lengths[row] = frames, s->target_lengths[row] = item->n_targets, s->weight[row] = 1;
}

static void fill_empty(slot *s, int row) {
  const gr_batch *b = &s->batch;
  size_t size = (size_t)b->t * (size_t)b->mels, u = (size_t)b->u;
  memset(s->features + (size_t)row * size, 0, size * sizeof(float));
  memset(s->targets + (size_t)row * u, 0, u * sizeof(int32_t));
  s->lengths[row] = b->t, s->target_lengths[row] = 0, s->weight[row] = 0;
}

static gr_status fill(gr_loader *l, slot *s, int row) {
  float *x = NULL;
  int32_t frames = 0;
  bool kept = false;
  if (s->utterances[row] != GR_NO_UTTERANCE)
    GR_TRY(gr_cache_get(l->data, s->utterances[row], &x, &frames, &kept));
  if (x)
    fill_from(l, s, row, x, frames);
  else
    fill_empty(s, row);
  if (!kept) free(x);
  return GR_OK;
}

// Of the errors in a batch the first row's is kept, whichever thread was first. Under the lock.
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
    if (!take(l, &s, &row)) {
      pthread_cond_wait(&l->work, &l->lock);
      continue;
    }
    pthread_mutex_unlock(&l->lock);
    gr_status error = fill(l, s, row);
    pthread_mutex_lock(&l->lock);
    note_done(s, row, error);
    if (s->done == l->rows) pthread_cond_signal(&l->ready);
  }
  pthread_mutex_unlock(&l->lock);
  return NULL;
}

static gr_status check(const gr_data *d, const gr_loader_spec *s) {
  if (s->batch < 1 || s->ranks < 1 || s->rank < 0 || s->rank >= s->ranks)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "a batch of %d for rank %d of %d cannot be", s->batch,
                   s->rank, s->ranks);
  GR_TRY(gr_range("workers", s->workers, 0, MOST_WORKERS));
  GR_TRY(gr_range("prefetch", s->prefetch, 1, MOST_PREFETCH));
  uint32_t n = gr_data_batches(d, s->part, s->batch);
  if (s->first > n)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot go on at batch %u of an epoch of %u", s->first, n),
        "the data or the batch size are not those of the run to be continued");
  return GR_OK;
}

// Bytes of a batch's features and targets, in the largest bucket; false: more than there can be.
static bool slot_bytes(const gr_loader *l, size_t *features, size_t *targets) {
  const gr_data_bucket *last = l->data->buckets + l->data->n_buckets - 1;
  size_t row = (size_t)last->frames * (size_t)l->data->spec.features.mels * sizeof(float);
  return !__builtin_mul_overflow((size_t)l->rows, row, features) && *features <= PTRDIFF_MAX &&
         !__builtin_mul_overflow((size_t)l->rows, (size_t)last->targets * sizeof(int32_t), targets);
}

static bool make_slot(const gr_loader *l, slot *s) {
  size_t rows = (size_t)l->rows, features, targets;
  if (!slot_bytes(l, &features, &targets)) return false;
  s->features = malloc(features);
  s->targets = malloc(targets);
  if (!s->features || !s->targets) return false;
  s->weight = GR_NEW(l->arena, float, rows);
  s->lengths = GR_NEW(l->arena, int32_t, rows);
  s->target_lengths = GR_NEW(l->arena, int32_t, rows);
  s->utterances = GR_NEW(l->arena, uint32_t, rows);
  return true;
}

// Signals are for the main thread.
static gr_status start_threads(gr_loader *l) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int code = 0;
  while (!code && l->n_threads < l->spec.workers) {
    code = pthread_create(&l->threads[l->n_threads], NULL, work, l);
    l->n_threads += !code;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!code) return GR_OK;
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cannot start data worker %d of %d: %s",
                 l->n_threads + 1, l->spec.workers, strerror(code));
}

static gr_status set_up(gr_loader *l) {
  l->order = gr_order_make(l->arena, l->data, l->spec.part, l->spec.batch);
  if (l->order.n && l->index == l->order.n) l->index = 0, l->epoch++;
  uint64_t left = (uint64_t)l->spec.epochs * l->order.n - (l->spec.epochs ? l->spec.first : 0);
  l->end = l->spec.epochs || !l->order.n ? left : UINT64_MAX;
  l->slots = GR_NEW(l->arena, slot, l->depth);
  for (int i = 0; i < l->depth; i++)
    if (!make_slot(l, l->slots + i))
      return gr_hint(
          gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                           "no memory for %d batches of %d rows of %d frames of %d mels", l->depth,
                           l->rows, l->data->buckets[l->data->n_buckets - 1].frames,
                           l->data->spec.features.mels),
                   "prefetch"),
          "fewer data.prefetch, a smaller training.batch_size, or data.max_seconds");
  return start_threads(l);
}

gr_status gr_loader_open(gr_data *d, const gr_loader_spec *spec, gr_loader **out) {
  *out = NULL;
  GR_TRY(check(d, spec));
  gr_arena *a = gr_arena_create();
  gr_loader *l = GR_NEW(a, gr_loader, 1);
  l->arena = a, l->data = d, l->spec = *spec;
  l->rows = l->next_row = gr_loader_rows(spec);
  l->depth = 1 + (spec->workers ? spec->prefetch : 0);
  l->epoch = spec->epoch, l->index = spec->first;
  pthread_mutex_init(&l->lock, NULL);
  pthread_cond_init(&l->work, NULL);
  pthread_cond_init(&l->ready, NULL);
  gr_status s = set_up(l);
  if (s)
    gr_loader_close(l);
  else
    *out = l;
  return s;
}

// The caller's batch goes back, and the next is waited for or made here. Under the lock.
static void make_next(gr_loader *l, slot *s) {
  int row;
  if (!l->spec.workers)
    for (slot *mine; take(l, &mine, &row);) note_done(mine, row, fill(l, mine, row));
  double from = gr_seconds();
  while (l->started <= l->taken || s->done < l->rows) pthread_cond_wait(&l->ready, &l->lock);
  l->waited += gr_seconds() - from;
}

gr_status gr_loader_next(gr_loader *l, const gr_batch **out) {
  *out = NULL;
  pthread_mutex_lock(&l->lock);
  if (l->holds) pthread_cond_broadcast(&l->work);
  l->holds = false;
  slot *s = l->slots + l->taken % (uint64_t)l->depth;
  gr_status error = GR_OK;
  if (l->taken < l->end) {
    make_next(l, s);
    l->taken++;
    l->holds = true;
    error = s->error;
    s->error = NULL;
    if (!error) *out = &s->batch;
  }
  pthread_mutex_unlock(&l->lock);
  return error;
}

double gr_loader_waited(const gr_loader *l) { return l->waited; }

void gr_loader_close(gr_loader *l) {
  if (!l) return;
  pthread_mutex_lock(&l->lock);
  l->stop = true;
  pthread_cond_broadcast(&l->work);
  pthread_mutex_unlock(&l->lock);
  for (int i = 0; i < l->n_threads; i++) pthread_join(l->threads[i], NULL);
  for (int i = 0; l->slots && i < l->depth; i++) {
    free(l->slots[i].features);
    free(l->slots[i].targets);
    gr_status_drop(l->slots[i].error);
  }
  pthread_cond_destroy(&l->work);
  pthread_cond_destroy(&l->ready);
  pthread_mutex_destroy(&l->lock);
  gr_arena_destroy(l->arena);
}
