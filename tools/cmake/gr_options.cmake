# Warnings, sanitisers, and what may be switched off.
add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)  # the program is the same, whichever folder it is built in
add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
                    -Wno-missing-field-initializers -fno-common)
option(GR_WERROR "warnings are errors, but for those that depend on what a processor lets the compiler do" OFF)
if(GR_WERROR)
  add_compile_options(-Werror)
  foreach(warning array-bounds dangling-pointer format-overflow format-truncation free-nonheap-object maybe-uninitialized
          nonnull restrict stringop-overflow stringop-overread stringop-truncation use-after-free)
    add_compile_options(-Wno-error=${warning})
  endforeach()
endif()
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" OR CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-O3 -fno-math-errno -fno-trapping-math)
endif()
option(GR_NATIVE "tune for this machine's processor" ON)
if(GR_NATIVE)
  add_compile_options(-march=native)
endif()
# No contraction differences between kernels and their tests on other compilers are promised,
# but one build gives the same bytes at any number of threads.
set(GR_SANITIZE "" CACHE STRING "address,undefined or thread")
if(GR_SANITIZE)
  add_compile_options(-fsanitize=${GR_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_compile_options(-UNDEBUG)  # with assertions, which the type of build may leave out
  add_link_options(-fsanitize=${GR_SANITIZE})
endif()
option(GR_COVERAGE "count the lines that are run, for tools/coverage (gcov)" OFF)
if(GR_COVERAGE)
  add_compile_options(--coverage -O1 -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
option(GR_FUZZ "build the fuzz targets with libFuzzer (clang)" OFF)
if(GR_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage of all code, which the search is led by
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
foreach(part MPI CUDA CUDNN CUPTI NCCL ONEDNN SNDFILE SOXR ZLIB SNAPPY PNG JPEG LIBAV PROTOBUF)
  option(GR_${part} "use ${part} where it is found" ON)
endforeach()
