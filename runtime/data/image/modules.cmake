# The libraries that read compressed images.
foreach(library png jpeg)
  string(TOUPPER ${library} dep)
  gr_module(gr_data ${dep} ${library} image/${library}.c gr_picture_alloc)
  list(REMOVE_ITEM files ${CMAKE_CURRENT_SOURCE_DIR}/image/${library}.c)
endforeach()
