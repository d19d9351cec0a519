# Export to ONNX. What reads the files back is protobuf-c; what runs them is onnxruntime, where a Python
# has it (GR_ONNX_PYTHON names one).
get_target_property(there gr_dep_PROTOBUF INTERFACE_COMPILE_DEFINITIONS)
if(there)
  add_executable(test_onnx onnx/test_onnx.c $<TARGET_OBJECTS:gr_onnx_proto>)
  target_link_libraries(test_onnx gr_compiler gr_dep_PROTOBUF)
  add_dependencies(test_onnx gr_onnx_header)
  add_test(NAME onnx.file COMMAND test_onnx)
  add_executable(onnx_op_cases onnx/op_cases.c)
  target_link_libraries(onnx_op_cases test_ops_bench gr_compiler)
  add_executable(onnx_reference onnx/reference.c)
  target_link_libraries(onnx_reference gr_cli)
endif()
# Import from ONNX.
add_executable(onnx_gradients onnx/gradients.c)
target_link_libraries(onnx_gradients gr_cli)
add_test(NAME onnx.import COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/onnx/import.sh
  $<TARGET_FILE:graphrun> ${CMAKE_SOURCE_DIR} $<TARGET_FILE:onnx_gradients>)
set_tests_properties(onnx.import PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
# The module has the program's stamp: a search with the address sanitiser needs ASAN_OPTIONS=detect_odr_violation=0.
if(GR_FUZZ)
  add_executable(fuzz_onnx fuzz/fuzz_onnx.c)
  target_compile_options(fuzz_onnx PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz_onnx PRIVATE -fsanitize=fuzzer)
else()
  add_executable(fuzz_onnx fuzz/fuzz_onnx.c $<TARGET_OBJECTS:fuzz_replay>)
  add_test(NAME onnx.fuzz COMMAND fuzz_onnx ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/onnx)
endif()
target_link_libraries(fuzz_onnx PRIVATE gr_compiler)
