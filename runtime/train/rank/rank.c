// rank.c - opens and closes a rank. See rank.h.
#include "runtime/train/rank/rank.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/comm/collectives.h"
#include "runtime/launch/launch.h"

gr_work_shown gr_run_work_shown(const gr_rank *r) {
  if (r->rank || !r->spec->set.outputs.progress) return GR_WORK_HIDDEN;
  return gr_launch_work_shown();
}

double gr_run_communicated(const gr_rank *r) {
  double seconds = r->world->seconds, waited = gr_exec_waited(r->exec);
  if (waited >= 0) return seconds + waited;
  for (int a = 0; a < GR_MAX_MESH; a++)
    if (r->axes[a] && r->axes[a] != r->world) seconds += r->axes[a]->seconds;
  return seconds;
}

// The part of a batch that a rank reads: ranks that differ only on other axes read the same part.
static int share_of(const gr_run_spec *s, int rank) {
  const gr_mesh *m = &s->plan->mesh;
  const char *const *batch_axis = s->set.options.sharding.batch_axis;
  int share = 0;
  for (int a = 0; a < m->n_axes; a++)
    for (int i = 0; i < GR_MAX_MESH; i++)
      if (batch_axis[i] && !strcmp(m->axis[a].name, batch_axis[i]) && a != gr_mesh_virtual(m))
        share = share * m->axis[a].size + gr_mesh_coord(m, rank, a);
  return share;
}

static gr_status open_exec(gr_rank *r) {
  const gr_run_spec *s = r->spec;
  const gr_collectives *library = gr_collectives_of(s->device);
  gr_exec_options o = {.device = s->device,
                       .threads = s->set.ranks.threads_each,
                       .plain = s->plain,
                       .world = r->world,
                       .comm = r->axes,
                       .open_comm = library ? library->open : NULL,
                       .timeout_s = s->set.comm.timeout,
                       .in_line = !s->set.comm.overlap,
                       .rank = r->rank,
                       .local_rank = r->world->local_rank,
                       .gpu_ids = s->set.ranks.gpu_ids,
                       .n_gpu_ids = s->set.ranks.n_gpu_ids,
                       .autotune = s->set.ranks.autotune,
                       .profile = s->profile,
                       .trace = s->set.outputs.trace_end > 0};
  if (library && library->one_queue && r->world->ranks > 1 && s->set.comm.overlap)
    GR_TRY(library->one_queue(r->world, &o.one_queue));
  gr_work work;
  gr_work_begin(&work, gr_run_work_shown(r), "allocating memory", (double)gr_plan_bytes(s->plan));
  gr_status opened = gr_exec_open(s->plan, &o, &r->exec);
  gr_work_end(&work);
  return opened;
}

gr_status gr_rank_open(gr_rank *r, const gr_run_spec *spec, gr_comm *world) {
  *r = (gr_rank){.spec = spec,
                 .world = world,
                 .rank = world->rank,
                 .ranks = world->ranks,
                 .share = share_of(spec, world->rank),
                 .shares = spec->set.options.sharding.data_ranks,
                 .started = gr_wall_seconds(),
                 .began = gr_seconds(),
                 .arena = gr_arena_create()};
  GR_TRY(gr_run_check_same(r, spec->plan->hash, "the plan"));
  GR_TRY(gr_comm_mesh(world, &spec->plan->mesh, r->axes));
  GR_TRY(open_exec(r));
  GR_TRY(gr_run_open_transfers(r));
  return gr_run_find_programs(r);
}

void gr_rank_close(gr_rank *r) {
  free(r->staging);
  gr_exec_close(r->exec);
  gr_comm_mesh_close(r->axes, &r->spec->plan->mesh);
  gr_arena_destroy(r->arena);
}
