// new_symbols.c - see new_symbols.h.
#include "cli/new_symbols.h"
#include <string.h>
#include "base/json.h"

enum { MAX_SYMBOLS = 512 };
typedef struct symbols {
  uint32_t code[MAX_SYMBOLS];
  int n;
} symbols;

static void add_symbols(symbols *all, const char *text) {
  for (int len; *text && (len = gr_utf8_len(text)); text += len) {
    uint32_t code = gr_utf8_code(text, len);
    int i = 0;
    while (i < all->n && all->code[i] < code) i++;
    if ((i < all->n && all->code[i] == code) || all->n == MAX_SYMBOLS) continue;
    memmove(&all->code[i + 1], &all->code[i], sizeof *all->code * (size_t)(all->n - i));
    all->code[i] = code, all->n++;
  }
}

void gr_new_put_symbols(gr_arena *a, char *manifest, gr_text *out) {
  symbols all = {.n = 0};
  char *rest = NULL;
  for (char *line = strtok_r(manifest, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    const gr_json *root;
    gr_json_error why;
    if (!gr_json_read(a, line, strlen(line), &root, &why) || root->kind != GR_JSON_OBJECT) continue;
    const gr_json *said = gr_json_get(root, "text", GR_JSON_TEXT);
    if (said) add_symbols(&all, said->text);
  }
  for (int i = 0; i < all.n; i++) gr_text_put_code(out, all.code[i]);
}
