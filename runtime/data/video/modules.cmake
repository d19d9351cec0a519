# FFmpeg's libraries, which read compressed videos.
gr_module(gr_data LIBAV libav video/libav.c)
list(REMOVE_ITEM files ${CMAKE_CURRENT_SOURCE_DIR}/video/libav.c)
