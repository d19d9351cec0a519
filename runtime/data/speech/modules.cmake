# The libraries that read and resample recordings.
foreach(library sndfile soxr)
  string(TOUPPER ${library} dep)
  gr_module(gr_data ${dep} ${library} speech/audio_${library}.c)
  list(REMOVE_ITEM files ${CMAKE_CURRENT_SOURCE_DIR}/speech/audio_${library}.c)
endforeach()
