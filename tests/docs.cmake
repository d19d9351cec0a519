# The examples of add-an-op.md and add-a-pass.md, added as those pages say, in a copy of the
# tables alone: the folder with the copies comes first on the include path.
set(copy ${CMAKE_BINARY_DIR}/docs)
function(gr_docs_copy file find replace)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${file})
  file(READ ${CMAKE_SOURCE_DIR}/${file} text)
  string(REPLACE "${find}" "${replace}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "tests/docs.cmake: there is no '${find}' in ${file}")
  endif()
  file(CONFIGURE OUTPUT ${copy}/${file} CONTENT "${changed}" @ONLY)
endfunction()

gr_docs_copy(ops/ops.def "GR_OP(square)" "GR_OP(square)\nGR_OP(cube)\nGR_OP(top_accuracy)")
set(cu ${CMAKE_BINARY_DIR}/generated/docs/top_accuracy.cu.c)
add_custom_command(OUTPUT ${cu} DEPENDS docs/top_accuracy.cu ${CMAKE_SOURCE_DIR}/tools/cmake/gr_embed.cmake
  COMMAND ${CMAKE_COMMAND} -DFILE=${CMAKE_CURRENT_SOURCE_DIR}/docs/top_accuracy.cu -DNAME=top_accuracy -DOUT=${cu}
    -P ${CMAKE_SOURCE_DIR}/tools/cmake/gr_embed.cmake)
add_library(docs_ops OBJECT ../ops/table.c docs/cube.c docs/top_accuracy.c ${cu})  # the table with the examples
target_include_directories(docs_ops BEFORE PRIVATE ${copy})
target_link_libraries(docs_ops PUBLIC gr_ops)
foreach(test ops gradients)
  add_executable(test_docs_op_${test} ops/test_${test}.c ops/bench.c)
  target_link_libraries(test_docs_op_${test} docs_ops)
endforeach()
add_test(NAME docs.op_ops COMMAND test_docs_op_ops "" cube)
add_test(NAME docs.op_top_accuracy COMMAND test_docs_op_ops "" top_accuracy)
add_test(NAME docs.op_gradients COMMAND test_docs_op_gradients "" cube)
if(TARGET test_gpu_ops)  # on the stand-in for a GPU
  add_executable(test_docs_op_gpu gpu/test_ops.c gpu/fused.c gpu/trials.c gpu/rounding.c)
  target_link_libraries(test_docs_op_gpu docs_ops test_gpu_cases test_ops_bench test_world gr_exec)
  add_dependencies(test_docs_op_gpu standin_nvrtc standin_cublaslt)
  add_test(NAME docs.op_gpu COMMAND test_docs_op_gpu "" cube,top_accuracy)
  set_tests_properties(docs.op_gpu PROPERTIES TIMEOUT 600
    ENVIRONMENT "LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/standin;GRAPHRUN_CACHE=;ASAN_OPTIONS=detect_leaks=0")
endif()
# add-a-metric.md: a model that uses one.
add_executable(graphrun_metric ../cli/main.c)
target_link_libraries(graphrun_metric docs_ops gr_cli)
set_target_properties(graphrun_metric PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
add_test(NAME docs.metric COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/docs/metric.sh $<TARGET_FILE:graphrun_metric>
  ${CMAKE_SOURCE_DIR} $<TARGET_FILE:make_tones>)
set_tests_properties(docs.metric PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")

# add-an-optimizer.md: the same copy of the table, with another line.
file(READ ${copy}/ops/ops.def text)
string(REPLACE "GR_PASS_OP(adamw)" "GR_PASS_OP(adamw)\nGR_PASS_OP(yogi)" text "${text}")
file(CONFIGURE OUTPUT ${copy}/optim/ops/ops.def CONTENT "${text}" @ONLY)
set(table ../ops/table.c docs/yogi.c docs/top_accuracy.c ${cu})
foreach(test ops padding)
  add_executable(test_docs_optim_${test} ops/test_${test}.c ops/bench.c ${table} docs/cube.c)
  target_include_directories(test_docs_optim_${test} BEFORE PRIVATE ${copy}/optim)
  target_link_libraries(test_docs_optim_${test} gr_ops)
endforeach()
add_test(NAME docs.optim_ops COMMAND test_docs_optim_ops "" yogi)
add_test(NAME docs.optim_padding COMMAND test_docs_optim_padding)
add_executable(test_docs_optim docs/test_yogi.c ${table} docs/cube.c)
target_include_directories(test_docs_optim BEFORE PRIVATE ${copy}/optim)
target_link_libraries(test_docs_optim test_world)
add_test(NAME docs.optim_trains COMMAND test_docs_optim)
# The program with it, and with one that has no kernel for GPUs.
string(REPLACE "GR_PASS_OP(yogi)" "GR_PASS_OP(yogi)\nGR_PASS_OP(cpu_only)" text "${text}")
file(CONFIGURE OUTPUT ${copy}/devices/ops/ops.def CONTENT "${text}" @ONLY)
add_executable(graphrun_optim ../cli/main.c ${table} docs/cpu_only.c docs/cube.c)
target_include_directories(graphrun_optim BEFORE PRIVATE ${copy}/devices)
target_link_libraries(graphrun_optim gr_cli)
set_target_properties(graphrun_optim PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
add_test(NAME docs.optim_devices COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/docs/optim.sh $<TARGET_FILE:graphrun_optim>
  ${CMAKE_SOURCE_DIR} $<TARGET_FILE:make_tones> ${CMAKE_BINARY_DIR}/standin)
set_tests_properties(docs.optim_devices PROPERTIES TIMEOUT 1200 ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)

gr_docs_copy(compiler/pipeline.c "    {\"dce\","
             "    {\"cancel\", \"minus minus x is x\", .run = gr_pass_cancel},\n    {\"dce\",")
gr_docs_copy(compiler/passes/passes.h "gr_status gr_pass_dce("
             "gr_status gr_pass_cancel(gr_rewrite *);\ngr_status gr_pass_dce(")
configure_file(docs/cancel.gr ${copy}/tests/compiler/passes/cancel.gr COPYONLY)
add_executable(test_docs_pass compiler/test_pass.c ${copy}/compiler/pipeline.c docs/cancel.c)
target_include_directories(test_docs_pass BEFORE PRIVATE ${copy})
target_link_libraries(test_docs_pass test_ir_parse gr_compiler)
target_compile_definitions(test_docs_pass PRIVATE GR_SOURCE_DIR="${copy}")
add_test(NAME docs.pass COMMAND test_docs_pass)

gr_docs_copy(runtime/device/devices.def "GR_DEVICE(null)" "GR_DEVICE(null)\nGR_DEVICE(traced)")
gr_docs_copy(runtime/comm/collectives.def "GR_COLLECTIVES(nccl)"
             "GR_COLLECTIVES(nccl)\nGR_COLLECTIVES(traced)")
add_executable(graphrun_traced ../cli/main.c ../runtime/device/device.c ../runtime/comm/collectives.c
  docs/traced.c docs/traced_collectives.c)
target_include_directories(graphrun_traced BEFORE PRIVATE ${copy})
target_link_libraries(graphrun_traced gr_cli)
set_target_properties(graphrun_traced PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
add_test(NAME docs.device COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/docs/device.sh
  $<TARGET_FILE:graphrun_traced> ${CMAKE_SOURCE_DIR} $<TARGET_FILE:make_tones>)
set_tests_properties(docs.device PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")

# add-a-command.md.
gr_docs_copy(cli/commands.def "GR_COMMAND(new)" "GR_COMMAND(new)\nGR_COMMAND(weights)")
add_executable(graphrun_weights ../cli/main.c ../cli/commands.c docs/weights.c)
target_include_directories(graphrun_weights BEFORE PRIVATE ${copy})
target_link_libraries(graphrun_weights gr_cli)
set_target_properties(graphrun_weights PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
add_test(NAME docs.command COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/docs/command.sh
  $<TARGET_FILE:graphrun_weights> ${CMAKE_SOURCE_DIR} $<TARGET_FILE:make_tones>)
set_tests_properties(docs.command PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")

# What the pages quote of the program, the configurations they name, and a run of the tour's model.
add_test(NAME docs.quotes COMMAND ${CMAKE_SOURCE_DIR}/tests/docs/quotes.sh $<TARGET_FILE:graphrun>)
add_test(NAME docs.configs COMMAND ${CMAKE_SOURCE_DIR}/tests/docs/configs.sh $<TARGET_FILE:graphrun>)
add_test(NAME docs.systems COMMAND ${CMAKE_SOURCE_DIR}/tests/docs/systems.sh ${CMAKE_BINARY_DIR} ${CMAKE_CTEST_COMMAND})
list(TRANSFORM e2e_tests PREPEND e2e. OUTPUT_VARIABLE before)
set_tests_properties(docs.systems PROPERTIES DEPENDS "${before}")
add_test(NAME docs.tour COMMAND ${CMAKE_SOURCE_DIR}/tests/docs/tour.sh $<TARGET_FILE:graphrun> ${copy}/tour)

# small-whisper.md: its commands, on Debian's recordings.
add_test(NAME docs.small_whisper COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/docs/small_whisper.sh $<TARGET_FILE:graphrun> ${CMAKE_SOURCE_DIR})
set_tests_properties(docs.small_whisper PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")

# debugging.md: the printers for gdb.
add_test(NAME docs.gdb COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/docs/gdb.sh $<TARGET_FILE:graphrun> ${CMAKE_SOURCE_DIR} $<TARGET_FILE:make_tones>)
set_tests_properties(docs.gdb PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")

# Links and paths, the form of the pages, and the examples of pages that are run as they stand.
add_test(NAME docs.links COMMAND ${python_or_skip} ${CMAKE_CURRENT_SOURCE_DIR}/docs/links.py)
add_test(NAME docs.variables COMMAND ${python_or_skip} ${CMAKE_CURRENT_SOURCE_DIR}/docs/variables.py)
add_test(NAME docs.form COMMAND ${python_or_skip} ${CMAKE_CURRENT_SOURCE_DIR}/docs/form.py)
foreach(page README.md docs/coming-from.md docs/recipes.md)
  string(TOLOWER ${page} test)
  string(REGEX REPLACE "^docs/|[.]md$" "" test ${test})
  string(REPLACE - _ test ${test})
  add_test(NAME docs.${test} COMMAND ${python_or_skip} ${CMAKE_CURRENT_SOURCE_DIR}/docs/page.py
    $<TARGET_FILE:graphrun> ${CMAKE_BINARY_DIR} ${page})
  set_tests_properties(docs.${test} PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
endforeach()

add_test(NAME docs.recipes_in_torch COMMAND ${python_or_skip} ${CMAKE_CURRENT_SOURCE_DIR}/docs/recipes.py $<TARGET_FILE:graphrun>)
set_tests_properties(docs.recipes_in_torch PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")

# add-a-data-source.md: a folder, and a line of sources.def.
gr_docs_copy(runtime/data/sources.def "GR_SOURCE(table, \"rows of numbers\")"
             "GR_SOURCE(table, \"rows of numbers\")\nGR_SOURCE(waves, \"notes as waves\")")
foreach(file waves.c keys.def)
  configure_file(docs/waves/${file} ${copy}/runtime/data/waves/${file} COPYONLY)
endforeach()
gr_sources(${copy}/runtime/data/sources.def ${copy}/compose/schema waves)
add_executable(test_docs_source docs/test_source.c ${waves} ../runtime/data/sources.c
                                ../compose/schema/schema.c)
target_include_directories(test_docs_source BEFORE PRIVATE ${copy})
target_link_libraries(test_docs_source gr_data)
add_test(NAME docs.source COMMAND test_docs_source)

# add-a-strategy.md: a row of strategies.h. It is the last one, so that the enum of the other objects holds.
set(copy ${CMAKE_BINARY_DIR}/docs_strategy)
gr_docs_copy(compiler/strategies.h "  row(none, 0, \"dp\", NULL, false, )"
             "  row(none, 0, \"dp\", NULL, false, ) row(hzero1, 1, \"replicate\", \"shard\", false, )")
add_executable(graphrun_strategy ../cli/main.c ../job/settings.c ../job/sharding.c ../compose/schema/schema.c)
target_include_directories(graphrun_strategy BEFORE PRIVATE ${copy})
target_link_libraries(graphrun_strategy gr_cli)
set_target_properties(graphrun_strategy PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
add_test(NAME docs.strategy COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/docs/strategy.sh $<TARGET_FILE:graphrun_strategy>
  ${CMAKE_SOURCE_DIR} $<TARGET_FILE:make_tones>)
set_tests_properties(docs.strategy PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
