// file.h - opens files that a user names: regular files only, so opening never blocks.
//
// Opening a FIFO waits for a writer, reading a terminal waits for input, and opening a device
// may have side effects. All code that reads a user's file opens it through these functions.
#pragma once
#include "base/status.h"

// The kind of a file that is not regular, for messages: "a folder", "a FIFO", "a socket", ...; NULL
// if it is regular or does not exist.
const char *gr_file_kind(const char *path);
const char *gr_file_mode_kind(unsigned mode);  // by the mode of its status

// Opens a regular file for reading, as a descriptor or as a stream; symbolic links are followed.
// Fails with `code`, naming the path and what is there instead. The caller closes it.
GR_MUST_USE gr_status gr_file_open(const char *path, gr_code code, int *out_fd);
// The same as a stream, for fclose.
GR_MUST_USE gr_status gr_file_stream(const char *path, gr_code code, FILE **out);

// Replaces an open folder by one in it, of the first `len` characters of the name; "" is itself.
// false: errno says why, ELOOP that it is a symbolic link. The folder is then as before.
bool gr_file_enter(int *dir, const char *name, size_t len);
// Opens a regular file that another file, which is not trusted, says is in the folder `dir`, by a
// path that may name folders there, but neither ".." nor a symbolic link.
GR_MUST_USE gr_status gr_file_open_below(const char *dir, const char *path, gr_code code,
                                         int *out_fd);
