// passes.h - the functions of the passes, for the table in pipeline.c, which documents them and the
// facts that they need and establish. Each pass is in a file of its name.
#pragma once
#include "compiler/pass.h"

// Each emits the new graph through the rewrite's builder; errors name the user's YAML.
gr_status gr_pass_lint(gr_rewrite *);
gr_status gr_pass_annotate_sharding(gr_rewrite *);
gr_status gr_pass_precision(gr_rewrite *);
gr_status gr_pass_autodiff(gr_rewrite *);
gr_status gr_pass_finite_check(gr_rewrite *);
gr_status gr_pass_loop_hoist(gr_rewrite *);
gr_status gr_pass_optimize(gr_rewrite *);
gr_status gr_pass_ema(gr_rewrite *);
gr_status gr_pass_dce(gr_rewrite *);
gr_status gr_pass_shard(gr_rewrite *);
gr_status gr_pass_accumulate(gr_rewrite *);
gr_status gr_pass_prepack_weights(gr_rewrite *);
gr_status gr_pass_coalesce_collectives(gr_rewrite *);
gr_status gr_pass_epilogue(gr_rewrite *);
gr_status gr_pass_fuse(gr_rewrite *);
gr_status gr_pass_schedule(gr_rewrite *);
