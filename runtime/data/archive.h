// archive.h - data sets in .tar files, as WebDataset writes them: members whose names are the same
// up to the first dot of their last part are one sample, and are side by side.
//
//   0001.jpg 0001.cls 0001.json 0002.jpg ...
//
// The format is POSIX's ustar and pax, with GNU's long names. Members stay in the archive, which is
// mapped while one is used.
#pragma once
#include "base/text.h"
#include "runtime/data/mapping.h"

// Where the bytes of a member are; archive NULL: it is a file of its own.
typedef struct gr_member {
  const char *archive;
  uint64_t offset, bytes;
} gr_member;

bool gr_archive_named(const char *path);  // whether a path or a pattern names .tar files

// Lists an archive's samples in the arena, as lines of JSON without line breaks in them, one for
// each, that end in LF:
//
//   "KEY"          the name of the sample's one image, recording or video (KEY is `file`), and
//                  "KEY.offset", "KEY.bytes": where it is
//   "mask", ...    likewise, of a member .mask.png or .seg.png (any ending of images)
//   "label"        what is in .cls, a whole number or a text; "text": in .txt
//   others         the members of the object in .json that are not called as one above; and of
//                  each member with another ending that ending, with its name
//
// GR_ERR_DATA: it is damaged or cut short, or has links, names without endings, members of a sample
// that are apart, or a sample with two of these files.
GR_MUST_USE gr_status gr_archive_lines(gr_arena *, const char *path, const char *file, char **out,
                                       size_t *n);

// Maps the archive of a member, and points at its bytes; `path` is for messages, as for a file. Its
// mapping is checked after reading, and closed. GR_ERR_DATA: it is not there any more.
GR_MUST_USE gr_status gr_member_open(const gr_member *, const char *path, gr_mapping *map,
                                     const unsigned char **out);
