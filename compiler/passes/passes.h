// passes.h - the passes, for the table in pipeline.c. Each is in a file of its name.
#pragma once
#include "compiler/pass.h"

gr_status gr_pass_check(gr_rewrite *);
gr_status gr_pass_place(gr_rewrite *);
gr_status gr_pass_autodiff(gr_rewrite *);
gr_status gr_pass_guard(gr_rewrite *);
gr_status gr_pass_hoist(gr_rewrite *);
gr_status gr_pass_optimize(gr_rewrite *);
gr_status gr_pass_sweep(gr_rewrite *);
gr_status gr_pass_shard(gr_rewrite *);
gr_status gr_pass_accumulate(gr_rewrite *);
gr_status gr_pass_pack(gr_rewrite *);
gr_status gr_pass_bucket(gr_rewrite *);
gr_status gr_pass_order(gr_rewrite *);
