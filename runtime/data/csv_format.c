// csv_format.c - see csv_format.h.
#include "runtime/data/csv_format.h"
#include <string.h>

static gr_status read_encoding(gr_conf *section, gr_csv_format *out) {
  const char *word;
  GR_TRY(gr_conf_text(section, "encoding", "", &word));
  out->encoding = !strcmp(word, "auto")           ? ""
                  : !strcmp(word, "utf-16")       ? "UTF-16"
                  : !strcmp(word, "windows-1252") ? "WINDOWS-1252"
                  : !strcmp(word, "latin-1")      ? "ISO-8859-1"
                                                  : NULL;
  return GR_OK;
}

gr_status gr_csv_read_format(gr_conf *section, const char *name, gr_csv_format *out) {
  const char *delimiter;
  const gr_conf *header = gr_conf_find(section, "header");
  *out = (gr_csv_format){.section = name, .any_header = header->kind == GR_CONF_NULL};
  if (!out->any_header) GR_TRY(gr_conf_bool(section, "header", false, &out->header));
  GR_TRY(read_encoding(section, out));
  GR_TRY(gr_conf_text(section, "delimiter", NULL, &delimiter));
  if (!delimiter) return GR_OK;
  if (!strcmp(delimiter, "\\t")) delimiter = "\t";  // as an argument has it, which knows no escapes
  out->delimiter = delimiter[0];
  if (strlen(delimiter) == 1 && !strchr("\"\r\n", delimiter[0])) return GR_OK;
  return gr_hint(
      gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "%s.delimiter must be one character, but is '%s'",
                       name, delimiter),
               "delimiter"),
      "such as ',' or ';', or \"\\t\" for a tab");
}

static bool are_alike(const gr_csv_format *f, const gr_csv_format *g) {
  bool encoded =
      f->encoding && g->encoding ? !strcmp(f->encoding, g->encoding) : f->encoding == g->encoding;
  return encoded && f->delimiter == g->delimiter && f->header == g->header;
}

static void put_format(const char *path, const gr_csv_format *asked, const gr_csv_format *found,
                       gr_text *out) {
  bool delimiter = !asked->delimiter && found->delimiter != ',';
  bool unnamed = asked->any_header && !found->header;
  bool encoded = asked->encoding && !*asked->encoding && found->encoding;
  if (!delimiter && !unnamed && !encoded) return;
  gr_text_printf(out, "%s'%s' is read ", out->len ? "\n" : "", path);
  if (delimiter && found->delimiter == '\t') gr_text_put(out, "with tabs between fields");
  if (delimiter && found->delimiter != '\t')
    gr_text_printf(out, "with '%c' between fields", found->delimiter);
  if (unnamed) gr_text_printf(out, "%swithout a line of names", delimiter ? ", " : "");
  if (encoded) gr_text_printf(out, "%sas %s", delimiter || unnamed ? ", " : "", found->encoding);
}

void gr_csv_put_formats(const char *const *paths, const gr_csv_format *found, int n,
                        const gr_csv_format *asked, gr_text *out) {
  for (int i = 0; i < n; i++)
    if (!i || !are_alike(&found[i], &found[i - 1])) put_format(paths[i], asked, &found[i], out);
}
