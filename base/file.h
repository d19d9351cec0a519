// file.h - opening the files that a user names: regular files only, and never a wait.
//
// Opening a FIFO waits for a writer, reading a terminal waits for a person, and opening a device
// may have effects. So everything that reads a user's file opens it here.
#pragma once
#include "base/status.h"

// What there is at `path` that is not a regular file: "a folder", "a FIFO", "a socket", ...; NULL
// where there is a regular file, or nothing.
const char *gr_file_kind(const char *path);

// Opens a regular file to read; symbolic links are followed. Fails with `code`, naming the path
// and what is there instead. The caller closes the file.
GR_MUST_USE gr_status gr_file_open(const char *path, gr_code code, int *out_fd);
GR_MUST_USE gr_status gr_file_stream(const char *path, gr_code code, FILE **out);  // the same
