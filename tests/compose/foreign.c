// foreign.c - settings of other programs (compose/schema/foreign.def): each row is true of this
// program. here.
#include "compose/schema/schema.h"
#include "tests/check.h"

#define SAME(found, wanted, of)                                                 \
  CHECK(found && !strcmp(found, wanted), "%s: wanted %s, found %s", of, wanted, \
        found ? found : "nothing")

// Every word of a text that begins with a section, such as training.lr=1, is a key or a section.
static void names_keys(gr_arena *a, const gr_foreign *f) {
  static const char delimiters[] = " =:;,`()";
  for (const char *rest = f->text; *rest; rest += strspn(rest, delimiters)) {
    size_t n = strcspn(rest, delimiters);
    const char *word = gr_arena_strndup(a, rest, n), *dot = strchr(word, '.');
    rest += n;
    if (!dot || dot == word || !dot[1] ||
        !gr_schema_section(gr_arena_strndup(a, word, (size_t)(dot - word))))
      continue;
    CHECK(strstr(word, "SOURCE") || gr_schema_takes(word), "%s: there is no key %s", f->name, word);
  }
}

static void keys(void) {
  gr_arena *a = gr_arena_create();
  for (const gr_foreign *f = gr_foreign_names; f->name; f++) {
    CHECK(*f->key || *f->text, "%s says nothing", f->name);
    CHECK(!*f->key || gr_schema_takes(f->key), "%s: there is no key %s", f->name, f->key);
    for (const gr_foreign *other = gr_foreign_names; other < f; other++)
      CHECK(strcmp(f->program, other->program) || strcmp(f->name, other->name),
            "%s of %s is there twice", f->name, f->program);
    CHECK(!strchr(f->text, '|') && !strchr(f->key, '|'), "%s: '|' ends a cell", f->name);
    names_keys(a, f);
  }
  gr_arena_destroy(a);
}

// What errors say of an unknown key of that name.
static void hints(void) {
  gr_arena *a = gr_arena_create();
  for (const gr_foreign *f = gr_foreign_names; f->name; f++) {
    const char *name = f->name + strspn(f->name, "-");
    if (*f->key) {
      SAME(gr_schema_nearest(a, name), f->key, name);
      SAME(gr_schema_nearest(a, gr_arena_printf(a, "trainer.%s", name)), f->key, name);
      CHECK(!gr_schema_replacement(name), "%s has a key, and the hint '%s'", name,
            gr_schema_replacement(name));
    } else {
      SAME(gr_schema_replacement(f->name), f->text, f->name);
    }
  }
  SAME(gr_schema_replacement("training.lr_scheduler.lr"), gr_schema_replacement("scheduler"),
       "a part of a path");
  CHECK(!gr_schema_foreign("info") && !gr_schema_foreign("nothing"), "a flag is no key");
  SAME(gr_schema_foreign("nproc_per_node")->key, "distributed.ranks",
       "a flag's key, without dashes");
  SAME(gr_schema_foreign("--nproc_per_node")->key, "distributed.ranks", "a flag with '_'");
  gr_arena_destroy(a);
}

static void printed(void) {
  gr_arena *a = gr_arena_create();
  gr_text lines = gr_text_make(a), table = gr_text_make(a);
  gr_schema_other_names(&lines, false);
  gr_schema_other_names(&table, true);
  CHECK(strstr(lines.chars, "Lightning     gradient_clip_val            training.grad_clip\n"),
        "no line of a key");
  CHECK(strstr(table.chars, "| Lightning | `gradient_clip_val` | `training.grad_clip` |  |\n"),
        "no row of a key");
  CHECK(!strstr(lines.chars, " \n"), "spaces end a line");
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"keys", keys}, {"hints", hints}, {"printed", printed});
}
