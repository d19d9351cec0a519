// errors.c - what is wrong with a Parquet file. See parts.h.
#include "runtime/data/parquet/parts.h"

gr_status gr_parquet_broken(const gr_parquet *p, uint64_t offset, const char *what) {
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' is damaged: at byte %llu, %s", p->path,
                         (unsigned long long)offset, what),
                 "copy or write the file again");
}

gr_status gr_parquet_wrong(const gr_parquet *p, const gr_thrift *t) {
  return gr_parquet_broken(p, (uint64_t)(t->next - p->map.data), t->wrong);
}

gr_status gr_parquet_refuse(const char *path, const char *column, const char *why) {
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "the column '%s' of '%s' %s, which is not read",
                         column, path, why),
                 "docs/data.md says which columns are; write it as one of these, or leave it out");
}

gr_status gr_parquet_unread(const gr_parquet *p, int column, const char *what) {
  return gr_parquet_refuse(p->path, p->columns[column].name, what);
}

gr_status gr_parquet_need(const gr_parquet *p, int column) {
  const char *why = p->columns[column].refused;
  return why ? gr_parquet_unread(p, column, why) : GR_OK;
}
