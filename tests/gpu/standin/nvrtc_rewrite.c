// nvrtc_rewrite.c - see nvrtc.h.
#define _GNU_SOURCE  // memmem
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/gpu/standin/nvrtc.h"

void text_put(text *t, const char *p, size_t n) {
  t->p = realloc(t->p, t->n + n + 1);
  if (!t->p) abort();
  memcpy(t->p + t->n, p, n);
  t->n += n, t->p[t->n] = 0;
}
void text_puts(text *t, const char *s) { text_put(t, s, strlen(s)); }

static int is_word(int c) { return isalnum(c) || c == '_'; }

static char *find_word(char *start, const char *w) {
  size_t n = strlen(w);
  for (char *p = start; (p = strstr(p, w)); p++)
    if ((p == start || !is_word((unsigned char)p[-1])) && !is_word((unsigned char)p[n])) return p;
  return NULL;
}

// A kernel's declaration: its name is [name, end), `bounds` its largest block or "0".
typedef struct declaration {
  char *name, *end, bounds[100];
} declaration;

static declaration read_declaration(char *in, char *g) {
  declaration d = {.bounds = "0"};
  for (char *q = g; *q && *q != '{' && *q != ';' && !d.name; q++) {
    if (!strncmp(q, "__si_bounds__", 13)) {
      char *open = strchr(q, '('), *close = open + 1;
      for (int depth = 1; *close && depth; close++)
        depth += *close == '(' ? 1 : *close == ')' ? -1 : 0;
      snprintf(d.bounds, sizeof d.bounds, "%.*s", (int)(close - open - 2), open + 1);
      memset(q, ' ', (size_t)(close - q));
    } else if (*q == '(') {
      for (d.end = q; d.end > in && isspace((unsigned char)d.end[-1]);) d.end--;
      for (d.name = d.end; d.name > in && is_word((unsigned char)d.name[-1]);) d.name--;
    }
  }
  return d;
}

static int put_kernels(char *in, text *table) {
  int n = 0;
  char entry[600], quoted[200];
  for (char *g = in; (g = find_word(g, "__si_global__"));) {
    int is_c = 0;
    char *begin = g;
    memset(g, ' ', 13);
    while (begin > in && !strchr(";}\n", begin[-1])) begin--;
    declaration d = read_declaration(in, g);
    for (char *s = begin; s < g; s++) is_c |= !strncmp(s, "\"C\"", 3);
    if (!d.name || !is_c) continue;
    int length = (int)(d.end - d.name);
    snprintf(quoted, sizeof quoted, "\"%.*s\"", length, d.name);
    if (n && strstr(table->p, quoted)) continue;  // declared before
    snprintf(entry, sizeof entry, "si_entry<&%.*s>(%s, %s),\n", length, d.name, quoted, d.bounds);
    text_puts(table, entry);
    n++;
  }
  return n;
}

// All arrays of dynamic shared memory are one; the others are in a section of their own.
static void put_shared(char *in, text *out) {
  for (char *s; (s = find_word(in, "__si_shared__"));) {
    char *before = s;
    while (before > in && isspace((unsigned char)before[-1])) before--;
    int external = before - in >= 6 && !strncmp(before - 6, "extern", 6);
    text_put(out, in, (size_t)(s - in));
    in = s + 13;
    if (external) {
      char *end = strchr(in, ';');
      text_put(out, in, (size_t)(end - in));
      text_puts(out, " __asm__(\"__si_dynamic\")");
      in = end;
    } else {
      text_puts(out, "static __attribute__((section(\"si_shared\"), used))");
    }
  }
  text_puts(out, in);
}

// What is behind the parenthesis that closes the one at s.
static char *behind(char *s) {
  int depth = 0;
  do depth += (*s == '(') - (*s == ')');
  while (s++, depth);
  return s;
}

// asm volatile("red.release.gpu.add.u32 [%0], %1;" :: "l"(p), "r"(1u) : "memory");  becomes the
// call
// __si_red_release_gpu_add_u32((p), (1u));  of device.hpp. It has to be volatile, of memory, and of
// one instruction; another one is no function there, and does not compile.
static char *put_asm(char *s, text *out) {
  char *begin = strchr(s, '('), *end = behind(begin), *name = strchr(s, '"') + 1;
  size_t n = (size_t)(end - s), length = strcspn(name, " ");
  const char *separator = "(";
  if (strncmp(s, "asm volatile", 12) || !memmem(s, n, "\"memory\"", 8))
    text_puts(out, "not_strict");
  text_puts(out, "__si_");
  for (size_t i = 0; i < length; i++) text_put(out, name[i] == '.' ? "_" : &name[i], 1);
  char *operand = strchr(strchr(name, '"'), '(');
  for (; operand && operand < end; operand = strchr(behind(operand), '('), separator = ",") {
    text_puts(out, separator);
    text_put(out, operand, (size_t)(behind(operand) - operand));
  }
  text_puts(out, ")");
  return end;
}

static void put_statements(char *in, text *out) {
  for (char *s; (s = find_word(in, "asm")); in = put_asm(s, out))
    text_put(out, in, (size_t)(s - in));
  text_puts(out, in);
}

void nvrtc_rewrite(char *source, text *out) {
  text table = {0}, plain = {0};
  put_statements(source, &plain);
  char *in = plain.p;
  char entry[300];
  int n = put_kernels(in, &table);
  put_shared(in, out);
  text_puts(out, "\n# 1 \"table of kernels\"\nstatic const standin_kernel si_table[] = {\n");
  text_puts(out, n ? table.p : "{0, 0, 0, 0, 0}");
  snprintf(
      entry, sizeof entry,
      "};\nextern \"C\" const standin_module_t standin_module = {si_table, %d, "
      "&__si_self, &__si_engine, __start_si_shared, __stop_si_shared, __si_dynamic, si_weak};\n",
      n);
  text_puts(out, entry);
  free(table.p), free(plain.p);
}
