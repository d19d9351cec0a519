# Finds what there is. Each library becomes a target gr_dep_NAME (empty when it is off) and a
# definition GR_HAVE_NAME; the table at the end says which.
set(GR_TABLE "")
macro(gr_note_part name state)
  string(APPEND GR_TABLE "    ${name}: ${state}\n")
endmacro()

# gr_part(NAME header library [REQUIRED]) - plain header + library
function(gr_part name header lib)
  add_library(gr_dep_${name} INTERFACE)
  set(state "off (-DGR_${name}=OFF)")
  if(NOT DEFINED GR_${name} OR GR_${name})
    find_path(GR_${name}_INCLUDE ${header} PATH_SUFFIXES lua5.4)
    find_library(GR_${name}_LIBRARY NAMES ${lib})
    set(state "not found")
    if(GR_${name}_INCLUDE AND GR_${name}_LIBRARY)
      target_include_directories(gr_dep_${name} SYSTEM INTERFACE ${GR_${name}_INCLUDE})
      target_link_libraries(gr_dep_${name} INTERFACE ${GR_${name}_LIBRARY})
      target_compile_definitions(gr_dep_${name} INTERFACE GR_HAVE_${name}=1)
      set(state "${GR_${name}_LIBRARY}")
    elseif("${ARGN}" STREQUAL "REQUIRED")
      message(FATAL_ERROR "graphrun needs ${header} and lib${lib}; tools/setup installs them")
    endif()
  endif()
  set(GR_TABLE "${GR_TABLE}    ${name}: ${state}\n" PARENT_SCOPE)
endfunction()

gr_part(YAML yaml.h yaml REQUIRED)
gr_part(LUA lua.h lua5.4 REQUIRED)
gr_part(ZSTD zstd.h zstd REQUIRED)
gr_part(SNDFILE sndfile.h sndfile)
gr_part(SOXR soxr.h soxr)
gr_part(ZLIB zlib.h z)
gr_part(ONEDNN dnnl.h dnnl)

add_library(gr_dep_MPI INTERFACE)
set(state "off (-DGR_MPI=OFF)")
if(GR_MPI)
  find_package(MPI COMPONENTS C QUIET)
  set(state "not found")
  if(MPI_C_FOUND)
    target_link_libraries(gr_dep_MPI INTERFACE MPI::MPI_C)
    target_compile_definitions(gr_dep_MPI INTERFACE GR_HAVE_MPI=1)
    set(state "${MPI_C_LIBRARIES}")
  endif()
endif()
string(APPEND GR_TABLE "    MPI: ${state}\n")

# gr_module(target NAME name sources [function ...]) - where library NAME was found, sources become a
# module of its own (base/module.h), graphrun_name.so beside the program, and it alone is linked with
# the library. target, which opens it, sees GR_HAVE_NAME. Functions: one of each file of target that
# only the module may need, so that every program has them.
set(CMAKE_ENABLE_EXPORTS ON)  # modules call functions of the program
function(gr_module target dep name sources)
  get_target_property(there gr_dep_${dep} INTERFACE_COMPILE_DEFINITIONS)
  if(there)
    add_library(graphrun_${name} MODULE ${sources})
    set_target_properties(graphrun_${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
    target_link_libraries(graphrun_${name} PRIVATE gr_dep_${dep})
    target_compile_definitions(${target} PUBLIC GR_HAVE_${dep}=1)
    add_dependencies(${target} graphrun_${name})
    list(TRANSFORM ARGN PREPEND "LINKER:--undefined=")
    target_link_options(${target} INTERFACE ${ARGN})
  else()
    file(REMOVE ${CMAKE_BINARY_DIR}/graphrun_${name}.so)  # of a build with it
  endif()
endfunction()

find_package(Threads REQUIRED)
function(gr_report)
  message(STATUS "graphrun is built with\n${GR_TABLE}")
endfunction()
