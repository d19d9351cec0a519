add_library(test_world STATIC world.c compiler/elementwise.c compiler/recurrent.c compiler/steps.c)
target_link_libraries(test_world PUBLIC test_ir_parse gr_compiler gr_exec)
foreach(test kernels pass plan prove prove_memory train mesh accumulate canonical buffers batch_norm programs program_lists groups ema coalesce schedule units growth scan nested scan_random threads fuse fuse_loops)
  add_executable(test_compiler_${test} compiler/test_${test}.c)
  target_link_libraries(test_compiler_${test} test_world)
  target_compile_definitions(test_compiler_${test} PRIVATE GR_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME compiler.${test} COMMAND test_compiler_${test})
endforeach()
target_link_options(test_compiler_prove PRIVATE LINKER:--wrap=gr_coll_rows)
target_link_libraries(test_compiler_fuse test_ops_bench)
# What is counted is compiled again, and found before the libraries; all but memory_fit.c, which tries orders for a fixed
# number of steps, however large a graph.
file(GLOB counted CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ir/*.c ${CMAKE_SOURCE_DIR}/compiler/*.c ${CMAKE_SOURCE_DIR}/compiler/*/*.c)
list(FILTER counted EXCLUDE REGEX "onnx/(file|unpack)")  # a module
list(REMOVE_ITEM counted ${CMAKE_SOURCE_DIR}/compiler/plan/memory_fit.c)
add_library(test_counted OBJECT ${counted} ${CMAKE_SOURCE_DIR}/base/map.c)
target_compile_options(test_counted PRIVATE -O1 -fsanitize-coverage=trace-pc)
target_link_libraries(test_counted gr_ops gr_compose)
target_link_libraries(test_compiler_growth test_counted)
