# One interface target, troika_torch, for both generations of libtorch: Debian's (CPU) and the one inside a pip torch
# (CUDA), chosen with -DTROIKA_TORCH_DIR=<.../site-packages/torch>. find_package(Torch) is not used: with a CUDA wheel it
# rewrites compiler flags and wants a toolkit.
set(TROIKA_TORCH_DIR "" CACHE PATH "folder of a pip torch; empty: the system's libtorch")
add_library(troika_torch INTERFACE)
target_compile_definitions(troika_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
if(TROIKA_TORCH_DIR)
  # It brings headers of another fmt than the one that is linked.
  if(EXISTS ${TROIKA_TORCH_DIR}/include/fmt)
    get_target_property(fmt_folder fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
    file(CREATE_LINK ${fmt_folder}/fmt ${CMAKE_BINARY_DIR}/include/fmt SYMBOLIC)
    include_directories(BEFORE ${CMAKE_BINARY_DIR}/include)
  endif()
  target_include_directories(troika_torch SYSTEM INTERFACE ${TROIKA_TORCH_DIR}/include
                             ${TROIKA_TORCH_DIR}/include/torch/csrc/api/include)
  target_link_directories(troika_torch INTERFACE ${TROIKA_TORCH_DIR}/lib)
  # A pip torch was linked with parts of a newer libstdc++, which it exports, among them std::filesystem functions that call
  # what is not there. The system's must be found first, so it is the first library that a program names.
  target_link_options(troika_torch INTERFACE "SHELL:-Wl,--no-as-needed -lstdc++")
  set(TROIKA_TORCH_LIBRARIES torch torch_cpu c10)
  if(EXISTS ${TROIKA_TORCH_DIR}/lib/libtorch_cuda.so)
    list(APPEND TROIKA_TORCH_LIBRARIES torch_cuda c10_cuda)
    target_compile_definitions(troika_torch INTERFACE TROIKA_WITH_CUDA=1)
    # CUDA kernels register by static initialisers, so the library must stay linked though no symbol of it is named.
    target_link_options(troika_torch INTERFACE -Wl,--no-as-needed -Wl,--allow-shlib-undefined)
  endif()
  target_link_libraries(troika_torch INTERFACE ${TROIKA_TORCH_LIBRARIES})
  set(CMAKE_BUILD_RPATH ${TROIKA_TORCH_DIR}/lib)
else()
  target_include_directories(troika_torch SYSTEM INTERFACE ${CMAKE_SYSROOT}/usr/include/torch/csrc/api/include)
  target_link_libraries(troika_torch INTERFACE torch torch_cpu c10)
endif()
