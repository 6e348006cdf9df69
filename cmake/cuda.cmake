# Device code for the kernels of module cuda, which becomes part of the program: nvcc makes PTX of them, ptxas code for each kind of GPU,
# zstd makes it small. Drivers from 525 on take it where ptxas is CUDA 12's (12.8 or 12.9 know all of these GPUs). No header of CUDA
# and nothing of its runtime is used otherwise.
option(TROIKA_CUDA "make device code for NVIDIA GPUs" OFF)
set(TROIKA_CUDA_GPUS 80 86 89 90 100 120 CACHE STRING "compute capabilities that code is made for; text for later ones is always made")

# Sets CODE in the caller to the sources that define gpu::code_assets().
function(troika_device_code code)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/code)
  file(MAKE_DIRECTORY ${folder})
  if(TROIKA_CUDA)
    file(GLOB packages $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia $ENV{CONDA_PREFIX}/lib/python3*/site-packages/nvidia)
    set(nvcc_folders)
    set(ptxas_folders)
    foreach(package ${packages})
      file(GLOB found ${package}/cu1[3-9]/bin)
      list(APPEND nvcc_folders ${found})
      list(APPEND ptxas_folders ${package}/cuda_nvcc/bin)
    endforeach()
    find_program(TROIKA_NVCC nvcc HINTS ${nvcc_folders} PATHS /usr/local/cuda/bin)
    find_program(TROIKA_PTXAS ptxas HINTS ${ptxas_folders} ${nvcc_folders} PATHS /usr/local/cuda/bin)
    find_program(TROIKA_ZSTD zstd)
    foreach(tool NVCC PTXAS ZSTD)
      if(NOT TROIKA_${tool})
        string(TOLOWER ${tool} name)
        message(FATAL_ERROR "TROIKA_CUDA needs ${name}: pip install nvidia-cuda-nvcc nvidia-cuda-crt nvidia-cuda-cccl nvidia-nvvm "
                            "nvidia-cuda-runtime nvidia-cuda-nvcc-cu12 into an active environment, or install CUDA's toolkit, and zstd")
      endif()
    endforeach()
    set(source ${CMAKE_SOURCE_DIR}/src/engine/cuda/kernels.cu)
    file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/engine/cuda/*.h ${CMAKE_SOURCE_DIR}/src/ground/base/*.h)
    set(text ${CMAKE_CURRENT_BINARY_DIR}/kernels.ptx)
    # Every operation rounds once, as on the CPU. The text needs nothing that PTX 8.0, CUDA 12.0's, does not have.
    add_custom_command(OUTPUT ${text} DEPENDS ${source} ${headers}
      COMMAND ${TROIKA_NVCC} -std=c++17 -O3 -fmad=false --expt-relaxed-constexpr -I${CMAKE_SOURCE_DIR}/src/engine -I${CMAKE_SOURCE_DIR}/src/ground -arch=compute_80 -ptx ${source} -o ${text}
      COMMAND sed -i -E "s/^\\.version .*/.version 8.0/" ${text} VERBATIM)
    add_custom_command(OUTPUT ${folder}/text_80.zst DEPENDS ${text} COMMAND ${TROIKA_ZSTD} -q -f -19 ${text} -o ${folder}/text_80.zst VERBATIM)
    set(files ${folder}/text_80.zst)
    foreach(gpu ${TROIKA_CUDA_GPUS})
      set(binary ${CMAKE_CURRENT_BINARY_DIR}/${gpu}.cubin)
      add_custom_command(OUTPUT ${folder}/code_${gpu}.zst DEPENDS ${text}
        COMMAND ${TROIKA_PTXAS} -arch=sm_${gpu} -O3 ${text} -o ${binary}
        COMMAND ${TROIKA_ZSTD} -q -f -19 ${binary} -o ${folder}/code_${gpu}.zst VERBATIM)
      list(APPEND files ${folder}/code_${gpu}.zst)
    endforeach()
    foreach(file ${files})  # which troika_embed lists; the commands make them
      if(NOT EXISTS ${file})
        file(TOUCH ${file})
      endif()
    endforeach()
  else()
    file(REMOVE_RECURSE ${folder})
    file(MAKE_DIRECTORY ${folder})
  endif()
  troika_embed(sources ${folder} troika::gpu::code_assets gpu/library.h)
  set(${code} ${sources} PARENT_SCOPE)
endfunction()
