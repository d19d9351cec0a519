// identity.h - what the results of a run depend on: its configuration but for keys that change
// nothing that is computed (gr_schema_is_neutral), and the contents of its model, hooks and data.
// The job makes it (job/identity.h), and the folder, checkpoints and results of a run hold it.
//
// Its text is a JSON object with the members "config", of keys, and "contents", of files and data,
// whose values are texts: {"config": {"training.lr": "0.001"}, "contents": {"model.graph": "..."}}.
#pragma once
#include "base/text.h"

#define GR_IDENTITY_NAME "identity.json"
enum { GR_IDENTITY_HASH = 17, GR_IDENTITY_BYTES = 16 << 20 };

typedef enum gr_identity_part {
  GR_IDENTITY_CONFIG,  // the values of keys
  GR_IDENTITY_DATA,    // the contents of the data
  GR_IDENTITY_ALL,
} gr_identity_part;

// The hash of an identity, 16 hexadecimal digits.
void gr_identity_hash(const char *identity, char out[GR_IDENTITY_HASH]);
// Appends "NAME is IS, was WAS" for each difference, joined by "; ", at most 8 of a part, and
// returns how many there are. Names that only one of the two has are not compared: every version
// writes all that it knows. -1: one of the two is no identity.
int gr_identity_compare(const char *recorded, const char *current, gr_identity_part, gr_text *out);
// The identity that a run's folder holds, in the arena; NULL: none. GR_ERR_IO.
GR_MUST_USE gr_status gr_identity_read(gr_arena *, const char *dir, const char **out);
// Fails with GR_ERR_CHECKPOINT if `recorded`, of the run in `place`, differs; names the differences
// and what can be done. checkpoint: the path of one to go on from, or NULL.
GR_MUST_USE gr_status gr_identity_check(const char *place, const char *checkpoint,
                                        const char *recorded, const char *current,
                                        gr_identity_part);
// The same error, for differences that are found in another way.
GR_MUST_USE gr_status gr_identity_refuse(const char *place, const char *checkpoint,
                                         const char *differences);
