// chosen.c - see chosen.h.
#include "runtime/data/chosen.h"
#include "runtime/data/join.h"

gr_status gr_source_read(gr_arena *a, gr_conf *data, const gr_source_ops **out) {
  gr_conf *source = gr_conf_find(data, "source");
  const char *name;
  if (source && source->kind == GR_CONF_LIST) return gr_join_make(a, data, out);
  GR_TRY(gr_conf_text(data, "source", "", &name));
  *out = gr_source_named(name);
  if (*out) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, gr_conf_find(data, "source")->loc,
                         "there is no source of data '%s'", name),
                 "`graphrun config --help data.source` lists them");
}
