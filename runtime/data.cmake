# Recordings, features, vocabularies, manifests; batches ahead of the step.
add_library(gr_data audio.c audio_wav.c feature.c feature_fft.c feature_augment.c vocab.c manifest.c
            manifest_json.c data_import.c data.c data_bucket.c data_order.c data_cache.c data_batch.c
            data_loader.c data_inspect.c data_same.c data_unreadable.c)
target_link_libraries(gr_data PUBLIC gr_base gr_dep_ZLIB Threads::Threads)
gr_module(gr_data SNDFILE sndfile audio_sndfile.c)
gr_module(gr_data SOXR soxr audio_soxr.c)
