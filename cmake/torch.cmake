# libtorch, which judges operations and gradients in tests: Debian's.
add_library(troika_torch INTERFACE)
target_include_directories(troika_torch SYSTEM INTERFACE ${CMAKE_SYSROOT}/usr/include/torch/csrc/api/include)
target_link_libraries(troika_torch INTERFACE torch torch_cpu c10)
