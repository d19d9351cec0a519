add_library(test_data_fixture OBJECT runtime/data/fixture.c)
target_link_libraries(test_data_fixture PRIVATE gr_data)
foreach(name files audio features vocab manifest data order loader batches loader_errors loader_stop asterisk idx table_files table_mapping table_csv table_format table_kinds table table_corners series texts corpus video decoder tokenizer
        transform transform_values transform_frames series_transforms
        picture image masks join preview sampler video_compressed market corners parquet shard packed recordings archive)
  add_executable(test_data_${name} runtime/data/test_${name}.c $<TARGET_OBJECTS:test_data_fixture>)
  target_link_libraries(test_data_${name} gr_data)
  target_compile_definitions(test_data_${name} PRIVATE GR_GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/golden")
  add_test(NAME data.${name} COMMAND test_data_${name})
endforeach()
# They write what is read.
target_link_libraries(test_data_picture gr_dep_JPEG)
add_library(mp4 STATIC mp4.c)
target_link_libraries(mp4 gr_dep_LIBAV)
target_link_libraries(test_data_video_compressed mp4)

# Live: files that pyarrow makes. GR_PARQUET_PYTHON names a Python that has it.
add_test(NAME data.parquet_pyarrow COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/golden/parquet_live.sh
         $<TARGET_FILE:test_data_parquet> ${CMAKE_CURRENT_SOURCE_DIR}/golden/parquet.py)

# Files of data and weights, as the fuzz targets of compose.cmake.
set(GR_DATA_FUZZ picture arrays corpus tokenizer weights video market table parquet manifest labels audio json archive)
foreach(target ${GR_DATA_FUZZ})
  if(GR_FUZZ)
    add_executable(fuzz_${target} fuzz/fuzz_${target}.c)
    target_compile_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(fuzz_${target} fuzz/fuzz_${target}.c $<TARGET_OBJECTS:fuzz_replay>)
    add_test(NAME data.fuzz_${target}
             COMMAND fuzz_${target} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${target})
  endif()
  target_link_libraries(fuzz_${target} PRIVATE gr_data gr_checkpoint)
endforeach()
