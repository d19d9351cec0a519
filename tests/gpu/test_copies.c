// test_copies.c - copies of rows by the stand-in driver: each is one piece of work, stays within
// its allocations, and touches its rows alone, also for what looks for races
// (STANDIN_MEMORY=races). The memory is closed to the program, by keys and by pages.
#include "tests/check.h"
#if GR_HAVE_CUDA
#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runtime/device/cuda/library.h"
#include "tests/gpu/standin/standin.h"

enum { ROWS = 25000, PITCH = 32, HALF = PITCH / 2 };
static int copies;
static size_t copied;

static void created(void *graph, void *node, int type) { (void)graph, (void)node, (void)type; }
static void cloned(void *graph, void *original, void *node, int type) {
  (void)original, created(graph, node, type);
}
static void done(const standin_work *w) {
  if (w->kind == 'c') copies++, copied += w->bytes;
}

// A context of a device of its own, for an error of the work is the context's from then on.
typedef struct gpu {
  CUdevice device;
  CUstream stream[2];
  CUdeviceptr memory[2];
} gpu;

static gr_status allocate(gpu *g) {
  CUcontext context;
  CU_TRY(cuDevicePrimaryCtxRetain(&context, g->device));
  CU_TRY(cuCtxSetCurrent(context));
  for (int i = 0; i < 2; i++) {
    CU_TRY(cuStreamCreate(&g->stream[i], CU_STREAM_NON_BLOCKING));
    CU_TRY(cuMemAlloc(&g->memory[i], ROWS * PITCH));
    CU_TRY(cuMemsetD8Async(g->memory[i], (unsigned char)(i + 1), ROWS * PITCH, g->stream[0]));
  }
  CU_TRY(cuStreamSynchronize(g->stream[0]));
  return GR_OK;
}
static gpu open_gpu(int device) {
  static const standin_observer watching = {created, cloned, done};
  gpu g = {.device = device};
  MUST(gr_driver_open());
  void *so = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void (*observe)(const standin_observer *) = NULL;
  *(void **)&observe = so ? dlsym(so, "standin_observe") : NULL;
  if (!observe) SKIP("the driver is NVIDIA's");
  observe(&watching);
  MUST(allocate(&g));
  return copies = 0, copied = 0, g;
}
static void close_gpu(gpu *g) {
  for (int i = 0; i < 2; i++) {
    gr_cu.cuMemFree(g->memory[i]);
    gr_cu.cuStreamDestroy(g->stream[i]);
  }
  gr_cu.cuDevicePrimaryCtxRelease(g->device);
}

// From some columns of the first to some of the second, rows of `width` bytes.
static CUresult copy(const gpu *g, int stream, size_t source, size_t to, size_t width,
                     size_t rows) {
  CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                     .srcDevice = g->memory[0] + source,
                     .srcPitch = PITCH,
                     .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                     .dstDevice = g->memory[1] + to,
                     .dstPitch = PITCH,
                     .WidthInBytes = width,
                     .Height = rows};
  return gr_cu.cuMemcpy2DAsync(&c, g->stream[stream]);
}
static CUresult both(const gpu *g) {
  CUresult first = gr_cu.cuStreamSynchronize(g->stream[0]);
  CUresult second = gr_cu.cuStreamSynchronize(g->stream[1]);
  return first ? first : second;
}

static void rows_are_one_copy(void) {
  static unsigned char host[ROWS * PITCH];
  gpu g = open_gpu(0);
  CHECK(!copy(&g, 0, 4, HALF, 8, ROWS) && !both(&g), "the copy fails");
  CHECK(copies == 1 && copied == ROWS * 8, "%d pieces of work copied %zu bytes", copies, copied);
  void *pinned;
  CHECK(!gr_cu.cuMemHostAlloc(&pinned, sizeof host, 0), "no pinned memory");
  CHECK(!gr_cu.cuMemcpyDtoHAsync(pinned, g.memory[1], sizeof host, g.stream[0]) && !both(&g),
        "lost");
  memcpy(host, pinned, sizeof host);
  gr_cu.cuMemFreeHost(pinned);
  int wrong = 0;
  for (int i = 0; i < ROWS * PITCH; i++) {
    int column = i % PITCH;
    wrong += host[i] != (column >= HALF && column < HALF + 8 ? 1 : 2);
  }
  CHECK(!wrong, "%d bytes are wrong", wrong);
  CHECK(!copy(&g, 0, 0, 0, 0, ROWS) && !copy(&g, 0, 0, 0, 8, 0) && !both(&g), "nothing is copied");
  close_gpu(&g);
}

static void rows_stay_inside(void) {
  gpu g = open_gpu(0);
  CHECK(!copy(&g, 0, HALF, HALF, HALF, ROWS), "the last byte is inside");
  CHECK(copy(&g, 0, 0, HALF, HALF + 1, ROWS), "the last row is written past the end");
  CHECK(copy(&g, 0, HALF, 0, HALF + 1, ROWS), "the last row is read past the end");
  CHECK(copy(&g, 0, 0, 0, HALF, ROWS + 1), "a row too many");
  CHECK(copy(&g, 0, 0, 0, PITCH + 1, 2), "rows that overlap");
  CHECK(!both(&g), "what is refused leaves an error");
  close_gpu(&g);
}

// Columns beside each other are no race; the gaps between rows are not touched.
static void columns_are_apart(void) {
  gpu g = open_gpu(0);
  CHECK(!copy(&g, 0, 0, 0, HALF, ROWS) && !copy(&g, 1, 0, HALF, HALF, ROWS), "not put in line");
  CHECK(!both(&g), "columns beside each other are said to be the same bytes");
  close_gpu(&g);
}
static void shared_columns_are_found(void) {
  gpu g = open_gpu(1);
  CHECK(!copy(&g, 0, 0, 0, HALF, ROWS) && !copy(&g, 1, 0, HALF - 4, HALF, ROWS), "not in line");
  CHECK(both(&g) == CUDA_ERROR_LAUNCH_FAILED, "a column that two streams write is not found");
}
static void a_last_row_is_found(void) {
  gpu g = open_gpu(2);
  size_t last = (size_t)(ROWS - 1) * PITCH;
  CHECK(!copy(&g, 0, 0, 0, HALF, ROWS) && !copy(&g, 1, 0, last, HALF, 1), "not put in line");
  CHECK(both(&g) == CUDA_ERROR_LAUNCH_FAILED, "a last row that two streams write is not found");
}
static void a_row_that_is_read_is_found(void) {
  gpu g = open_gpu(3);
  CHECK(!copy(&g, 0, HALF, 0, HALF, ROWS), "not put in line");
  CHECK(!gr_cu.cuMemsetD8Async(g.memory[0] + 5 * PITCH + HALF, 9, 4, g.stream[1]),
        "not put in line");
  CHECK(both(&g) == CUDA_ERROR_LAUNCH_FAILED, "a row that is read beside a write is not found");
}

// The signal that ends a process which reads the first byte; 0: it may read it.
static int reading_is_ended_by(CUdeviceptr first) {
  pid_t reader = fork();
  if (!reader) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    _exit(*(const volatile char *)first == 77);
  }
  int status = 0;
  CHECK(reader > 0 && waitpid(reader, &status, 0) == reader, "there is no process");
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}
// By pages, memory is closed only after some calls, where there are several GPUs.
static void memory_is_closed_to_the_program(void) {
  gpu g = open_gpu(0);
  CHECK(!copy(&g, 0, 0, 0, HALF, ROWS), "no copy");
  for (int i = 0; i < 7; i++) CHECK(!both(&g), "the copy fails");
  CHECK(reading_is_ended_by(g.memory[0]) == SIGSEGV, "memory that was read is open");
  CHECK(reading_is_ended_by(g.memory[1]) == SIGSEGV, "memory that was written is open");
  CHECK(!copy(&g, 0, 0, 0, HALF, ROWS) && !both(&g), "it is closed to work too");
  close_gpu(&g);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"rows_are_one_copy", rows_are_one_copy},
             {"rows_stay_inside", rows_stay_inside},
             {"memory_is_closed_to_the_program", memory_is_closed_to_the_program},
             {"columns_are_apart", columns_are_apart},
             {"shared_columns_are_found", shared_columns_are_found},
             {"a_last_row_is_found", a_last_row_is_found},
             {"a_row_that_is_read_is_found", a_row_that_is_read_is_found});
}
#else
int main(void) { return puts("SKIPPED: graphrun was built without CUDA's headers"), 0; }
#endif
