// guard.c - the memory of devices is closed to the program: only device work opens it. By the
// processor's protection keys where it has them (pkeys(7)): a key for each device, and each thread
// opens and closes it for itself. Otherwise by the rights of pages, for all threads at once.
#define _GNU_SOURCE
#include <sys/mman.h>
#include "tests/gpu/standin/driver.h"

static int is_guarded = 1;  // 0: all is open always

static int rights(int open) { return open ? PROT_READ | PROT_WRITE : PROT_NONE; }

// STANDIN_GUARD: 0: no memory is closed; 1: by keys, if there are some; 2: by pages.
void si_guard(int how) {
  is_guarded = how != 0;
  for (int i = 0; i < ndevices && how == 1; i++) {
    int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
    if (key < 0) return;  // the other devices go by pages
    devices[i].key = key;
  }
}

// Pages can be used from now on by who opens their device, which is open to this thread after it.
// 0, or -1: there is no memory for them.
int si_map(struct device *d, char *page, size_t mapped) {
  if (!d->key) return mprotect(page, mapped, rights(1));
  si_protect(d, 1);
  return pkey_mprotect(page, mapped, rights(1), d->key);
}
// The new pages of si_map are as those of their device.
void si_mapped(struct device *d, char *page, size_t mapped) {
  if (!d->key && is_guarded && !d->open) mprotect(page, mapped, rights(0));
}
// Nobody can use pages any more, and their contents are gone.
void si_unmap(char *page, size_t mapped) {
  madvise(page, mapped, MADV_DONTNEED);
  mprotect(page, mapped, rights(0));
}

void si_protect(struct device *d, int open) {
  if (d->key) pkey_set(d->key, open ? 0 : PKEY_DISABLE_ACCESS);
  if (d->key || d->open == open) return;
  d->open = open;
  for (int i = 0; i < nblocks && is_guarded; i++)
    if (blocks[i].dev == d && blocks[i].live)
      mprotect(blocks[i].page, blocks[i].mapped, rights(open));
}
// By pages, one GPU is closed each time, and of several only every seventh time, since that takes
// half of the time of their tests: what the program does wrong it does in every step. Odd, as calls
// and work alternate.
void si_close_all(const struct device *kept, unsigned peers) {
  static unsigned times;
  int seldom = ndevices > 1 && ++times % 7;
  for (int i = 0; i < ndevices; i++)
    if (&devices[i] != kept && !(kept && peers >> i & 1) && (devices[i].key || !seldom))
      si_protect(&devices[i], 0);
}
