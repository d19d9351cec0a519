// identity_keys.c - every key of the schema decides whether it is a part of a run's identity: it is
// neutral (GR_NEUTRAL), or it is listed here because it changes what is computed. A new key fails
// this test until it is one of the two.
#include "compose/schema/schema.h"
#include "tests/check.h"

static const char *const counting[] = {
    "model.graph",
    "model.params",
    "model.init_from",
    "model.freeze",
    "model.lora",
    "training.batch_size",
    "training.batch_is",
    "model.inputs",
    "model.loss",
    "model.metrics",
    "model.teacher.graph",
    "model.teacher.params",
    "model.teacher.init_from",
    "model.teacher.match",
    "model.teacher.mask",
    "model.teacher.temperature",
    "model.teacher.weight",
    "model.teacher.precision",
    "data.speech.text.column",
    "training.lr",
    "training.lr_scale",
    "training.warmup_steps",
    "training.optimizer",
    "training.optimizer_params",
    "training.weight_decay",
    "training.betas",
    "training.eps",
    "training.momentum",
    "training.grad_clip",
    "training.grad_clip_value",
    "training.groups",
    "training.adjustable",
    "training.freezable",
    "training.ema_decay",
    "training.decay_biases_and_norms",
    "training.loss_norm",
    "training.numerics",
    "training.virtual_shards",
    "training.precision",
    "training.mixed_precision",
    "training.precision_rules",
    "training.loss_scale.init",
    "training.loss_scale.growth_factor",
    "training.loss_scale.backoff_factor",
    "training.loss_scale.growth_interval",
    "training.loss_scale.min",
    "training.seed",
    "training.eval_every",
    "training.text_metrics",
    "training.spelling",
    "loop",
    "generation.max_tokens",
    "generation.temperature",
    "generation.top_k",
    "generation.top_p",
    "generation.beams",
    "generation.length_penalty",
    "generation.end",
    "generation.suppress",
    "distributed.reduce_dtype",
    "distributed.sync_batchnorm",
    "data.source",
    "data.validation_fraction",
    "data.validation_fold",
    "data.limit",
    "data.skip_unreadable",
    "data.sampler",
    "data.sampler_weights",
    "data.tokenizer",
    "data.tokenizer_pattern",
    "data.tokenizer_special",
    "data.tokenizer_template",
    "data.transforms",
    "data.views",
    "data.buckets",
    "data.frame_multiple",
    "data.speech.manifest",
    "data.speech.eval_manifest",
    "data.speech.root",
    "data.speech.label",
    "data.speech.sample_rate",
    "data.speech.vocab",
    "data.speech.blank",
    "data.speech.max_seconds",
    "data.speech.features.mel_scale",
    "data.speech.features.mel_norm",
    "data.speech.features.level",
    "data.speech.features.range",
    "data.speech.features.offset",
    "data.speech.features.scale",
    "data.speech.features.seconds",
    "data.speech.features.last_frame",
    "data.speech.subsampling",
    "data.speech.text.case",
    "data.speech.text.prefix",
    "data.speech.text.suffix",
    "data.speech.text.spaces",
    "data.speech.text.drops",
    "data.speech.text.unknown",
    "data.speech.features.n_fft",
    "data.speech.features.window",
    "data.speech.features.hop",
    "data.speech.features.mels",
    "data.speech.features.fmin",
    "data.speech.features.fmax",
    "data.speech.features.normalize",
    "data.speech.augment.freq_masks",
    "data.speech.augment.freq_width",
    "data.speech.augment.time_masks",
    "data.speech.augment.time_width",
    "data.speech.augment.time_warp",
    "data.speech.augment.time_share",
    "data.table.path",
    "data.table.eval_path",
    "data.table.features",
    "data.table.one_hot",
    "data.table.ids",
    "data.table.inputs",
    "data.table.label",
    "data.table.label_is",
    "data.table.label_missing",
    "data.table.split",
    "data.table.dtype",
    "data.table.normalize",
    "data.table.window",
    "data.table.stride",
    "data.table.window_label",
    "data.table.series",
    "data.table.channels",
    "data.table.delimiter",
    "data.table.label_separator",
    "data.table.label_missing",
    "data.table.encoding",
    "data.table.on_bad_cell",
    "data.table.header",
    "data.corpus.path",
    "data.corpus.eval_path",
    "data.corpus.vocab",
    "data.corpus.context",
    "data.corpus.shift",
    "data.texts.path",
    "data.texts.eval_path",
    "data.texts.text",
    "data.texts.label",
    "data.texts.target",
    "data.texts.prefix",
    "data.texts.suffix",
    "data.texts.max_target_tokens",
    "data.texts.split",
    "data.texts.max_tokens",
    "data.texts.delimiter",
    "data.texts.header",
    "data.texts.encoding",
    "data.image.path",
    "data.image.eval_path",
    "data.image.masks",
    "data.image.eval_masks",
    "data.image.mask_values",
    "data.image.mask_ignore",
    "data.image.label",
    "data.image.label_is",
    "data.image.label_missing",
    "data.image.label_separator",
    "data.image.size",
    "data.image.resize",
    "data.image.color",
    "data.image.decode",
    "data.video.path",
    "data.video.size",
    "data.video.color",
    "data.video.frames",
    "data.video.stride",
    "data.market.path",
    "data.market.tickers",
    "data.market.features",
    "data.market.period",
    "data.market.turbulence_days",
    "data.market.turbulence_limit",
    "hooks",
    "hooks_params",
    "checkpoint.metric",
    "checkpoint.mode",
};
static const char *const neutral[] = {
#define GR_NEUTRAL(...) __VA_ARGS__,
#include "compose/schema/schema.def"
};

static bool is_listed(const char *path) {
  for (size_t i = 0; i < sizeof counting / sizeof *counting; i++)
    if (!strcmp(counting[i], path)) return true;
  return false;
}

// Names that only follow another key have its decision.
static void every_key_decides(void) {
  for (int i = 0; i < gr_schema_count; i++) {
    const gr_schema_key *k = &gr_schema_keys[i];
    if (k->alias_of) continue;
    CHECK(gr_schema_is_neutral(k->path) != is_listed(k->path),
          "%s: does it change what a run computes? No: list it in GR_NEUTRAL; yes: list it here",
          k->path);
  }
  for (size_t i = 0; i < sizeof counting / sizeof *counting; i++)
    CHECK(gr_schema_find(counting[i]), "%s is no key", counting[i]);
}

static bool covers(const char *entry, const char *path) {
  size_t n = strlen(entry);
  return !strncmp(entry, path, n) && (entry[n - 1] == '.' || !path[n] || path[n] == '.');
}

static void no_entry_is_idle(void) {
  for (size_t i = 0; i < sizeof neutral / sizeof *neutral; i++) {
    int n = 0;
    for (int j = 0; j < gr_schema_count; j++) n += covers(neutral[i], gr_schema_keys[j].path);
    CHECK(n, "GR_NEUTRAL lists %s, which is no key", neutral[i]);
  }
}

// Keys of mappings, which have no rows of their own.
static void below(void) {
  CHECK(gr_schema_is_neutral("distributed.mesh.dp"), "an axis of the mesh counts");
  CHECK(gr_schema_is_neutral("vars.name"), "a value of one's own counts");
  CHECK(!gr_schema_is_neutral("model.params.dim"), "a parameter of the model is neutral");
  CHECK(!gr_schema_is_neutral("device_of_another_name"), "a longer name is neutral");
}

int main(int argc, char **argv) {
  (void)argc;
  return RUN(1, argv, {"every key decides", every_key_decides},
             {"no entry is idle", no_entry_is_idle}, {"below", below});
}
