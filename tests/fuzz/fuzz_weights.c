// fuzz_weights.c - any bytes are a safetensors file or an error; every tensor of what is read can
// be taken as f32.
#include "fuzz_file.h"
#include "runtime/checkpoint/safetensors.h"

const fuzz_budget fuzz_memory = {8 << 20, 1000};

static void take_tensor(gr_safetensors *t, int i, gr_tensor_slice want) {
  int64_t count = 1;
  for (int k = 0; k < want.rank; k++)
    if (__builtin_mul_overflow(count, want.size[k], &count)) return;
  if (count < 0 || count > 1 << 20) return;
  want.dtype = "f32";
  want.data = malloc((size_t)count * sizeof(float) + 1);
  HOLDS(want.data);
  gr_status_drop(gr_safetensors_read(t, i, &want));
  free(want.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_file f = fuzz_file_make(data, size);
  gr_safetensors *t = NULL;
  int n = 0;
  gr_status s = gr_safetensors_open(f.path, &t);
  HOLDS(s ? !t : t != NULL);
  const gr_tensor_slice *all = s ? NULL : gr_safetensors_tensors(t, &n);
  for (int i = 0; i < n && i < 100; i++)
    if (gr_safetensors_is_float(&all[i])) take_tensor(t, i, all[i]);
  gr_safetensors_close(t);
  fuzz_print(s);
  fuzz_file_close(&f);
  return 0;
}
