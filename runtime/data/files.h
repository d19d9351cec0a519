// files.h - goes through the files of a data set on many threads: looks at the head of each before
// any is needed, or reads all of them. Meanwhile the calling thread's work (base/work.h) is
// "looking for 12000 files: 35 %".
#pragma once
#include "base/status.h"

// What is wrong with file `i`; GR_OK: nothing. Many threads call it at once.
typedef gr_status gr_file_look(void *self, uint32_t i);

typedef struct gr_files {
  const char *verb, *noun;  // of the work: "looking for", "files"
  uint32_t n;               // files, numbered from 0
  uint32_t part, parts;     // this process looks at files part, part + parts, ...; parts 0: all
  int threads;              // at most; 0: one for each processor
  gr_file_look *look;
  void *self;
} gr_files;

// Threads for heads: on a file system of a network each file is a wait.
enum { GR_FILES_WAIT = 16 };

// Looks at each file of the part. Returns the error of the first that has one, whatever the timing;
// GR_ERR_STOPPED if the process is asked to stop.
GR_MUST_USE gr_status gr_files_look(const gr_files *);
// Whether each of n paths is a regular file that can be opened: GR_ERR_DATA of gr_file_open if not.
// A source that opens several files one after the other asks this first.
GR_MUST_USE gr_status gr_files_there(const char *const *paths, int n);
