// gpu_tile.c - see gpu_tile.h.
#include "ops/kernels/gpu_tile.h"
#include "base/arena.h"

gr_gpu_parts gr_gpu_cut(int64_t blocks, int64_t terms, int64_t least) {
  enum { ENOUGH = 512 };  // blocks
  int64_t parts = ENOUGH / blocks, most = terms / least;
  parts = parts < most ? parts : most;
  parts = parts > 1 ? parts : 1;
  int64_t share = (terms + parts - 1) / parts;
  return (gr_gpu_parts){(terms + share - 1) / share, share};
}

GR_CU(tile);

gr_gpu_kernel *gr_gpu_tile_add(gr_gpu_call *g, const char *source, const char *entry, int64_t m,
                               int64_t n, int64_t parts) {
  enum { TILE = 64, THREADS = 256 };  // GR_TILE and GR_TILE_THREADS of tile.cu
  int64_t tiles = (m + TILE - 1) / TILE * ((n + TILE - 1) / TILE);
  const char *text = gr_arena_join(g->arena, (const char *[]){gr_cu_tile, source}, 2);
  return gr_gpu_kernel_add(g, text, entry, tiles * parts * THREADS, THREADS);
}
