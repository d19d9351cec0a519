// room.c - see room.h.
#include "base/room.h"
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATH = 4096 };
#define UNLIMITED 0x1p60  // of version 1, which has no word for it: a number of pages below 2^63

typedef struct rooms {
  const char *root;
  gr_room *list;
  int n;
} rooms;

static void GR_PRINTF(4, 5) add(rooms *r, double bytes, bool per_process, const char *by, ...) {
  if (r->n == GR_MAX_ROOMS) return;
  gr_room *room = &r->list[r->n++];
  *room = (gr_room){.bytes = bytes, .per_process = per_process};
  va_list ap;
  va_start(ap, by);
  vsnprintf(room->by, sizeof room->by, by, ap);
  va_end(ap);
}

static FILE *GR_PRINTF(2, 3) open_below(const char *root, const char *fmt, ...) {
  char path[MAX_PATH];
  size_t n = (size_t)snprintf(path, sizeof path, "%s", root);
  va_list ap;
  va_start(ap, fmt);
  if (n < sizeof path) vsnprintf(path + n, sizeof path - n, fmt, ap);
  va_end(ap);
  return n < sizeof path ? fopen(path, "re") : NULL;
}

// ---- The machine --------------------------------------------------------------------------------

// Of a file of lines "NAME: NUMBER kB" or "NAME NUMBER"; false: it is not there.
static bool find_number(FILE *f, const char *name, double *out) {
  char line[256];
  size_t n = strlen(name);
  rewind(f);
  while (fgets(line, sizeof line, f)) {
    if (strncmp(line, name, n) != 0 || !(line[n] == ':' || isspace((unsigned char)line[n])))
      continue;
    char *start = line + n + (line[n] == ':'), *end;
    *out = strtod(start, &end);
    return end > start;
  }
  return false;
}

// Systems before Linux 3.14 do not say what is available.
static bool find_available(FILE *f, double *kb) {
  double part, all = 0;
  static const char *const parts[] = {"MemFree", "Buffers", "Cached"};
  if (find_number(f, "MemAvailable", kb)) return true;
  for (int i = 0; i < 3; i++) {
    if (!find_number(f, parts[i], &part)) return false;
    all += part;
  }
  if (find_number(f, "Shmem", &part)) all -= part;
  *kb = all;
  return true;
}

static void read_machine(rooms *r) {
  double kb, limit, committed;
  char word[8] = "";
  FILE *f = open_below(r->root, "/proc/meminfo"), *over = NULL;
  if (!f) return;
  if (find_available(f, &kb)) add(r, 1024 * kb, false, "this machine");
  over = open_below(r->root, "/proc/sys/vm/overcommit_memory");
  bool strict = over && fgets(word, sizeof word, over) && *word == '2';
  if (over) fclose(over);
  if (strict && find_number(f, "CommitLimit", &limit) && find_number(f, "Committed_AS", &committed))
    add(r, 1024 * (limit - committed), false, "what this machine commits");
  fclose(f);
}

// ---- The process --------------------------------------------------------------------------------

// A line "Max address space  LIMIT  HARD LIMIT  bytes"; < 0: unlimited or unknown.
static double find_limit(FILE *f, const char *name) {
  char line[256], *end;
  rewind(f);
  while (fgets(line, sizeof line, f)) {
    if (strncmp(line, name, strlen(name)) != 0) continue;
    double limit = strtod(line + strlen(name), &end);
    return end == line + strlen(name) ? -1 : limit;
  }
  return -1;
}

static void read_process(rooms *r) {
  static const struct {
    const char *limit, *used, *by;
  } all[] = {{"Max address space", "VmSize", "`ulimit -v`"},
             {"Max data size", "VmData", "`ulimit -d`"}};
  FILE *limits = open_below(r->root, "/proc/self/limits");
  FILE *status = open_below(r->root, "/proc/self/status");
  for (int i = 0; limits && status && i < 2; i++) {
    double used, limit = find_limit(limits, all[i].limit);
    if (limit >= 0 && limit < UNLIMITED && find_number(status, all[i].used, &used))
      add(r, limit - 1024 * used, true, "%s", all[i].by);
  }
  if (limits) fclose(limits);
  if (status) fclose(status);
}

// ---- Control groups -----------------------------------------------------------------------------

typedef struct version {
  const char *mount, *limit, *usage;
  const char *cached[3];  // of memory.stat: what the system reclaims
} version;
static const version versions[] = {
    {"memory",
     "memory.limit_in_bytes",
     "memory.usage_in_bytes",
     {"total_inactive_file", "total_active_file", NULL}},
    {"unified",
     "memory.max",
     "memory.current",
     {"inactive_file", "active_file", "slab_reclaimable"}},
    {"", "memory.max", "memory.current", {"inactive_file", "active_file", "slab_reclaimable"}},
};

static bool read_file(const rooms *r, const version *v, const char *group, const char *name,
                      double *out) {
  char text[64] = "", *end = text;
  FILE *f = open_below(r->root, "/sys/fs/cgroup/%s%s/%s", v->mount, group, name);
  if (!f) return false;
  if (fgets(text, sizeof text, f)) *out = strtod(text, &end);
  fclose(f);
  return end > text;  // "max" is no number
}

static void read_group(rooms *r, const version *v, const char *group) {
  double limit = 0, used = 0, cached = 0, part;
  if (!read_file(r, v, group, v->limit, &limit) || limit >= UNLIMITED) return;
  if (!read_file(r, v, group, v->usage, &used)) return;
  FILE *f = open_below(r->root, "/sys/fs/cgroup/%s%s/memory.stat", v->mount, group);
  for (int i = 0; f && i < 3 && v->cached[i]; i++)
    if (find_number(f, v->cached[i], &part)) cached += part;
  if (f) fclose(f);
  if (cached > used) cached = used;
  add(r, limit - (used - cached), false, "the control group %.100s", *group ? group : "/");
}

// A group and those that it is within. In a container its path may be that of the machine, of which
// only the container's own part is there, as the root.
static void read_groups(rooms *r, const version *v, const char *path) {
  char group[MAX_PATH];
  snprintf(group, sizeof group, "%s", path);
  for (char *slash = strrchr(group, '/'); slash; slash = strrchr(group, '/')) {
    if (slash[1]) read_group(r, v, group);
    *slash = 0;
  }
  read_group(r, v, "");
}

static bool has_word(const char *list, const char *word) {
  size_t n = strlen(word);
  for (const char *p = list; (p = strstr(p, word)); p += n)
    if ((p == list || p[-1] == ',') && (!p[n] || p[n] == ',')) return true;
  return false;
}

// Lines "NUMBER:CONTROLLERS:PATH"; version 2 has the number 0 and no controllers.
static void read_cgroups(rooms *r) {
  char line[MAX_PATH];
  FILE *f = open_below(r->root, "/proc/self/cgroup");
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
    if (!path) continue;
    *names++ = *path++ = 0;
    if (has_word(names, "memory")) read_groups(r, &versions[0], path);
    for (int i = 1; i < 3 && !*names; i++) read_groups(r, &versions[i], path);
  }
  if (f) fclose(f);
}

// ---- All ----------------------------------------------------------------------------------------

int gr_room_read(const char *root, gr_room out[GR_MAX_ROOMS]) {
  rooms r = {.root = root, .list = out};
  read_machine(&r);
  read_process(&r);
  read_cgroups(&r);
  return r.n;
}

const gr_room *gr_room_least(const gr_room *all, int n, bool per_process) {
  assert(all || !n);
  const gr_room *least = NULL;
  for (const gr_room *r = all; r < all + n; r++)
    if (r->per_process == per_process && (!least || r->bytes < least->bytes)) least = r;
  return least;
}
