// audio_check.c - see audio_module.h.
#include "runtime/data/speech/audio_module.h"

// Validates a header before anything is allocated from its numbers.
gr_status gr_audio_check(const char *path, const gr_audio_info *info) {
  if (info->rate < GR_AUDIO_MIN_RATE || info->rate > GR_AUDIO_MAX_RATE)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE,
                "recording '%s' declares %d samples a second, which is not from %d to %d", path,
                info->rate, GR_AUDIO_MIN_RATE, GR_AUDIO_MAX_RATE),
        "its head is damaged: copy or record it again");
  if (info->channels < 1 || info->samples > GR_AUDIO_MAX_VALUES / (uint64_t)info->channels)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE,
                "recording '%s' declares %llu samples of %d channels, and %llu values are the "
                "most",
                path, (unsigned long long)info->samples, info->channels,
                (unsigned long long)GR_AUDIO_MAX_VALUES),
        "cut it into utterances, or copy it again if its head is damaged");
  return GR_OK;
}
