# The kernels of module cuda. nvcc and the runtime's headers come from the nvidia packages that lie beside a pip torch, or from
# an installed toolkit (nvcc in PATH, or /usr/local/cuda). The runtime library is the one that torch loads.
option(TROIKA_CUDA "compile the CUDA kernels, against the pip torch in TROIKA_TORCH_DIR" OFF)
if(NOT TROIKA_CUDA)
  return()
endif()

if(NOT EXISTS "${TROIKA_TORCH_DIR}/lib/libtorch_cuda.so")
  message(FATAL_ERROR "TROIKA_CUDA needs the libtorch of a pip torch with CUDA: pip install torch, then "
                      "-DTROIKA_TORCH_DIR=<.../site-packages/torch> or TROIKA_TORCH_DIR in the environment; got '${TROIKA_TORCH_DIR}'")
endif()
cmake_path(GET TROIKA_TORCH_DIR PARENT_PATH site_packages)
file(GLOB packaged_toolkits LIST_DIRECTORIES true ${site_packages}/nvidia/cu[0-9]*)
set(packaged_nvcc ${packaged_toolkits})
list(TRANSFORM packaged_nvcc APPEND /bin)
find_program(TROIKA_NVCC nvcc HINTS ${packaged_nvcc} PATHS /usr/local/cuda/bin)
if(NOT TROIKA_NVCC)
  message(FATAL_ERROR "no nvcc beside ${TROIKA_TORCH_DIR}, in PATH or in /usr/local/cuda/bin: pip install "
                      "nvidia-cuda-nvcc nvidia-cuda-crt nvidia-cuda-cccl nvidia-nvvm of torch's CUDA version")
endif()
cmake_path(GET TROIKA_NVCC PARENT_PATH toolkit)
cmake_path(GET toolkit PARENT_PATH toolkit)

set(CMAKE_CUDA_COMPILER ${TROIKA_NVCC})
set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;90-virtual" CACHE STRING "GPUs that kernels are compiled for; virtual: later ones too")
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
set(CMAKE_CUDA_STANDARD 17)  # the kernels include nothing of libtorch
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
if(NOT EXISTS ${toolkit}/lib64)  # nvcc looks there; packages have lib
  set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} -L${toolkit}/lib")
endif()
enable_language(CUDA)
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")

file(GLOB runtime ${toolkit}/lib/libcudart.so.[0-9]* ${toolkit}/lib64/libcudart.so.[0-9]*)
list(GET runtime 0 runtime)
target_include_directories(troika_torch SYSTEM INTERFACE ${toolkit}/include)
target_link_libraries(troika_torch INTERFACE ${runtime})
target_compile_definitions(troika_torch INTERFACE TROIKA_CUDA_KERNELS)
cmake_path(GET runtime PARENT_PATH runtime_folder)
list(APPEND CMAKE_BUILD_RPATH ${runtime_folder})
