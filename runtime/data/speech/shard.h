// shard.h - recordings with transcripts or classes in Parquet files, as Hugging Face's datasets
// writes them: a column struct{bytes, path}, and one of texts or of classes. Recordings stay in the
// file: the page that has one is read when it is used.
#pragma once
#include "base/text.h"
#include "runtime/data/parquet/packed.h"
#include "runtime/data/speech/audio.h"
#include "runtime/data/speech/manifest.h"

// The head and the samples of an item's recording, a file of its own or a member of an archive, as
// gr_audio_probe and gr_audio_read have them.
GR_MUST_USE gr_status gr_recording_probe(const gr_utterance *, gr_audio_info *out);
// The caller frees *out.
GR_MUST_USE gr_status gr_recording_read(const gr_utterance *, int rate, uint64_t most, float **out,
                                        uint64_t *samples);

// Lists the rows of the files that a path or a pattern names, in the order of their bytes. A row's
// name is its path, where no row before has it, else that and its number; its transcript is in the
// column of the keys, or the first there is of text, sentence, transcription and transcript. keys:
// NULL: that one. Fails with GR_ERR_DATA, with the file and the row. gr_shards_close follows in any
// case, after the end of the kept pages, which are borrowed.
GR_MUST_USE gr_status gr_shards_read(gr_arena *, const char *path, const gr_manifest_keys *,
                                     gr_kept_pages *, gr_manifest *out);
// Appends a line where so many bytes do not hold all pages of recordings: they are unpacked again.
void gr_shards_notes(const gr_manifest *, size_t cache_bytes, gr_text *);
void gr_shards_close(gr_manifest *);            // closes the files; of a manifest, nothing
uint32_t gr_shards_pages(const gr_manifest *);  // of recordings, of all files

// A page of recordings: items first, first + 1, ...
typedef struct gr_shard_page {
  uint32_t first, n;
  const gr_parquet_reader *reader;
  const gr_packed *of;
  gr_kept_page *page;  // NULL: it is released
} gr_shard_page;

// Reads page i of gr_shards_pages. Fails with GR_ERR_DATA.
GR_MUST_USE gr_status gr_shard_page_open(const gr_manifest *, uint32_t i, gr_shard_page *out);
// Reads the head of the recording of its item k, and its size. Fails as gr_audio_probe.
GR_MUST_USE gr_status gr_shard_page_probe(const gr_shard_page *, const gr_utterance *, uint32_t k,
                                          gr_audio_info *out, size_t *bytes);
// Releases it; may be called twice.
void gr_shard_page_close(gr_shard_page *);
// Reads the whole recording of an item that has a shard, as gr_audio_read; the caller frees *out.
GR_MUST_USE gr_status gr_shard_load(const gr_utterance *, int rate, float **out, uint64_t *samples);
