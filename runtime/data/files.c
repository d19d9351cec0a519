// files.c - see files.h.
#include "runtime/data/files.h"
#include <unistd.h>
#include "base/file.h"
#include "base/tasks.h"
#include "base/work.h"

enum { BLOCK = 16 };  // files of a task

typedef struct pass {
  const gr_files *files;
  gr_work *work;
  uint32_t n;  // files of the part
} pass;

static uint32_t parts_of(const gr_files *f) { return f->parts ? f->parts : 1; }

static gr_status look_at_block(void *arg, int block) {
  const pass *p = arg;
  const gr_files *f = p->files;
  uint32_t first = (uint32_t)block * BLOCK, end = first + BLOCK;
  for (uint32_t i = first; i < end && i < p->n; i++) {
    if (!gr_work_add(p->work, 1)) return gr_stop_check();
    GR_TRY(f->look(f->self, f->part + i * parts_of(f)));
  }
  return GR_OK;
}

// A thread that is asked to stop does not know what the work is called.
static gr_status named_stop(gr_status s) {
  if (gr_status_code(s) != GR_ERR_STOPPED || !gr_stop_due()) return s;
  gr_status_drop(s);
  return gr_stop_check();
}

gr_status gr_files_look(const gr_files *f) {
  char what[96];
  gr_work work;
  pass p = {.files = f, .work = &work};
  if (f->part < f->n) p.n = (f->n - f->part - 1) / parts_of(f) + 1;
  if (!p.n) return GR_OK;
  snprintf(what, sizeof what, "%s %u %s", f->verb, f->n, f->noun);
  gr_work_begin_items(&work, what, p.n);
  gr_status s = gr_tasks_run(f->threads, (int)((p.n - 1) / BLOCK + 1), look_at_block, &p);
  s = named_stop(s);
  gr_work_end(&work);
  return s;
}

static gr_status is_there(void *self, uint32_t i) {
  const char *const *paths = self;
  int fd;
  GR_TRY(gr_file_open(paths[i], GR_ERR_DATA, &fd));
  close(fd);
  return GR_OK;
}

gr_status gr_files_there(const char *const *paths, int n) {
  return gr_files_look(&(gr_files){.verb = "looking for",
                                   .noun = "files",
                                   .n = (uint32_t)n,
                                   .threads = GR_FILES_WAIT,
                                   .look = is_there,
                                   .self = (void *)(uintptr_t)paths});
}
