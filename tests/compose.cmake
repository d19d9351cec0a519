# Composition: unit tests, recorded results, broken files.
add_executable(test_conformance compose/conformance.c compose/json_read.c)
target_include_directories(test_conformance PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/compose)
target_link_libraries(test_conformance PRIVATE gr_compose)
add_test(NAME compose.conformance
         COMMAND test_conformance ${CMAKE_SOURCE_DIR}/../shared/conformance/hydra
                 ${CMAKE_CURRENT_BINARY_DIR})
