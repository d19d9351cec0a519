// data.h - recordings with transcripts to batches of fixed shapes.
//
// A gr_data is what is trained on: utterances of a train and a validation part, their targets,
// and buckets (a length class has one static shape, so one plan). It is shared by any number
// of loaders, also of other ranks in this process. A gr_loader makes one rank's batches ahead
// of the step.
//
// The global order of an epoch is a function of (seed, epoch, batch size) and of nothing else.
// A global batch is `batch` rows of one bucket; what does not fill one takes the empty rows of
// the next bucket's last batch where they suffice. Rows without a sample weigh 0:
// features 0, length t, target length 0. Rank r has rows [r R, (r + 1) R) of every global
// batch, R = ceil(batch / ranks) or more if the loader is told; rows past `batch` weigh 0.
#pragma once
#include "runtime/data/speech/feature.h"
#include "runtime/data/speech/manifest.h"
#include "runtime/data/speech/vocab.h"

// -- What is trained on ------------------------------------------------------------------

typedef enum gr_data_part { GR_PART_TRAIN, GR_PART_VALIDATION } gr_data_part;

enum {
  GR_DATA_BUCKETS = 32,        // at most
  GR_DATA_FRAMES = 1 << 24,    // of a recording, at most
  GR_DATA_SECONDS = 4 * 3600,  // likewise
  GR_DATA_MULTIPLE = 1 << 16,  // of frame_multiple, at most
};

typedef struct gr_data_spec {
  const char *train;           // a manifest
  const char *validation;      // a manifest, or NULL: a share of train, by a hash of the name
  const char *root;            // of relative paths in them, or NULL: the manifest's own folder
  uint32_t limit;              // takes only the first so many of each manifest; 0: all
  double validation_fraction;  // of train, [0, 1); the split is the same on any machine
  const gr_vocab *vocab;
  gr_text_rules text;
  gr_feature_spec features;
  gr_augment augment;
  const int32_t *bounds;   // most frames of each bucket, rising; NULL: chosen so that
  int n_buckets;           // ... at most this many buckets waste the fewest frames
  int32_t frame_multiple;  // chosen bounds are rounded up to this; 0: 1
  int32_t max_frames;      // longer utterances are left out; 0: none is too long
  int32_t subsampling;     // > 0: utterances with more to say than ceil(frames / this) CTC
                           // steps hold are left out; 0: the loss deals with them
  bool skip_unreadable;    // a recording that cannot be read weighs 0 (counted), else an error
  size_t cache_bytes;      // of features kept in memory
} gr_data_spec;

typedef struct gr_data_bucket {
  int32_t frames;     // t: every utterance here has at most as many
  int32_t targets;    // u: likewise, at least 1
  uint32_t count[2];  // utterances of each gr_data_part
} gr_data_bucket;

// An utterance that is kept. Its number is its place in manifest order, train's first.
typedef struct gr_item {
  const gr_utterance *from;
  const char *manifest;    // its path
  const char *text;        // after the rules
  const int32_t *targets;  // [n_targets]
  int32_t n_targets, frames, bucket;
  gr_data_part part;
} gr_item;

typedef enum gr_skip {
  GR_SKIP_LONG,        // more frames than max_frames or the last bound
  GR_SKIP_DENSE,       // more targets than its frames hold (subsampling)
  GR_SKIP_UNKNOWN,     // a symbol not in the vocabulary
  GR_SKIP_EMPTY,       // an empty transcript
  GR_SKIP_UNREADABLE,  // audio missing, damaged or not as long as said; found while reading
  GR_SKIP_COUNT
} gr_skip;

typedef struct gr_data gr_data;
// Reads manifests and makes targets and buckets; reads no audio (but the heads of recordings
// whose duration is not said). Copies what it needs of the spec but the paths and
// the vocabulary, which must outlive it. Fails with GR_ERR_DATA and file:line:col.
GR_MUST_USE gr_status gr_data_open(const gr_data_spec *, gr_data **out);
void gr_data_close(gr_data *);  // after its loaders

const gr_data_bucket *gr_data_buckets(const gr_data *, int *n);  // none is empty; frames rise
uint32_t gr_data_count(const gr_data *);                         // utterances of both parts
const gr_item *gr_data_item(const gr_data *, uint32_t utterance);
uint64_t gr_data_skipped(gr_data *, gr_skip);
size_t gr_data_cached(gr_data *);  // bytes of features kept in memory, so far
// "file:line:col: reason" of an unreadable one that was left out, in the order in which they were
// found; NULL beyond the last.
const char *gr_data_unreadable(gr_data *, uint64_t i);
// Opens and decodes every recording that is kept, in all threads of the machine. With
// skip_unreadable bad ones are counted and listed, in manifest order, else the first is the error.
// Before loaders.
GR_MUST_USE gr_status gr_data_read_all(gr_data *);
// One line: "31 of 568 utterances left out: 27 longer than 1000 frames, 4 ...". False: none.
bool gr_data_skipped_line(gr_data *, gr_text *);
// Batches of an epoch, the same in each.
uint32_t gr_data_batches(const gr_data *, gr_data_part, int batch);
// A hash of what an utterance is: its name, text, frames and part, and with_file the size of its
// recording, which costs a look at the file. Ranks compare them.
uint64_t gr_data_fingerprint(const gr_data *, uint32_t utterance, bool with_file);
// The same in words: path, size, frames, text.
void gr_data_describe(const gr_data *, uint32_t utterance, gr_text *);
// What `graphrun data inspect` prints: counts, hours, symbols, lengths, how full buckets are.
void gr_data_inspect(gr_data *, int batch, gr_text *);

// -- Batches -----------------------------------------------------------------------------

#define GR_NO_UTTERANCE UINT32_MAX

typedef struct gr_batch {
  int bucket;
  int rows;                       // of this rank: n
  int32_t t, mels, u;             // static per bucket
  const float *features;          // [n, t, mels], 0 past the length
  const int32_t *lengths;         // [n] frames
  const int32_t *targets;         // [n, u], 0 past the target length
  const int32_t *target_lengths;  // [n]
  const float *weight;            // [n] 1: a sample, 0: padding
  const uint32_t *utterances;     // [n] or GR_NO_UTTERANCE
  uint32_t epoch, index, of;      // this is batch `index` of the epoch's `of`
  uint32_t samples;               // of weight 1 in the global batch, unless unreadable
} gr_batch;

// The same arrays by name, to bind to a graph's inputs: features, lengths, targets,
// target_lengths, weight.
typedef enum gr_field_type { GR_FIELD_F32, GR_FIELD_I32 } gr_field_type;
typedef struct gr_field {
  const char *name;
  gr_field_type type;
  int rank;  // 1 to 3
  int64_t dims[3];
  const void *at;
  size_t bytes;
} gr_field;
enum { GR_FIELDS = 5 };
void gr_batch_fields(const gr_batch *, gr_field out[GR_FIELDS]);
// The shapes alone (at is NULL), for a plan: `rows` rows of that bucket.
void gr_data_fields(const gr_data *, int bucket, int rows, gr_field out[GR_FIELDS]);

typedef struct gr_loader_spec {
  gr_data_part part;
  int batch;  // rows of the global batch
  int rows;   // of each rank, if more than ceil(batch / ranks)
  int rank, ranks;
  uint64_t seed;
  bool shuffle;  // else bucket by bucket in manifest order, in every epoch
  bool augment;
  uint32_t epoch, first;  // starts at this batch of this epoch; first may be the epoch's count
  uint32_t epochs;        // how many, with the first; 0: no end
  int workers;            // threads; 0: gr_loader_next does the work
  int prefetch;           // batches made ahead, at least 1
} gr_loader_spec;

typedef struct gr_loader gr_loader;
int gr_loader_rows(const gr_loader_spec *);  // of each rank
GR_MUST_USE gr_status gr_loader_open(gr_data *, const gr_loader_spec *, gr_loader **out);
// The next batch, NULL after the last. It is the loader's, until the next call. An error of a
// worker comes here, at the batch it belongs to; the loader is then only good to be closed.
GR_MUST_USE gr_status gr_loader_next(gr_loader *, const gr_batch **out);
// Seconds the caller has waited for batches so far.
double gr_loader_waited(const gr_loader *);
void gr_loader_close(gr_loader *);  // joins the workers; NULL is let be
