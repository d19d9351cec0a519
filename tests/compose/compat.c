// compat.c - compat.huggingface (compose/schema/compat.def): what every setting becomes, as the
// documentation of Transformers' TrainingArguments says what it means; and what cannot be honoured.
#include "compose/schema/schema.h"
#include "tests/check.h"

// The settings of one case, as YAML within compat.huggingface, other keys around them, and the keys
// that they become.
typedef struct becomes {
  const char *settings, *others;
  const char *keys;  // "KEY=VALUE KEY=VALUE"; or for an error a part of its text
} becomes;

static const becomes cases[] = {
    {"output_dir: runs/one", "", "output.dir=runs/one"},
    {"per_device_train_batch_size: 4", "",
     "training.batch_size=4 training.batch_is=per_rank training.accumulate=1"},
    {"{per_device_train_batch_size: 4, gradient_accumulation_steps: 3}", "",
     "training.batch_size=12 training.batch_is=per_rank training.accumulate=3"},
    {"gradient_accumulation_steps: 3", "", "training.batch_size=24 training.accumulate=3"},
    {"per_device_train_batch_size: 4", "training: {accumulate: 2}",
     "training.batch_size=8 training.accumulate=2"},
    {"{per_device_train_batch_size: 4, per_device_eval_batch_size: 4}", "",
     "training.batch_size=4"},
    {"per_device_eval_batch_size: 8", "", "training.batch_size=8"},
    {"gradient_checkpointing: false", "", "training.recompute=[]"},
    {"gradient_checkpointing: true", "", "training.recompute=repeat"},
    {"fp16: true", "", "training.precision=fp16"},
    {"fp16: false", "", "training.precision=fp32"},
    {"{fp16: false, bf16: true}", "", "training.precision=bf16"},
    {"bf16: true", "", "training.precision=bf16"},
    {"num_train_epochs: 5", "", "training.max_epochs=5 training.max_steps=0"},
    {"num_train_epochs: 5.0", "", "training.max_epochs=5"},
    {"max_steps: 70", "", "training.max_steps=70 training.max_epochs=1000000000"},
    {"{max_steps: 70, num_train_epochs: 2.5}", "",
     "training.max_steps=70 training.max_epochs=1000000000"},
    {"{max_steps: -1, num_train_epochs: 2}", "", "training.max_steps=0 training.max_epochs=2"},
    {"max_steps: 70", "training: {max_epochs: 4}", "training.max_steps=70 training.max_epochs=4"},
    {"learning_rate: 1e-4", "", "training.lr=0.0001"},
    {"learning_rate: 2", "training: {lr: '??\?'}", "training.lr=2"},
    {"learning_rate: 1", "training: {lr: 1.0}", "training.lr=1.0"},
    {"lr_scheduler_type: linear", "",
     "hooks=[\"hooks/transformers.lua\"] hooks_params.schedule=linear"},
    {"lr_scheduler_type: cosine", "hooks: [mine.lua]",
     "hooks=[\"hooks/transformers.lua\",\"mine.lua\"] hooks_params.schedule=cosine"},
    {"lr_scheduler_type: constant", "", "hooks_params.schedule=constant"},
    {"lr_scheduler_type: constant_with_warmup", "", "hooks_params.schedule=constant_with_warmup"},
    {"warmup_steps: 20", "", "hooks_params.warmup_steps=20 hooks_params.schedule=linear"},
    {"{lr_scheduler_type: constant, warmup_steps: 0}", "", "hooks_params.schedule=constant"},
    {"warmup_steps: 0.1", "", "hooks_params.warmup_ratio=0.1"},
    {"warmup_ratio: 0.1", "", "hooks_params.warmup_ratio=0.1"},
    {"{warmup_ratio: 0.1, warmup_steps: 5}", "", "hooks_params.warmup_steps=5"},
    {"optim: adamw_torch_fused", "", "training.optimizer=adamw"},
    {"optim: sgd", "", "training.optimizer=sgd"},
    {"weight_decay: 0.05", "", "training.weight_decay=0.05 training.decay_biases_and_norms=false"},
    {"weight_decay: 0.05", "training: {decay_biases_and_norms: true}",
     "training.weight_decay=0.05 training.decay_biases_and_norms=true"},
    {"adam_beta1: 0.8", "", "training.betas=[0.8,0.999]"},
    {"{adam_beta1: 0.8, adam_beta2: 0.98}", "", "training.betas=[0.8,0.98]"},
    {"adam_beta2: 0.98", "", "training.betas=[0.9,0.98]"},
    {"adam_epsilon: 1e-6", "", "training.eps=1e-06"},
    {"max_grad_norm: 0.5", "", "training.grad_clip=0.5"},
    {"label_smoothing_factor: 0.1", "", "model.params.smoothing=0.1"},
    {"seed: 7", "", "training.seed=7"},
    {"eval_strategy: epoch", "", "training.eval_every=1"},
    {"eval_strategy: no", "", "training.eval_every=0"},
    {"eval_strategy: steps", "",
     "training.eval_every=0 hooks=[\"hooks/transformers.lua\"] hooks_params.eval_steps=500"},
    {"{eval_strategy: steps, logging_steps: 30}", "", "hooks_params.eval_steps=30"},
    {"evaluation_strategy: epoch", "", "training.eval_every=1"},
    {"{evaluation_strategy: steps, eval_steps: 40}", "hooks: [mine.lua]",
     "hooks=[\"hooks/transformers.lua\",\"mine.lua\"] hooks_params.eval_steps=40"},
    {"{eval_strategy: steps, eval_steps: 40}", "",
     "training.eval_every=0 hooks_params.eval_steps=40"},
    {"save_strategy: epoch", "", "checkpoint.every_epochs=1 checkpoint.every_steps=0"},
    {"save_strategy: no", "",
     "checkpoint.every_epochs=0 checkpoint.every_steps=0 checkpoint.keep_best=0"},
    {"save_strategy: best", "",
     "checkpoint.every_epochs=0 checkpoint.every_steps=0 checkpoint.keep_best=1"},
    {"save_strategy: steps", "", "checkpoint.every_epochs=0 checkpoint.every_steps=500"},
    {"save_steps: 60", "", "checkpoint.every_epochs=0 checkpoint.every_steps=60"},
    {"save_total_limit: 4", "", "checkpoint.keep_last=4 checkpoint.keep_best=0"},
    {"save_total_limit: null", "", "checkpoint.keep_last=0"},
    {"{save_total_limit: 4, load_best_model_at_end: true}", "",
     "checkpoint.keep_last=3 checkpoint.keep_best=1"},
    {"{save_total_limit: 1, load_best_model_at_end: true}", "",
     "checkpoint.keep_last=1 checkpoint.keep_best=1"},
    {"load_best_model_at_end: true", "", "checkpoint.keep_best=1"},
    {"load_best_model_at_end: false", "", "checkpoint.keep_best=0"},
    {"metric_for_best_model: eval_wer", "", "checkpoint.metric=wer checkpoint.mode=max"},
    {"metric_for_best_model: eval_loss", "", "checkpoint.metric=loss checkpoint.mode=min"},
    {"{metric_for_best_model: wer, greater_is_better: false}", "",
     "checkpoint.metric=wer checkpoint.mode=min"},
    {"greater_is_better: true", "", "checkpoint.mode=max"},
    {"predict_with_generate: false", "", "generation.max_tokens=0"},
    {"predict_with_generate: true", "generation: {max_tokens: 9}", "generation.max_tokens=9"},
    {"{predict_with_generate: true, generation_max_length: 225}",
     "data: {speech: {text: {prefix: [a, b, c, d]}}}", "generation.max_tokens=221"},
    {"{predict_with_generate: true, generation_max_length: 20, generation_num_beams: 5}", "",
     "generation.max_tokens=20 generation.beams=5"},
    {"logging_steps: 25", "", "training.log_every=25"},
    {"dataloader_num_workers: 0", "", "data.workers=0"},
    {"ddp_backend: mpi", "", "distributed.backend=mpi"},
    {"ddp_find_unused_parameters: true", "", "distributed.find_unused_parameters=true"},
    {"fsdp: full_shard auto_wrap", "",
     "distributed.strategy=fsdp distributed.fsdp.sharding_strategy=full_shard "
     "distributed.fsdp.offload_params=false"},
    {"fsdp: [shard_grad_op, offload]", "",
     "distributed.strategy=fsdp distributed.fsdp.sharding_strategy=shard_grad_op "
     "distributed.fsdp.offload_params=true"},
    {"fsdp: true", "", "distributed.strategy=fsdp distributed.fsdp.sharding_strategy=full_shard"},
    {"fsdp: ''", "", "distributed.strategy=ddp"},
    {"fsdp_config: {sharding_strategy: HYBRID_SHARD}", "",
     "distributed.fsdp.sharding_strategy=hybrid_shard"},
    {"fsdp_config: {fsdp_sharding_strategy: no_shard}", "",
     "distributed.fsdp.sharding_strategy=no_shard"},
    {"{fsdp: full_shard auto_wrap, fsdp_config: {transformer_layer_cls_to_wrap: "
     "'encoder.layers.*'}}",
     "", "distributed.fsdp.wrap=encoder.layers.*"},
    {"fsdp_config: {fsdp_transformer_layer_cls_to_wrap: [a, b]}", "",
     "distributed.fsdp.wrap=[\"a\",\"b\"]"},
    {"fsdp_config: {backward_prefetch: backward_post}", "",
     "distributed.fsdp.backward_prefetch=backward_post"},
    {"fsdp_config: {fsdp_backward_prefetch: BACKWARD_PRE}", "",
     "distributed.fsdp.backward_prefetch=backward_pre"},
    {"fsdp_config: {state_dict_type: SHARDED_STATE_DICT}", "",
     "distributed.fsdp.state_dict_type=sharded_state_dict"},
    {"fsdp_config: {fsdp_state_dict_type: full_state_dict}", "",
     "distributed.fsdp.state_dict_type=full_state_dict"},
    {"fsdp_config: {offload_params: true}", "", "distributed.fsdp.offload_params=true"},
    {"fsdp_config: {fsdp_offload_params: true}", "", "distributed.fsdp.offload_params=true"},
    {"fsdp_config: {activation_checkpointing: false, fsdp_activation_checkpointing: false}", "",
     "training.recompute=[]"},
    {"fsdp_config: {activation_checkpointing: true}", "", "training.recompute=repeat"},
    {"fsdp_config: {fsdp_activation_checkpointing: true}", "", "training.recompute=repeat"},
    {"fsdp_config: {forward_prefetch: false, fsdp_forward_prefetch: false}", "",
     "distributed.fsdp.forward_prefetch=false"},
    {"fsdp_config: {fsdp_forward_prefetch: true}", "", "distributed.fsdp.forward_prefetch=true"},
    {"fsdp_config: {sync_module_states: true, fsdp_sync_module_states: true}", "",
     "training.accumulate=1"},
    {"fsdp_config: {use_orig_params: true, fsdp_use_orig_params: true}", "",
     "training.accumulate=1"},
    // What the section leaves out is as in Transformers, unless the configuration says otherwise.
    {"seed: 1", "",
     "training.lr=5e-05 training.max_epochs=3 training.batch_size=8 training.batch_is=per_rank "
     "training.grad_clip=1.0 "
     "training.optimizer=adamw training.weight_decay=0.0 training.decay_biases_and_norms=false "
     "hooks_params.schedule=linear training.eval_every=0 checkpoint.every_steps=500 "
     "checkpoint.keep_best=0 "
     "training.log_every=500"},
    {"seed: 1",
     "{training: {lr: 2, batch_size: 6, max_epochs: 9, optimizer: sgd, grad_clip: 3, eval_every: "
     "2, "
     "log_every: 4}, hooks: [], checkpoint: {every_epochs: 5, keep_best: 2}}",
     "training.lr=2 training.batch_size=6 training.batch_is=global training.max_epochs=9 "
     "training.optimizer=sgd "
     "training.grad_clip=3 training.eval_every=2 training.log_every=4 hooks=[] "
     "checkpoint.every_epochs=5 "
     "checkpoint.keep_best=2"},
};

static const becomes bad[] = {
    {"fsdp_config: {sync_module_states: false}", "",
     "sync_module_states cannot be honoured: all ranks start"},
    {"fsdp_config: {use_orig_params: false}", "", "use_orig_params cannot be honoured"},
    {"fsdp_config: {backward_prefetch: backward_pre, fsdp_backward_prefetch: backward_post}", "",
     "asks for distributed.fsdp.backward_prefetch=backward_post, but it is backward_pre"},
    {"{per_device_train_batch_size: 4, per_device_eval_batch_size: 8}", "",
     "per_device_eval_batch_size cannot be honoured: evaluations have the batches of micro-steps: "
     "it must be "
     "per_device_train_batch_size, which is 4"},
    {"gradient_accumulation_steps: 2", "training: {batch_size: 8}",
     "it multiplies per_device_train_batch_size"},
    {"per_device_train_batch_size: 4", "training: {batch_size: 8}",
     "asks for training.batch_size=4, but it is 8"},
    {"per_device_train_batch_size: 8", "training: {batch_size: 8}",
     "asks for training.batch_size=8, but it is 8"},
    {"per_device_train_batch_size: 8", "training: {batch_size: 8, batch_is: global}",
     "training.batch_is=per_rank"},
    {"{per_device_train_batch_size: 1000000000, gradient_accumulation_steps: 1000000000}", "",
     "'training.batch_size' must be an integer"},
    {"{fp16: true, bf16: true}", "", "bf16 asks for training.precision=bf16, but it is fp16"},
    {"fp16: true", "training: {precision: tf32}",
     "asks for training.precision=fp16, but it is tf32"},
    {"fp16: false", "training: {precision: fp16}",
     "asks for training.precision=fp32, but it is fp16"},
    {"num_train_epochs: 2.5", "", "num_train_epochs cannot be honoured: epochs are whole"},
    {"learning_rate: 1e-4", "training: {lr: 1e-3}", "asks for training.lr=0.0001, but it is 0.001"},
    {"learning_rate: 1e-4x", "", "'compat.huggingface.learning_rate' must be"},
    {"learning_rate: -1", "", "'compat.huggingface.learning_rate' must be"},
    {"lr_scheduler_type: polynomial", "", "'compat.huggingface.lr_scheduler_type' must be"},
    {"{lr_scheduler_type: constant, warmup_steps: 5}", "", "constant_with_warmup warms up"},
    {"warmup_steps: 5", "hooks: [mine.lua]", "hooks are given, so it needs lr_scheduler_type"},
    {"warmup_steps: 5", "training: {warmup_steps: 6}",
     "asks for training.warmup_steps=5, but it is 6"},
    {"warmup_steps: 5", "hooks_params: {warmup_steps: 6}",
     "asks for hooks_params.warmup_steps=5, but it is 6"},
    {"lr_scheduler_type: cosine", "hooks_params: 3", "'hooks_params' must be a mapping"},
    {"optim: lomo", "", "'compat.huggingface.optim' must be"},
    {"eval_strategy: true", "", "eval_strategy cannot be honoured"},
    {"save_strategy: yes", "", "save_strategy cannot be honoured"},
    {"eval_steps: 5", "", "eval_steps cannot be honoured: eval_strategy is not steps"},
    {"{eval_strategy: epoch, evaluation_strategy: no}", "",
     "asks for training.eval_every=0, but it is 1"},
    {"{save_strategy: epoch, save_steps: 5}", "",
     "save_steps cannot be honoured: save_strategy is not steps"},
    {"predict_with_generate: true", "", "it needs generation_max_length"},
    {"generation_max_length: 5", "", "nothing is generated without predict_with_generate"},
    {"generation_num_beams: 5", "", "nothing is generated without predict_with_generate"},
    {"{predict_with_generate: true, generation_max_length: 2}",
     "data: {speech: {text: {prefix: [a, b]}}}", "data.speech.text.prefix is as long"},
    {"fsdp: full_shard shard_grad_op", "", "fsdp cannot be honoured"},
    {"fsdp: auto_wrap", "", "fsdp cannot be honoured"},
    {"fsdp: hybrid_shard_zero2", "", "fsdp cannot be honoured"},
    {"fsdp: full_shard", "training: {distributed_strategy: ddp}",
     "asks for distributed.strategy=fsdp, but it is ddp"},
    {"{fsdp: full_shard, fsdp_config: {transformer_layer_cls_to_wrap: layer}}", "",
     "fsdp has no auto_wrap"},
    {"dataloader_num_workers: 2", "training: {num_workers: 1}",
     "asks for data.workers=2, but it is 1"},
    {"learning_rates: 1e-4", "", "unknown key 'learning_rates' in compat.huggingface"},
    {"fsdp_config: {min_num_params: 5}", "", "unknown key 'min_num_params'"},
    {"[1, 2]", "", "'compat.huggingface' must be a mapping"},
};

// Translates and checks a case; its errors as text, or NULL. *conf: what came of it.
static const char *translate(gr_arena *a, const becomes *b, gr_conf **conf, const char **lines,
                             int *n) {
  gr_conf *section = NULL;
  char *text = NULL;
  size_t len;
  gr_status s = gr_conf_parse(a, "case.yaml", *b->others ? b->others : "{}", conf);
  if (!s) s = gr_conf_parse(a, "section.yaml", b->settings, &section);
  if (s) return gr_status_drop(s), "the case is no YAML";
  gr_conf *model = gr_conf_make(a, GR_CONF_TEXT, GR_NOWHERE);
  model->text = "model.yaml";
  s = gr_conf_put_at(a, *conf, "model.graph", model);
  if (!s) s = gr_conf_put_at(a, *conf, "compat.huggingface", section);
  if (!s) s = gr_schema_translate(a, *conf, lines, n);
  s = gr_also(s, gr_schema_check(a, *conf, true));
  if (!s) return NULL;
  FILE *f = open_memstream(&text, &len);
  gr_status_print(f, s);
  fclose(f);
  const char *out = gr_arena_strdup(a, text);
  free(text);
  gr_status_drop(s);
  return out;
}

static void every_setting(void) {
  gr_arena *a = gr_arena_create();
  const char *lines[GR_MAX_COMPAT];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_conf *conf;
    int n;
    const char *error = translate(a, &cases[i], &conf, lines, &n);
    CHECK(!error, "%s: %s", cases[i].settings, error);
    char *keys = gr_arena_strdup(a, cases[i].keys), *rest = NULL;
    for (char *k = strtok_r(keys, " ", &rest); k && !error; k = strtok_r(NULL, " ", &rest)) {
      char *value = strchr(k, '=');
      *value++ = 0;
      const gr_conf *c = gr_conf_look(conf, k);
      const char *found = c ? gr_conf_written(a, c) : "nothing";
      gr_text spaceless = gr_text_make(a);
      for (; *found; found++)
        if (*found != ' ') gr_text_putn(&spaceless, found, 1);
      CHECK(!strcmp(spaceless.chars, value), "%s: %s is %s instead of %s", cases[i].settings, k,
            spaceless.chars, value);
    }
  }
  gr_arena_destroy(a);
}

static void what_cannot_be(void) {
  gr_arena *a = gr_arena_create();
  const char *lines[GR_MAX_COMPAT];
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    gr_conf *conf;
    int n;
    const char *error = translate(a, &bad[i], &conf, lines, &n);
    CHECK(error && strstr(error, bad[i].keys), "%s: wanted '%s', found %s", bad[i].settings,
          bad[i].keys, error ? error : "no error");
    CHECK(!error || strstr(error, ".yaml:1:"), "%s: no place in '%s'", bad[i].settings, error);
  }
  gr_arena_destroy(a);
}

// Whether a case has the setting: its words, and of fsdp_config the last one.
static bool has_case(const char *name) {
  const char *last = strrchr(name, '.') ? strrchr(name, '.') + 1 : name;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (const char *s = cases[i].settings; (s = strstr(s, last)); s++) {
      bool begins = s == cases[i].settings || strchr("{ ", s[-1]);
      if (begins && s[strlen(last)] == ':') return true;
    }
  return false;
}

// A row of the table without a case, and a case without a line of what it became, fail.
static void none_is_left_out(void) {
  gr_arena *a = gr_arena_create();
  const char *lines[GR_MAX_COMPAT];
  gr_conf *conf;
  int n, rows = 0;
  for (int i = 0; i < gr_schema_count; i++) {
    const char *path = gr_schema_keys[i].path;
    if (strncmp(path, "compat.huggingface.", 19)) continue;
    CHECK(has_case(path + 19), "%s has no case here", path);
    rows++;
  }
  CHECK(rows > 50, "%d rows", rows);
  const becomes two = {"{seed: 3, max_steps: 5, num_train_epochs: 2}", "", ""};
  const char *error = translate(a, &two, &conf, lines, &n);
  CHECK(!error && n == 4, "%d lines, error %s", n, error);
  CHECK(
      n == 4 && !strcmp(lines[0], "compat: num_train_epochs 2 -> nothing: max_steps overrides it"),
      "%s", lines[0]);
  CHECK(n == 4 && !strcmp(lines[2], "compat: seed 3 -> training.seed 3"), "%s", lines[2]);
  const char *first =
      "compat: what it leaves out, as in Transformers: training.batch_size 8, training.batch_is "
      "per_rank, ";
  CHECK(n == 4 && !strncmp(lines[3], first, strlen(first)), "%s", lines[3]);
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"every setting", every_setting}, {"what cannot be", what_cannot_be},
             {"none is left out", none_is_left_out});
}
