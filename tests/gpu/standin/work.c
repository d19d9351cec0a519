// work.c - pieces of work: what each does, and in which order they run.
#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>
#include "tests/gpu/standin/driver.h"

op *si_new_op(enum kind k, struct device *d, const char *name) {
  op *o = calloc(1, sizeof *o);
  o->kind = k, o->dev = d, o->refs = 1, o->name = name, o->owner = pthread_self();
  o->ready = si_clock();
  if (si_races()) o->clock = calloc(LANES, sizeof *o->clock);
  return o;
}
void si_drop(op *o) {
  if (!o || --o->refs) return;
  if (o->kind != HOST) free(o->data);
  free(o->clock), free(o->uses);
  si_drop_graph(o->body);
  for (int i = 0; i < o->ndeps; i++) si_drop(o->deps[i]);
  free(o->deps), free(o->launch.args), free(o);
}
op *si_hold(op *o) { return o->refs++, o; }
void si_add(op ***list, int *n, op *o) {
  *list = realloc(*list, (size_t)(*n + 1) * sizeof **list);
  (*list)[(*n)++] = o;
}
void si_depend(op *o, op *on) {
  si_sees(o, on);
  if (on && on != o && on->state != DONE)
    si_add(&o->deps, &o->ndeps, si_hold(on));
  else
    si_after(o, on);
}

// The arguments of a launch point into one block of bytes; do it again for a copied node.
void si_bind_args(op *o) {
  const standin_kernel *k = o->launch.kernel;
  o->launch.args = malloc((size_t)(k->nparam + 1) * sizeof(void *));
  char *argument = o->data;
  for (int i = 0; i < k->nparam; i++, argument += (k->param[i - 1].size + 15) & ~(size_t)15)
    o->launch.args[i] = argument;
}
op *si_copy_op(op *o) {
  op *c = si_new_op(o->kind, o->dev, o->name);
  op keep = *c;
  *c = *o;
  c->refs = 1, c->owner = keep.owner, c->ready = keep.ready, c->deps = NULL, c->ndeps = 0,
  c->state = PENDING, c->clock = keep.clock, c->epoch = 0, c->uses = NULL;
  if (o->uses)
    c->uses = memcpy(malloc(sizeof *o->uses * (size_t)o->nuses), o->uses,
                     sizeof *o->uses * (size_t)o->nuses);
  if (o->kind != HOST && o->data) c->data = memcpy(malloc(o->bytes + 1), o->data, o->bytes);
  if (o->kind == KERNEL) si_bind_args(c);
  if (c->body) c->body->refs++;
  return c;
}

int si_canary(const block *b) {  // the rest of the first and of the last page
  for (const char *p = b->page; p < b->page + b->mapped; p++)
    if (p == b->p)
      p += b->n - 1;
    else if (*p != (char)0xc5)
      return 0;
  return 1;
}

size_t si_bytes(const op *o) {
  return o->kind == COPY ? o->n * o->rows : o->kind == SET ? o->n * o->width : 0;
}

int si_do_op(op *o) {
  uint64_t *rng = &o->dev->rng;
  si_accesses(o);
  switch (o->kind) {
    case MARK:
      break;
    case COPY:
      for (size_t i = 0; i < o->rows; i++)
        memmove(o->dst + i * o->dst_pitch, (o->data ? (char *)o->data : o->src) + i * o->src_pitch,
                o->n);
      break;
    case SET:
      for (size_t i = 0; i < o->n; i++) memcpy(o->dst + i * o->width, &o->value, o->width);
      break;
    case HOST:
      pthread_mutex_unlock(&big);
      in_callback = 1, o->fn(o->data), in_callback = 0;
      pthread_mutex_lock(&big);
      break;
    case KERNEL:
      if (si_fails("kernel"))
        standin_die(CUDA_ERROR_ILLEGAL_ADDRESS, "kernel %s fails, as a test asks",
                    o->launch.kernel->name);
      standin_run(&o->launch, rng);
      for (int i = 0; i < o->launch.kernel->nparam; i++) {
        block *b = o->launch.kernel->param[i].pointer ? si_find(*(void **)o->launch.args[i]) : NULL;
        if (b && b->dev && b->live && !si_canary(b))
          standin_die(CUDA_ERROR_ILLEGAL_ADDRESS,
                      "kernel %s wrote outside allocation %d of %zu bytes (parameter %d)",
                      o->launch.kernel->name, b->id, b->n, i + 1);
      }
      break;
    case EXTERN:
      return o->poll(o->data);
    case LOOP:
      si_run_loop(o);
      break;
  }
  return 1;
}

static void finish(op *o) {
  int64_t start = si_begins(o);
  o->state = DONE;
  if (o->kind != LOOP) o->time = start + si_lasts(o);
  si_tell_done(o, start);
  for (int i = 0; i < o->ndeps; i++) si_drop(o->deps[i]);
  free(o->deps), o->deps = NULL, o->ndeps = 0;
  for (int i = 0; i < npool; i++)
    if (pool[i] == o) memmove(pool + i, pool + i + 1, (size_t)(--npool - i) * sizeof *pool);
  si_drop(o);
}

static void run(op *o) {
  static _Thread_local char *alt;
  stack_t s = {0};
  if (!alt && !sigaltstack(NULL, &s) && s.ss_flags & SS_DISABLE) {  // a sanitizer may have set one
    s = (stack_t){.ss_sp = alt = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&s, NULL);
  }
  activity++;
  o->state = RUNNING;
  if (o->kind == HOST) {
    si_close_all(NULL, 0);
    si_do_op(o), finish(o);
    return;
  }
  if (o->kind != MARK) {  // a copy may cross devices; kernels only see enabled peers
    unsigned seen = o->kind == COPY ? ~0u : (unsigned)o->dev->peers;
    for (int i = 0; i < ndevices; i++)
      if (&devices[i] == o->dev || seen >> i & 1) si_protect(&devices[i], 1);
    si_close_all(o->dev, seen);
  }
  int code, r = si_guarded(o, &code);
  if (r == 0 && !code) o->state = PENDING, o->round = round_now;
  if (code) {  // the context is broken: its work is dropped
    o->dev->error = (CUresult)code;
    for (int i = npool - 1; i >= 0; i--)
      if (pool[i]->dev == o->dev && pool[i]->state != DONE) finish(pool[i]), i = npool;
  } else if (o->state == RUNNING) {
    finish(o);
    round_now++;
  }
}

enum { NEEDED, ANY, MINE };
static op *choose(struct device *d, int which) {
  op *best = NULL;
  unsigned seen = 0;
  for (int i = 0; i < npool; i++) {
    op *o = pool[i];
    if (o->state != PENDING || o->round == round_now) continue;
    if (which == MINE ? !pthread_equal(o->owner, pthread_self())
                      : o->dev != d || (which == NEEDED && !o->needed))
      continue;
    int ready = 1;
    for (int j = 0; j < o->ndeps && ready; j++) ready = o->deps[j]->state == DONE;
    if (ready && standin_random(&d->rng, seen + 1) == seen) best = o;
    seen += (unsigned)ready;
  }
  return best;
}
static void si_need(op *o) {
  if (o->needed || o->state == DONE) return;
  o->needed = 1;
  for (int i = 0; i < o->ndeps; i++) si_need(o->deps[i]);
}

// Run work until `target` (NULL: everything of the device) is done.
CUresult si_drain(struct device *d, op *target) {
  if (target) si_need(si_hold(target));
  for (double begin = si_now();;) {
    int left = target ? target->state != DONE : 0;
    for (int i = 0; i < npool && !target; i++)
      if (pool[i]->dev == d) left = 1, si_need(pool[i]);
    if (d->error || !left) break;
    op *o = !plain && standin_random(&d->rng, 4) == 0 ? choose(d, ANY) : NULL;
    if (!o) o = choose(d, NEEDED);
    if (!o) o = choose(d, ANY);
    if (!o) o = choose(d, MINE);
    if (o) {
      run(o);
      continue;
    }
    int unused = 0;
    si_unlock(&unused);
    usleep(50);
    pthread_mutex_lock(&big);
    round_now++;
    if (limit_s > 0 && si_now() - begin > limit_s) {
      for (int i = 0; i < npool; i++)
        if (pool[i]->dev == d)
          standin_say("still waiting after %.0f s: %s", limit_s, pool[i]->name);
      abort();
    }
  }
  if (!d->error) si_host_sees(d, target);
  si_drop(target);
  return d->error;
}
void si_some(struct device *d, int one_in) {  // progress without anybody waiting
  if (plain) round_now++;
  for (op *o; (plain || (one_in && standin_random(&d->rng, (unsigned)one_in) == 0)) && !d->error &&
              (o = choose(d, ANY));)
    run(o);
}

// As on hardware, work gets done without a wait; here only after a long while.
void *si_background(void *unused) {
  for (unsigned seen = 0;;) {
    usleep(50000);
    pthread_mutex_lock(&big);
    if (npool && activity == seen) {
      round_now++;
      for (op *o; npool && (o = choose(pool[0]->dev, ANY));) run(o);
      for (int i = 0; i < ndevices; i++)
        for (op *o; !devices[i].error && (o = choose(&devices[i], ANY));) run(o);
    }
    seen = activity;
    int u = 0;
    si_unlock(&u);
  }
  return unused;
}
