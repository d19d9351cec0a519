// list.c - lists clips from the lines of a CSV file, or from files to predict; see video.h.
#include <string.h>
#include "base/log.h"
#include "runtime/data/video/video.h"

// A line says the label of a video, and so of all its clips; or, with a frame, of the clip that has
// this frame at its centre.
typedef struct lines {
  gr_video *video;
  const gr_source_request *request;
  gr_map files;                               // paths of the list to numbers of files
  gr_array path, label, split, frame;         // columns of the list; at is NULL without one
  int path_at, label_at, split_at, frame_at;  // their numbers, or -1
  int32_t *class_of;                          // by row
} lines;

static gr_loc place(const lines *l, uint32_t row) {
  return (gr_loc){l->video->list.path, l->video->list.lines[row], 1};
}

// ---- Columns ------------------------------------------------------------------------------------

static gr_status find_column(const gr_csv *t, const char *name, bool needed, int *at,
                             gr_array *out) {
  *at = gr_csv_find(t, name);
  if (*at >= 0) *out = gr_csv_array(t, *at);
  if (*at >= 0 || !needed) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, (gr_loc){t->path, 1, 1}, "the list of videos has no column '%s'", name),
      "its first line names the columns: path and label, and optionally split and frame");
}

static gr_status find_columns(lines *l) {
  const gr_csv *t = &l->video->list;
  GR_TRY(find_column(t, "path", true, &l->path_at, &l->path));
  GR_TRY(find_column(t, "label", true, &l->label_at, &l->label));
  GR_TRY(find_column(t, "split", false, &l->split_at, &l->split));
  GR_TRY(find_column(t, "frame", false, &l->frame_at, &l->frame));
  if (l->frame_at < 0 || gr_array_is_whole(&l->frame)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){t->path, 1, 1},
                         "the column 'frame' of the list of videos is %s, not whole numbers",
                         gr_array_type(&l->frame)),
                 "a frame is the number of a clip's centre, the first of a video is 0");
}

static gr_status check_cells(const lines *l, uint32_t row) {
  const int at[] = {l->path_at, l->label_at, l->split_at, l->frame_at};
  for (int i = 0; i < 4; i++)
    if (at[i] >= 0 && gr_csv_missing(&l->video->list, row, at[i]))
      return gr_hint(gr_fail(GR_ERR_DATA, place(l, row), "there is no %s in this line",
                             l->video->list.columns[at[i]].name),
                     "fill it in, or leave out the line");
  return GR_OK;
}

static gr_status number_classes(lines *l, const gr_json *record) {
  gr_video *v = l->video;
  gr_names recorded = gr_names_recorded(v->arena, record, "class_names");
  gr_arena *scratch = gr_arena_create();
  gr_status s = GR_OK;
  int32_t *place_of;
  if (l->label.element == GR_ELEMENT_FLOAT)
    s = gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){v->list.path, 1, 1},
                        "labels of the list of videos are numbers with fractions"),
                "classes are whole numbers or text");
  l->class_of = GR_NEW(v->arena, int32_t, v->list.rows + 1);
  for (uint32_t row = 0; row < v->list.rows && !s; row++) {
    s = check_cells(l, row);
    if (!s)
      s = gr_classes_add(&v->classes, v->arena, gr_array_text(scratch, &l->label, row),
                         place(l, row), &l->class_of[row]);
  }
  if (!s)
    s = gr_classes_number(&v->classes, v->arena, gr_array_is_text(&l->label), &recorded, &place_of);
  for (uint32_t row = 0; row < v->list.rows && !s; row++)
    l->class_of[row] = place_of[l->class_of[row]];
  gr_arena_destroy(scratch);
  return s;
}

// ---- Clips --------------------------------------------------------------------------------------

static gr_status add_clip(gr_video *v, gr_video_clip clip) {
  if (v->count == v->room) {
    if (v->room > UINT32_MAX / 4)
      return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there are more than 2^30 clips"),
                     "a larger data.video.stride");
    v->room = 2 * v->room + 256;
    gr_video_clip *more = GR_NEW(v->arena, gr_video_clip, v->room);
    if (v->count) memcpy(more, v->clip, v->count * sizeof *more);
    v->clip = more;
  }
  v->clip[v->count++] = clip;
  return GR_OK;
}

// Adds the clips of a whole video that have the attributes of `like`.
static gr_status add_clips(gr_video *v, const gr_source_request *r, gr_video_clip like) {
  const gr_video_file *f = &v->file[like.video];
  for (int64_t start = 0; start + v->spec.frames <= f->frames; start += v->spec.stride) {
    if (r->limit && v->count >= r->limit && !v->inputs) return GR_OK;
    like.start = (uint32_t)start;
    GR_TRY(add_clip(v, like));
  }
  return GR_OK;
}

// Adds the clip around a frame, unless a part of it is missing or the stride leaves it out.
static gr_status add_around(const lines *l, uint32_t row, gr_video_clip like) {
  gr_video *v = l->video;
  const gr_video_file *f = &v->file[like.video];
  int64_t frame = 0;
  bool whole = gr_array_integer(&l->frame, row, &frame);
  if (!whole || frame < 0 || frame >= f->frames)
    return gr_unreadable_add(
        l->request->unreadable, place(l, row), gr_log_rank() == 0,
        gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "frame %lld is not in '%s', which has %lld",
                        (long long)frame, f->name, (long long)f->frames),
                "the first frame is 0"));
  int64_t start = frame - v->spec.frames / 2;
  bool beyond = start < 0 || start + v->spec.frames > f->frames;
  v->skipped[GR_VIDEO_BEYOND].count += beyond;
  if (beyond || start % v->spec.stride) return GR_OK;
  like.start = (uint32_t)start;
  return add_clip(v, like);
}

// ---- Lines --------------------------------------------------------------------------------------

// Paths that are relative are so to the folder of the list.
static const char *path_of(gr_arena *a, const char *list, const char *name) {
  const char *slash = strrchr(list, '/');
  if (*name == '/' || !slash) return name;
  return gr_arena_printf(a, "%.*s%s", (int)(slash + 1 - list), list, name);
}

// Opens the video that a line names, unless an earlier one does. What is wrong with it is said
// once.
static gr_status open_video(lines *l, uint32_t row, uint32_t *out) {
  gr_video *v = l->video;
  const char *name = gr_array_text(v->arena, &l->path, row);
  if (gr_map_find(&l->files, name, out)) return GR_OK;
  *out = v->n_files++;
  gr_map_put(&l->files, name, *out);
  gr_video_file *f = &v->file[*out];
  *f = (gr_video_file){
      .name = name, .path = path_of(v->arena, v->list.path, name), .key = gr_hash_text(name)};
  return gr_unreadable_add(l->request->unreadable, place(l, row), gr_log_rank() == 0,
                           gr_video_open_file(v, f));
}

static gr_status split_of(const lines *l, uint32_t row, const gr_video_file *f, gr_split *out) {
  if (l->split_at < 0) {  // all clips of a video are in one split
    *out = gr_split_by_key(f->key, l->request->validation_fraction);
    return GR_OK;
  }
  gr_arena *scratch = gr_arena_create();
  const char *word = gr_array_text(scratch, &l->split, row);
  gr_status s = GR_OK;
  if (!gr_split_by_word(word, out))
    s = gr_hint(gr_fail(GR_ERR_DATA, place(l, row), "the split in this line is '%s'", word),
                "it is train or validation, or 0 or 1");
  gr_arena_destroy(scratch);
  return s;
}

static gr_status add_line(lines *l, uint32_t row) {
  gr_video *v = l->video;
  gr_video_clip like = {.label = l->class_of[row], .line = v->list.lines[row]};
  gr_split split = GR_SPLIT_TRAIN;
  GR_TRY(open_video(l, row, &like.video));
  GR_TRY(split_of(l, row, &v->file[like.video], &split));
  like.split = (uint8_t)split;
  if (!v->file[like.video].at) return GR_OK;
  return l->frame_at < 0 ? add_clips(v, l->request, like) : add_around(l, row, like);
}

static gr_status list_inputs(gr_video *v, const gr_source_request *r) {
  gr_names recorded = gr_names_recorded(v->arena, r->record, "class_names");
  v->classes.names = recorded.at, v->classes.n = recorded.n;
  v->file = GR_NEW(v->arena, gr_video_file, r->n_inputs);
  for (int i = 0; i < r->n_inputs; i++) {
    gr_video_file *f = &v->file[v->n_files++];
    *f = (gr_video_file){
        .name = r->inputs[i], .path = r->inputs[i], .key = gr_hash_text(r->inputs[i])};
    GR_TRY(gr_video_open_file(v, f));
    GR_TRY(add_clips(v, r, (gr_video_clip){.video = (uint32_t)i, .split = GR_SPLIT_VALIDATION}));
  }
  return GR_OK;
}

gr_status gr_video_list(gr_video *v, const gr_source_request *r) {
  v->classes = gr_classes_make(v->arena);
  if (v->inputs) return list_inputs(v, r);
  GR_TRY(gr_csv_read(v->arena, v->spec.path, ',', true, &v->list));
  lines l = {.video = v, .request = r, .files = gr_map_make(v->arena)};
  v->file = GR_NEW(v->arena, gr_video_file, v->list.rows + 1);
  GR_TRY(find_columns(&l));
  GR_TRY(number_classes(&l, r->record));
  for (uint32_t row = 0; row < v->list.rows; row++) {
    if (r->limit && v->count >= r->limit) break;
    GR_TRY(add_line(&l, row));
  }
  return GR_OK;
}
