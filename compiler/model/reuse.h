// reuse.h - uses of blocks that are built as an earlier use was.
#pragma once
#include "compiler/model/parts.h"

typedef struct gr_block_use gr_block_use;    // a use that further ones are built as
typedef struct gr_block_uses gr_block_uses;  // those of a program

// Starts noting uses of blocks; what is noted is in the context's scratch arena.
void gr_model_open_uses(gr_build_context *);
// Ends it: from here on every use is built from the block's nodes.
void gr_model_close_uses(gr_build_context *);
// A noted use that builds the same as this one, whose frame is the current one and has its operands
// and parameters; NULL: none.
const gr_block_use *gr_model_known_use(gr_build_context *, const gr_block *, const gr_conf *use,
                                       const gr_binding *given, int n);
// Emits again what that use has emitted, on the operands given. *out: its results.
GR_MUST_USE gr_status gr_model_use_again(gr_build_context *, const gr_block_use *,
                                         const gr_binding *given, gr_binding *out);
// Starts noting what is built for a use; the arguments are those of gr_model_known_use. NULL: it is
// not noted.
gr_block_use *gr_model_open_use(gr_build_context *, const gr_block *, const gr_conf *use,
                                const gr_binding *given, int n);
// Ends it; out: the results of the use. A NULL is taken, too.
void gr_model_close_use(gr_build_context *, gr_block_use *, const gr_binding *out);
// A buffer was set: uses that are being noted are not kept.
void gr_model_note_set(gr_build_context *);
