// config.c - reads the keys of the source `corpus` in the section data.corpus; see corpus.h.
#include "runtime/data/corpus/corpus.h"

gr_status gr_corpus_read_spec(gr_arena *a, gr_conf *section, bool tokenizer, gr_corpus_spec *s) {
  int64_t context;
  *s = (gr_corpus_spec){0};
  s->paths = gr_names_read(a, section, "path");
  s->eval = gr_names_read(a, section, "eval_path");
  if (!tokenizer) GR_TRY(gr_conf_text(section, "vocab", "bytes", &s->vocab));
  GR_TRY(gr_conf_int(section, "context", 0, &context));
  GR_TRY(gr_conf_bool(section, "shift", true, &s->shift));
  s->context = (int32_t)context;
  return GR_OK;
}
