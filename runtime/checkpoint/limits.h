// limits.h - limits on what a checkpoint may hold besides tensors. The writer refuses more, so that
// whatever is written can be read.
#pragma once

enum {
  GR_CHECKPOINT_MANIFEST = 64 << 20,  // bytes of manifest.json
  GR_CHECKPOINT_SCALARS = 4096,       // scalars of one checkpoint
  GR_CHECKPOINT_NAME = 512,           // bytes of a tensor's or a scalar's name
  GR_CHECKPOINT_PACKS_ALL = 3,        // levels above pack also what hardly compresses
  GR_CHECKPOINT_TEXT = 4 << 20,  // bytes of a text scalar (e.g. the state of all hooks), as UTF-8
};
