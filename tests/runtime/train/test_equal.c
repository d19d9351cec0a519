// test_equal.c - replicated states are compared at the end of a run, and only these.
#include <pthread.h>
#include <string.h>
#include "runtime/train/rank/rank.h"
#include "tests/check.h"

enum { RANKS = 4, NUMBERS = 8 };

struct gr_exec {  // of this test: runtime/train/rank/equal.c only looks up states
  float values[3][NUMBERS];
};
gr_exec_tensor gr_exec_state(const gr_exec *e, const gr_plan_state *s) {
  return (gr_exec_tensor){(void *)e->values[s->offset], s->type, gr_type_bytes(&s->type)};
}
gr_status gr_exec_view(gr_exec *e, const gr_exec_tensor *t, void *staging, const void **out) {
  (void)e, (void)staging;
  *out = t->address;
  return GR_OK;
}

static const gr_mesh mesh = {.n_axes = 2, .axis = {{"replicate", 2}, {"shard", 2}}};
static const gr_type held = {GR_F32, 1, {NUMBERS}};

typedef struct member {
  gr_rank rank;
  gr_exec exec;
  gr_status status;
} member;

static void *body(void *arg) {
  member *m = arg;
  m->status = gr_run_weights_equal(&m->rank);
  return NULL;
}

// State 0 is whole, 1 split over shard, 2 over both axes. One number of `state` is other on a rank.
// The error of the first rank that has one, or "".
static const char *compare(int state, int rank, char *said, size_t size) {
  gr_arena *arena = gr_arena_create();
  gr_plan_state states[] = {
      {.name = "whole", .type = held, .layout = gr_layout_replicated, .offset = 0},
      {.name = "sharded", .type = held, .layout = gr_layout_replicated, .offset = 1},
      {.name = "split", .type = held, .layout = gr_layout_replicated, .offset = 2},
  };
  states[1].layout.placement[1] = states[2].layout.placement[0] = states[2].layout.placement[1] = 0;
  gr_plan plan = {.mesh = mesh, .states = states, .n_states = 3};
  gr_run_spec spec = {.plan = &plan};
  gr_loopback *world;
  member m[RANKS];
  pthread_t threads[RANKS];
  MUST(gr_loopback_create(RANKS, 60, &world));
  for (int i = 0; i < RANKS; i++) {
    m[i] = (member){.rank = {.spec = &spec,
                             .world = gr_loopback_comm(world, i),
                             .rank = i,
                             .ranks = RANKS,
                             .exec = &m[i].exec,
                             .arena = arena}};
    for (int k = 0; k < NUMBERS; k++) {
      m[i].exec.values[0][k] = (float)k;
      m[i].exec.values[1][k] = (float)(k + 100 * gr_mesh_coord(&mesh, i, 1));
      m[i].exec.values[2][k] = (float)(k + 100 * i);
    }
    if (i == rank) m[i].exec.values[state][NUMBERS - 1] += 0.5f;
  }
  for (int i = 0; i < RANKS; i++) pthread_create(&threads[i], NULL, body, &m[i]);
  for (int i = 0; i < RANKS; i++) pthread_join(threads[i], NULL);
  gr_loopback_destroy(world);
  *said = 0;
  for (int i = 0; i < RANKS; i++) {
    if (m[i].status && !*said) snprintf(said, size, "%s", gr_status_text(m[i].status));
    gr_status_drop(m[i].status);
  }
  gr_arena_destroy(arena);
  return said;
}

static void alike(void) {
  char said[512];
  compare(0, -1, said, sizeof said);
  CHECK(!*said, "equal states: %s", said);
  compare(2, 3, said, sizeof said);
  CHECK(!*said, "a part that one rank alone has is compared: %s", said);
}

static void unlike(void) {
  char said[512];
  for (int state = 0; state < 2; state++)
    for (int rank = 0; rank < RANKS; rank++) {
      compare(state, rank, said, sizeof said);
      CHECK(strstr(said, "state after training"), "state %d of rank %d: '%s'", state, rank, said);
    }
  compare(1, 2, said, sizeof said);
  CHECK(strstr(said, "rank 2 is not that of rank 0"), "%s", said);
}

// A run that is asked to stop compares nothing more, on any rank: what follows ends it.
static void stopped(void) {
  char said[512];
  gr_stop_request();
  compare(0, 1, said, sizeof said);
  gr_stop_clear();
  CHECK(!*said, "%s", said);
  compare(0, 1, said, sizeof said);
  CHECK(*said, "and then it compares again");
}

int main(int argc, char **argv) {
  gr_log_open(GR_WARN, 0, 1);
  return RUN(argc, argv, {"alike", alike}, {"unlike", unlike}, {"stopped", stopped});
}
