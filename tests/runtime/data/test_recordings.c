// test_recordings.c - recordings with classes: of folders, CSV lists, manifests and Parquet files;
// and what is wrong with them.
#include <sys/stat.h>
#include "runtime/data/loader.h"
#include "tests/runtime/data/fixture.h"

static void folder(const char *name) { (void)mkdir(fixture_path("%s", name), 0777); }
static void wav(const char *name, int samples) {
  fixture_wav(fixture_path("%s", name), 8000, 1, samples, (unsigned)samples);
}

// A data set of recordings of a few frames each, in one bucket, without validation.
static fixture_data of_path(const char *path) {
  fixture_data f = fixture_spec(path);
  f.speech.vocab = NULL, f.speech.keys.label = "label";
  f.options.n_buckets = 1;
  return f;
}
static fixture_data of_file(const char *name, const char *text) {
  const char *path = fixture_path("%s", name);
  fixture_text(path, text);
  return of_path(path);
}

// The recordings of a split: "cat/a.wav=0/11 " with their classes and frames, in their order.
static const char *batch_of(gr_dataset *d, gr_split split) {
  static char out[600];
  gr_loader_spec spec = {.split = split, .batch = 16, .ranks = 1, .epochs = 1, .prefetch = 1};
  gr_arena *a = gr_arena_create();
  gr_loader *l;
  const gr_batch *b;
  gr_type t;
  size_t n = 0;
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, &b));
  CHECK(b->n_fields == 5, "%d fields", b->n_fields);
  const int32_t *lengths = fixture_field(b, "lengths", &t), *y = fixture_field(b, "y", &t);
  for (uint32_t k = 0; k < d->count; k++)
    for (int i = 0; i < b->rows; i++)
      if (b->sample[i] == k && ((const float *)b->field[4].data)[i] > 0)
        n += (size_t)snprintf(out + n, sizeof out - n, "%s=%d/%d ", gr_dataset_sample_name(a, d, k),
                              y[i], lengths[i]);
  out[n] = 0;
  gr_loader_close(l);
  gr_arena_destroy(a);
  return out;
}

static void lists(const fixture_data *f, const char *train, const char *validation) {
  gr_dataset *d;
  MUST(fixture_open(f, &d));
  const char *found = batch_of(d, GR_SPLIT_TRAIN);
  CHECK(!strcmp(found, train), "'%s', not '%s'", found, train);
  if (validation) found = batch_of(d, GR_SPLIT_VALIDATION);
  CHECK(!validation || !strcmp(found, validation), "'%s', not '%s'", found, validation);
  gr_dataset_close(d);
}

// cat of two recordings, one in a folder in it, and dog of one.
static void make_animals(const char *root) {
  static const char *const names[] = {"", "/cat", "/cat/old", "/dog"};
  for (int i = 0; i < 4; i++) {
    const char *path = fixture_path("%s%s", root, names[i]);
    (void)mkdir(path, 0777);
  }
  fixture_wav(fixture_path("%s/cat/b.wav", root), 8000, 1, 800, 1);
  fixture_wav(fixture_path("%s/cat/old/a.WAV", root), 8000, 1, 1600, 2);
  fixture_wav(fixture_path("%s/dog/a.wav", root), 8000, 1, 2400, 3);
}

static void reads_folders(void) {
  gr_metadata meta[GR_MAX_METADATA];
  gr_dataset *d;
  make_animals("animals");
  fixture_data f = of_path(fixture_path("animals/"));
  f.speech.augment = (gr_augment){0};
  lists(&f, "cat/b.wav=0/11 cat/old/a.WAV=0/21 dog/a.wav=1/31 ", NULL);
  folder("animals/_background_noise_");
  wav("animals/_background_noise_/rain.wav", 8000);
  fixture_text(fixture_path("animals/dog/notes.txt"), "");
  MUST(fixture_open(&f, &d));
  CHECK(gr_dataset_samples(d) == 3 && fixture_skipped(d, GR_SPEECH_OTHER) == 2, "%u, without %d",
        gr_dataset_samples(d), (int)fixture_skipped(d, GR_SPEECH_OTHER));
  CHECK(gr_dataset_metadata(d, meta) == 2 && meta[0].value == 2 && meta[1].value == 8, "metadata");
  CHECK(!strcmp(meta[0].name, "classes") && !strcmp(meta[1].name, "mels"), "their names");
  CHECK(!gr_dataset_has_texts(d), "classes are no texts");
  gr_dataset_close(d);
  f.speech.validation = fixture_path("others"), f.options.limit = 1;  // of each class
  make_animals("others");
  lists(&f, "cat/b.wav=0/11 dog/a.wav=1/31 ", "cat/b.wav=0/11 dog/a.wav=1/31 ");
}

// What a file is its bytes say; its name says whether it is a recording.
static void reads_other_names(void) {
  static const char *const names[] = {"a.flac", "b.mp3", "c.ogg", "d.opus", "e.WAV"};
  folder("named"), folder("named/x"), folder("named/y");
  for (int i = 0; i < 5; i++)
    fixture_wav(fixture_path("named/%s/%s", i % 2 ? "x" : "y", names[i]), 8000, 1, 800, 1);
  const fixture_data f = of_path(fixture_path("named"));
  lists(&f, "x/b.mp3=0/11 x/d.opus=0/11 y/a.flac=1/11 y/c.ogg=1/11 y/e.WAV=1/11 ", NULL);
}

// The longest recordings are left out, and samples keep their classes.
static void leaves_out_long_ones(void) {
  make_animals("animals");
  fixture_data f = of_path(fixture_path("animals"));
  f.speech.max_frames = 22;
  wav("animals/dog/b.wav", 900);
  lists(&f, "cat/b.wav=0/11 cat/old/a.WAV=0/21 dog/b.wav=1/12 ", NULL);
  f.options.skip_unreadable = true;
  fixture_text(fixture_path("animals/cat/b.wav"), "no recording");
  lists(&f, "cat/old/a.WAV=0/21 dog/b.wav=1/12 ", NULL);
  f.speech.features.length = 800;  // all are cut or padded to it
  lists(&f, "cat/old/a.WAV=0/11 dog/b.wav=1/11 ", NULL);
  fixture_text(fixture_path("animals/cat/old/a.WAV"), "no recording");
  lists(&f, "dog/b.wav=1/11 ", NULL);
}

static void reads_lists(void) {
  gr_dataset *d;
  wav("a.wav", 800), wav("b.wav", 1600), wav("c.wav", 2400);
  fixture_data f = of_file(
      "list.csv", "label,path,split,weight\n10,a.wav,0,2\n9,b.wav,val,1\n10,c.wav,train,0\n");
  lists(&f, "a.wav=1/11 c.wav=1/31 ", "b.wav=0/21 ");
  MUST(fixture_open(&f, &d));
  CHECK(d->weights && d->samples[0].weight == 2 && d->samples[2].weight == 0, "weights");
  CHECK(gr_dataset_place(d, 1).line == 3, "line %d", gr_dataset_place(d, 1).line);
  gr_dataset_close(d);
  f = of_file("list.tsv", "path\tlabel\na.wav\tcat, old\nb.wav\tdog\n");
  lists(&f, "a.wav=0/11 b.wav=1/21 ", NULL);
  folder("elsewhere");
  f = of_file("elsewhere/list.csv", "path,kind\na.wav,x\nb.wav,y\n");
  f.speech.keys.label = "kind", f.speech.keys.root = fixture_path("%s", "");
  lists(&f, "a.wav=0/11 b.wav=1/21 ", NULL);
}

// As many of each class in an epoch, where all are in one bucket.
static void draws_from_one_bucket(void) {
  gr_dataset *d = NULL;
  wav("a.wav", 800), wav("b.wav", 1600), wav("c.wav", 2400);
  fixture_data f =
      of_file("named.csv", "file_name,label,weight\na.wav,x,1\nb.wav,x,1\nc.wav,y,1\n");
  f.options.sampler = GR_SAMPLER_BALANCED;
  f.speech.augment = (gr_augment){0};
  lists(&f, "a.wav=0/11 b.wav=0/21 c.wav=1/31 ", NULL);
  f.options.n_buckets = 2;
  for (int k = 0; k < 2; k++) {
    f.options.sampler = k ? GR_SAMPLER_WEIGHTED : GR_SAMPLER_BALANCED;
    fixture_fails(fixture_open(&f, &d), GR_ERR_CONFIG, 0,
                  "data.sampler draws from one bucket, and utterances are in 2 by their length");
  }
}

static void reads_manifests(void) {
  wav("a.wav", 800), wav("b.wav", 1600), wav("c.wav", 2400);
  fixture_data f = of_file("m.jsonl",
                           "{\"audio_path\": \"a.wav\", \"label\": 10}\n"
                           "{\"audio_path\": \"b.wav\", \"label\": 9, \"text\": \"X\"}\n"
                           "{\"audio_path\": \"c.wav\", \"label\": 9, \"duration\": 0.3}\n");
  lists(&f, "a.wav=1/11 b.wav=0/21 c.wav=0/31 ", NULL);
  f.options.limit = 2;
  f.speech.validation = fixture_path("v.jsonl");
  fixture_text(f.speech.validation, "{\"audio_path\": \"c.wav\", \"label\": \"9\"}\n");
  lists(&f, "a.wav=0/11 b.wav=1/21 ", "c.wav=1/31 ");  // now classes are texts
}

// Numbers of speakers, or texts; rows of two files.
static void reads_parquet(void) {
  gr_dataset *d;
  fixture_data f = of_path(GR_GOLDEN "/parquet_samples/speech-[01].parquet");
  f.speech.keys.label = "speaker";
  MUST(fixture_open(&f, &d));
  CHECK(d->classes->n == 2 && !strcmp(d->classes->names[1], "1"), "%d classes", d->classes->n);
  for (uint32_t i = 0; i < 16; i++)
    CHECK(d->samples[i].label == 1 + (int)i % 2, "class %d of row %u", d->samples[i].label, i);
  gr_dataset_close(d);
  f.speech.keys.label = "sentence";
  MUST(fixture_open(&f, &d));
  CHECK(d->classes->n == 4 && !strcmp(d->classes->names[2], "ab ca"), "%s", d->classes->names[2]);
  gr_dataset_close(d);
}

// Files to predict have no classes; those of the run have names.
static void reads_inputs(void) {
  static const char record[] = "{\"class_names\": [\"cat\", \"dog\"]}";
  gr_arena *a = gr_arena_create();
  gr_json_error why;
  const gr_json *json = NULL;
  void *self = NULL;
  gr_unreadable unreadable = {.samples = "recordings"};
  gr_omitted skipped[GR_MAX_SKIPS] = {{0}}, limited = {0};
  wav("a.wav", 800);
  fixture_text(fixture_path("in.jsonl"), "{\"audio_path\": \"a.wav\"}\n");
  const char *inputs[] = {fixture_path("a.wav"), fixture_path("in.jsonl"),
                          GR_GOLDEN "/parquet_samples/speech-0.parquet"};
  fixture_data f = of_path("nowhere");
  CHECK(gr_json_read(a, record, strlen(record), &json, &why), "the record");
  gr_source_request r = {.ops = &gr_source_speech,
                         .arena = a,
                         .spec = &f.speech,
                         .inputs = inputs,
                         .n_inputs = 3,
                         .predicts = true,
                         .record = json,
                         .unreadable = &unreadable,
                         .skipped = skipped,
                         .limited = &limited};
  gr_unreadable_open(&unreadable);
  MUST(gr_source_speech.open(&r, &self));
  const gr_classes *c = gr_source_speech.classes(self);
  gr_text t = gr_text_make(a);
  gr_source_speech.decode(self, (const int32_t[]){1, 0}, 2, &t);
  CHECK(gr_source_speech.count(self) == 10 && c->n == 2, "%u", gr_source_speech.count(self));
  CHECK(!gr_source_speech.info(self, 1).label && !strcmp(t.chars, "dog cat"), "'%s'", t.chars);
  gr_source_speech.close(self);
  gr_unreadable_close(&unreadable);
  gr_arena_destroy(a);
}

// ---- Errors -------------------------------------------------------------------------------------

static void refuses(const fixture_data *f, int line, const char *part) {
  gr_dataset *d = NULL;
  fixture_fails(fixture_open(f, &d), GR_ERR_DATA, line, part);
}

static void refuses_lists(void) {
  wav("a.wav", 800), wav("b.wav", 1600);
  fixture_data f = of_file("list.csv", "path,kind\na.wav,1\n");
  refuses(&f, 1, "the list of recordings has no column 'label'");
  f = fixture_spec(f.speech.train);
  refuses(&f, 0, "is a table, and recordings with transcripts are listed by a manifest");
  f = of_file("list.csv", "path,label\na.wav,cat\nb.wav,cat\n");
  refuses(&f, 0, "all 2 recordings are of one class, 'cat'");
  f = of_file("list.csv", "path,label,split\na.wav,cat,0\nb.wav,dog,1\n");
  f.speech.validation = f.speech.train;
  refuses(&f, 1, "data.speech.eval_manifest both say what is for validation");
  f = of_file("list.csv", "path,label\na.wav,cat\na.wav,dog\n");
  refuses(&f, 3, "'a.wav' has the label 'dog' here, and 'cat' in ");
  f = of_file("list.csv", "path,label\na.wav,0.5\nb.wav,1\n");
  refuses(&f, 1, "labels of the list of recordings are numbers with fractions");
  f = of_file("list.csv", "path,label\na.wav,cat\nc.ogg,dog\n");
  refuses(&f, 3, "c.ogg'");
}

static void refuses_manifests(void) {
  wav("a.wav", 800);
  fixture_data f = of_file("m.jsonl", "{\"audio_path\": \"a.wav\", \"text\": \"A\"}\n");
  refuses(&f, 1, "the key \"label\" is missing");
  f = of_file("m.jsonl", "{\"audio_path\": \"a.wav\", \"label\": \"\"}\n");
  refuses(&f, 1, "the key \"label\" is empty");
  f = of_file("m.jsonl", "{\"audio_path\": \"a.wav\", \"label\": 0.5}\n");
  refuses(&f, 1, "expected text in double quotes or a whole number as the value of \"label\"");
  f = of_path(GR_GOLDEN "/parquet_samples/speech-0.parquet");
  refuses(&f, 0, "has no column 'label'");
  f.speech.keys.label = "audio.bytes";
  refuses(&f, 0, "the column 'audio.bytes' of");
}

static void refuses_folders(void) {
  folder("few"), folder("few/cat");
  fixture_data f = of_path(fixture_path("few"));
  refuses(&f, 0, "few' has no folders with recordings");
  fixture_text(fixture_path("few/cat/a.m4a"), "");
  refuses(&f, 0, "few' has no recordings that are read: ");
  wav("few/cat/a.wav", 800);
  refuses(&f, 0, "all 1 recordings are of one class, 'cat'");
  f = fixture_spec(f.speech.train);
  refuses(&f, 0, "few' is a folder, and recordings with transcripts are listed by a manifest");
  make_animals("animals");
  f = of_path(fixture_path("animals")), f.speech.keys.root = "/tmp";
  gr_dataset *d = NULL;
  fixture_fails(fixture_open(&f, &d), GR_ERR_CONFIG, 0, "data.speech.root has no effect");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"reads_folders", reads_folders}, {"reads_other_names", reads_other_names},
             {"leaves_out_long_ones", leaves_out_long_ones}, {"reads_lists", reads_lists},
             {"draws_from_one_bucket", draws_from_one_bucket}, {"reads_manifests", reads_manifests},
             {"reads_parquet", reads_parquet}, {"reads_inputs", reads_inputs},
             {"refuses_lists", refuses_lists}, {"refuses_manifests", refuses_manifests},
             {"refuses_folders", refuses_folders});
}
