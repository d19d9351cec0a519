add_executable(test_nvrtc gpu/test_nvrtc.c)
target_link_libraries(test_nvrtc gr_ops ${CMAKE_DL_LIBS})
add_test(NAME gpu.nvrtc COMMAND test_nvrtc)
