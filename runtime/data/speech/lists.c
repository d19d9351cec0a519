// lists.c - reads what lists recordings: manifests, Parquet files, and with classes also CSV lists
// and folders; see speech.h.
#include "base/port.h"
#include "runtime/data/speech/shard.h"
#include "runtime/data/speech/speech.h"

bool gr_speech_is_table(const char *path) {
  return gr_ends_in(path, ".csv") || gr_ends_in(path, ".tsv");
}

gr_status gr_speech_read_manifest(gr_speech *d, const char *path, uint32_t limit,
                                  gr_manifest **out) {
  gr_manifest *m = *out = &d->manifests[d->n_manifests++];
  GR_TRY(gr_packed_named(path) ? gr_shards_read(d->arena, path, &d->spec.keys, d->kept, m)
                               : gr_manifest_read(d->arena, path, &d->spec.keys, m));
  if (!limit || m->n <= limit) return GR_OK;
  const gr_utterance *u = &m->items[limit];
  gr_omitted_add(d->arena, d->limited, m->n - limit, (gr_loc){u->file, u->line, 1}, u->name);
  m->n = limit;
  return GR_OK;
}

// A folder or a table is no manifest, and is likely one of recordings with classes.
static gr_status check_manifest(const char *path) {
  bool folder = gr_is_dir(path);
  if (!folder && !gr_speech_is_table(path)) return GR_OK;
  gr_status s = gr_fail(GR_ERR_DATA, GR_NOWHERE,
                        "'%s' is a %s, and recordings with transcripts are listed by a manifest",
                        path, folder ? "folder" : "table");
  s = gr_hint(s,
              "a line of a manifest is {\"audio_path\": \"a.wav\", \"text\": \"HELLO\"}; `graphrun "
              "new NAME --from=DATA` makes one of a folder or a table");
  return gr_hint(s, folder ? "data.speech.label=label: recordings have classes, the names of the "
                             "folders in it"
                           : "data.speech.label=COLUMN: recordings have classes, in that column");
}

static gr_status list_transcripts(gr_speech *d, const gr_source_request *r) {
  gr_manifest *ignored;
  GR_TRY(gr_about(check_manifest(d->spec.train), "manifest"));
  GR_TRY(gr_speech_read_manifest(d, d->spec.train, r->limit, &ignored));
  if (!d->spec.validation) return GR_OK;
  GR_TRY(gr_about(check_manifest(d->spec.validation), "eval_manifest"));
  return gr_speech_read_manifest(d, d->spec.validation, r->limit, &ignored);
}

// ---- Classes ------------------------------------------------------------------------------------

// Adds the items of a manifest to the listing.
static gr_status add_utterances(gr_speech *d, const gr_manifest *m, gr_split split) {
  gr_listing *l = &d->list;
  l->text |= m->named;
  gr_classes_declare(&l->classes, l->arena, &(gr_array){.names = m->names, .n_names = m->n_names});
  for (uint32_t i = 0; i < m->n; i++) {
    const gr_utterance *u = &m->items[i];
    gr_listed file = {.name = u->name,
                      .path = u->audio,
                      .info = {.split = split, .loc = {u->file, u->line, u->audio_col}}};
    GR_TRY(gr_classes_add(&l->classes, l->arena, u->text, (gr_loc){u->file, u->line, u->col},
                          &file.info.label));
    file.info.label++;
    GR_TRY(gr_listing_add(l, &file));
  }
  return GR_OK;
}

// Makes items of what is listed from a number on.
static void take_listed(gr_speech *d, uint32_t first) {
  const gr_listing *l = &d->list;
  gr_manifest *m = &d->manifests[d->n_manifests++];
  *m = (gr_manifest){.items = GR_NEW(d->arena, gr_utterance, l->count - first + 1),
                     .n = l->count - first,
                     .first = first};
  for (uint32_t i = 0; i < m->n; i++) {
    const gr_listed *file = &l->file[first + i];
    m->items[i] =
        (gr_utterance){.name = file->name,
                       .audio = file->path,
                       .text = file->info.label ? l->classes.found.keys[file->info.label - 1] : "",
                       .member = file->member,
                       .file = file->info.loc.file,
                       .line = file->info.loc.line,
                       .col = 1,
                       .audio_col = 1};
  }
}

gr_status gr_speech_list_table(gr_speech *d, const gr_source_request *r, const char *path) {
  gr_source_request one = *r;
  uint32_t first = d->list.count;
  one.inputs = &path, one.n_inputs = 1;
  GR_TRY(gr_listing_inputs(&d->list, &one));
  return take_listed(d, first), GR_OK;
}

static gr_status list_part(gr_speech *d, const gr_source_request *r, const gr_listing_part *p) {
  const gr_manifest_keys *keys = &d->spec.keys;
  gr_listing *l = &d->list;
  uint32_t first = l->count;
  gr_file_list rows;
  gr_manifest *m;
  if (gr_is_dir(p->path)) {
    if (keys->root)
      return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                      "data.speech.root has no effect: '%s' is a folder, whose "
                                      "recordings are in it",
                                      p->path),
                              "root"),
                     "remove it");
    GR_TRY(gr_listing_folders(l, r, p));
    return take_listed(d, first), GR_OK;
  }
  if (gr_speech_is_table(p->path) || gr_archive_named(p->path)) {
    GR_TRY(gr_listing_open(l, p, keys->label, &rows));
    rows.root = keys->root;
    GR_TRY(gr_listing_add_list(l, r, p, &rows));
    return take_listed(d, first), GR_OK;
  }
  GR_TRY(gr_speech_read_manifest(d, p->path, r->limit, &m));
  m->first = first;
  return add_utterances(d, m, p->split);
}

static gr_status list_classes(gr_speech *d, const gr_source_request *r) {
  const gr_speech_spec *s = &d->spec;
  const gr_listing_part train = {s->train, s->validation ? GR_SPLIT_TRAIN : GR_SPLIT_BY_KEY};
  const gr_listing_part eval = {s->validation, GR_SPLIT_VALIDATION};
  GR_TRY(gr_listing_about(list_part(d, r, &train), "manifest"));
  if (s->validation) GR_TRY(gr_listing_about(list_part(d, r, &eval), "eval_manifest"));
  GR_TRY(gr_listing_check_labels(&d->list, NULL));
  GR_TRY(gr_listing_number(&d->list, r->record));
  return gr_listing_check_several(&d->list, s->train);
}

gr_status gr_speech_read_lists(gr_speech *d, const gr_source_request *r) {
  return d->spec.keys.label ? list_classes(d, r) : list_transcripts(d, r);
}
