# Writes OUT, a C file with the commit of the tree ROOT, unless it says the same already: then nothing is compiled.
# Run by every build (job/CMakeLists.txt). NULL: no git, or the tree is not a clone's.
cmake_minimum_required(VERSION 3.20)
find_package(Git QUIET)
set(commit "")
set(modified false)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${ROOT} rev-parse --show-toplevel RESULT_VARIABLE no_clone
                  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH ${ROOT} root)
  if(NOT no_clone AND top STREQUAL root)  # a tarball's tree may have been unpacked in a clone of something else
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${ROOT} rev-parse --short=8 HEAD OUTPUT_VARIABLE commit
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${ROOT} --no-optional-locks status --porcelain --untracked-files=no
                    OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(modified true)
    endif()
  endif()
endif()
if(commit)
  set(text "\"${commit}\"")
else()
  set(text NULL)
endif()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT "// Written by tools/cmake/gr_commit.cmake.
#include \"job/version.h\"

const char *const gr_version_commit = @text@;
const bool gr_version_modified = @modified@;
")
