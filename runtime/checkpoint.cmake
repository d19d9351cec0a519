add_library(gr_json json.c)
target_link_libraries(gr_json PUBLIC gr_base)
add_library(gr_checkpoint
  checkpoint_dir.c checkpoint_disk.c checkpoint_index.c checkpoint_list.c checkpoint_lock.c
  checkpoint_manifest.c checkpoint_print.c checkpoint_read.c checkpoint_save.c checkpoint_write.c
  safetensors.c)
target_link_libraries(gr_checkpoint PUBLIC gr_base gr_json gr_dep_ZSTD Threads::Threads)
