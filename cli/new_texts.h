// new_texts.h - texts as they are handed around, for `graphrun new NAME --from=DATA`: what no
// source of data reads becomes a file of the project that one does.
#pragma once
#include "cli/new_edit.h"

// Whether a line of JSON has a conversation (messages), or a text and nothing to predict.
bool gr_new_is_spoken(gr_arena *, const char *line, size_t n);
// Makes a project of lines that all are as the first one: of conversations each answer is a text to
// write for what was said before, texts alone are one text. GR_ERR_DATA: a line is not.
GR_MUST_USE gr_status gr_new_make_spoken(gr_new_own *, const char *path);
// Makes JSON lines of a list of objects, or of lines of them (.json): *file is in the project, and
// names files beside the other one by their paths. GR_ERR_USAGE: it is none.
GR_MUST_USE gr_status gr_new_unroll(gr_new_own *, const char *path, const char **file);
// *found: columns of a table are called as a task is (instruction, question, ...), and one as what
// is written for it (output, answer, ...): texts with a text to write for each.
GR_MUST_USE gr_status gr_new_find_task(gr_new_own *, const gr_csv *, bool *found);
// *found: files with one name but for their endings have as many lines: train.en, train.de. The
// path is a folder, or the one that is read.
GR_MUST_USE gr_status gr_new_find_parallel(gr_new_own *, const char *path, bool *found);
// *found: most files of a folder are texts (.txt, .md), which are one text; those of a split for
// validation are apart.
GR_MUST_USE gr_status gr_new_find_corpus(gr_new_own *, const char *dir, bool *found);
