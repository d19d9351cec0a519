// library.c - the built-in blocks (graphs/blocks.yaml), of which a model uses few: the others stay
// the text that they are in the file.
#include <ctype.h>
#include <string.h>
#include "compiler/model/parts.h"

static const char file[] = "graphs/blocks.yaml";

static bool begins_block(const char *line) { return isalpha((unsigned char)*line); }

// Adds each block under its name, as text.
static void split(gr_arena *arena, const char *text, gr_conf *out) {
  gr_conf *last = NULL;
  gr_loc loc = {file, 1, 1};
  for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n', loc.line++) {
    if (!begins_block(p)) continue;
    last = gr_conf_make(arena, GR_CONF_TEXT, loc);
    last->key_loc = loc, last->text = p;  // up to the next one
    gr_conf_add(arena, out, gr_arena_strndup(arena, p, strcspn(p, ":")), last);
  }
}

// The lines before the block are there, empty, so that its places are those in the file.
gr_status gr_model_read_block(gr_arena *arena, const gr_conf *block, gr_conf **out) {
  const char *end = block->text;
  do end += strcspn(end, "\n"), end += *end == '\n';
  while (*end && !begins_block(end));
  size_t before = (size_t)block->loc.line - 1, n = (size_t)(end - block->text);
  char *text = gr_arena_take(arena, before + n + 1);
  memset(text, '\n', before);
  memcpy(text + before, block->text, n);
  text[before + n] = 0;
  GR_TRY(gr_conf_parse(arena, file, text, out));
  *out = (*out)->items[0];
  return GR_OK;
}

// Reads the blocks that have the name of a key of the tree, and those that they use.
static gr_status read_used(gr_arena *arena, const gr_conf *tree, gr_conf *blocks) {
  for (int i = 0; i < tree->n && tree->items; i++) {
    int k = tree->keys ? gr_conf_index(blocks, tree->keys[i]) : -1;
    if (k >= 0 && blocks->items[k]->kind == GR_CONF_TEXT) {
      gr_conf *block;
      GR_TRY(gr_model_read_block(arena, blocks->items[k], &block));
      gr_conf_put(arena, blocks, blocks->keys[k], block);
      GR_TRY(read_used(arena, block, blocks));
    }
    GR_TRY(read_used(arena, tree->items[i], blocks));
  }
  return GR_OK;
}

gr_status gr_model_blocks(gr_arena *arena, const gr_conf *graph, const gr_model_teacher *teacher,
                          gr_conf **out) {
  gr_source_add(file, gr_model_blocks_yaml);
  *out = gr_conf_make(arena, GR_CONF_MAP, (gr_loc){file, 1, 1});
  split(arena, gr_model_blocks_yaml, *out);
  GR_TRY(read_used(arena, graph, *out));
  return teacher ? read_used(arena, teacher->graph, *out) : GR_OK;
}
