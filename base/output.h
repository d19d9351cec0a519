// output.h - writes the files of the product: whole files and logs. No other code opens a file for
// writing, creates or renames one (tools/style.py checks it).
//
// A whole file is written to a temporary file in the target's folder, which has no name until it is
// complete (or, on file systems without such files, an unpredictable one), and replaces the target
// by one rename, durably. So a reader never sees a part of it, an error leaves the old file
// unchanged, writers of the same file do not mix, and no link is followed to another file. The
// permissions of a file that is replaced are kept.
//
// A file's folder `dir` is as the user names it; in it, `name` may have folders of its own, and no
// symbolic link is followed: a link in place of a whole file is replaced, its target is unchanged,
// and a link in place of a log or of a folder is refused. Only regular files are replaced.
//
// Where `dir` is NULL the user names the file itself. Then a FIFO, a terminal, a device such as
// /dev/null, /dev/stdout and /dev/fd/N are written through. A file that is there and begins unlike
// what is written (output_kind.h) is the user's: it is kept, and that is an error when the output
// is closed. A symbolic link is followed to the file that it names, but in a folder where everyone
// may write only if it belongs to this user or to the folder's owner. Opening never waits: a FIFO
// that no process reads is refused.
//
// All functions fail with GR_ERR_IO.
#pragma once
#include "base/status.h"

typedef struct gr_output gr_output;
// Opens a file to write it whole; gr_output_close replaces the target by it.
GR_MUST_USE gr_status gr_output_open(const char *dir, const char *name, gr_output **out);
FILE *gr_output_stream(gr_output *);  // buffered; cannot seek; write errors show in gr_output_close
// Completes the file if `s` is GR_OK and nothing failed, and otherwise leaves the target unchanged.
// Returns `s`, or the first error of writing. Frees the output; NULL is fine.
GR_MUST_USE gr_status gr_output_close(gr_output *, gr_status s);
// The same of two files, `whole` of which says what is where in `part`; either may be NULL. A new
// one is never beside an old one of the other: the old `whole` goes before both get their names, so
// that a process that is killed there leaves no `whole`.
GR_MUST_USE gr_status gr_output_close_both(gr_output *part, gr_output *whole, gr_status s);
// Open, write and close in one.
GR_MUST_USE gr_status gr_output_write(const char *dir, const char *name, const void *,
                                      size_t bytes);

// A new folder that is written whole, as its files are: what is written to gr_output_folder_path, a
// folder beside it (".tmp-NAME"), takes the name `path` when gr_output_folder_close completes it.
// An error leaves nothing; what a killed process has left goes when the folder is opened again.
// GR_ERR_USAGE if something of that name is there.
typedef struct gr_output_folder gr_output_folder;
// Makes the folder beside it.
GR_MUST_USE gr_status gr_output_folder_open(const char *path, gr_output_folder **out);
const char *gr_output_folder_path(const gr_output_folder *);  // where its files are written
// As gr_output_close.
GR_MUST_USE gr_status gr_output_folder_close(gr_output_folder *, gr_status s);

// A log: a regular file, created if missing, that is written in place; every write appends. The
// caller closes it. Where `dir` is NULL, `name` is a path, whose last part may not be a link.
GR_MUST_USE gr_status gr_output_append(const char *dir, const char *name, int *out_fd);
// Writes all bytes to a descriptor; false: errno says why.
bool gr_output_put(int fd, const void *, size_t bytes);

// The error of a file that could not be written, with the hint for an errno (not 0). A caller that
// knows which setting names the folder adds its hint.
GR_MUST_USE gr_status gr_output_failed(const char *path, int error);
// The same of standard output.
GR_MUST_USE gr_status gr_output_lost(int error);

// For code that keeps an open folder. A descriptor, or -1 with errno: a new file, which fails if
// the name exists; a regular file to read and to write in place, created if missing.
int gr_output_new_at(int dir, const char *name);
int gr_output_update_at(int dir, const char *name);  // read and written in place

// Fault injection; NULL except in tests. Called before an operation ("unnamed", "create", "write",
// "fsync", "name", "close", "remove", "rename", "durable"); returns 0 or the errno to fail it with.
extern int (*gr_output_fault)(const char *op, const char *path);
