# gr_sources(def folder out) - reads sources.def (def) and writes what compose/schema/schema.def includes of it to
# folder: data_sources.h, the words of data.source, and data_sources.def, the keys.def of every source. out: the .c files
# of the sources' folders beside it, but for those that a folder's modules.cmake names as sources of a module.
function(gr_sources def folder out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${def})
  get_filename_component(beside ${def} DIRECTORY)
  file(STRINGS ${def} lines REGEX "^GR_SOURCE\\(")
  set(words "")
  set(docs "")
  set(keys "// Written by CMake from sources.def.\n")
  set(files "")
  foreach(line ${lines})
    if(NOT line MATCHES "^GR_SOURCE\\(([a-z0-9_]+), \"([^\"]+)\"\\)")
      message(FATAL_ERROR "${def}: '${line}' should be GR_SOURCE(name, \"what it is\")")
    endif()
    set(name ${CMAKE_MATCH_1})
    list(APPEND words ${name})
    list(APPEND docs "${name}: ${CMAKE_MATCH_2}")
    string(APPEND keys "#define GR_SOURCE_NAME \"${name}\"\n#include \"runtime/data/${name}/keys.def\"\n#undef GR_SOURCE_NAME\n")
    file(GLOB of_source CONFIGURE_DEPENDS ${beside}/${name}/*.c)
    list(APPEND files ${of_source})
  endforeach()
  list(JOIN words " | " words)
  list(JOIN docs "; " docs)
  file(CONFIGURE OUTPUT ${folder}/data_sources.def CONTENT "${keys}" @ONLY)
  file(CONFIGURE OUTPUT ${folder}/data_sources.h @ONLY CONTENT "// Written by CMake from sources.def.
#pragma once
#define GR_DATA_SOURCES \"${words}\"
#define GR_DATA_SOURCE_DOCS \"${docs}\"
")
  set(${out} ${files} PARENT_SCOPE)
endfunction()
