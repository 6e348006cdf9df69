# Third parties from their sources, linked statically: tools/portable.sh unpacks them. The targets have the names of those that
# dependencies.cmake finds on a system.
enable_language(C)
set(sources ${TROIKA_FETCHED}/unpacked)

# portable_library(NAME FILES... [INCLUDE folders] [DEFINE definitions])
add_compile_options(-g0 -ffunction-sections -fdata-sections)
add_link_options(LINKER:--gc-sections)
function(portable_library name)
  cmake_parse_arguments(LIBRARY "" "" "INCLUDE;DEFINE" ${ARGN})
  add_library(${name} STATIC ${LIBRARY_UNPARSED_ARGUMENTS})
  target_include_directories(${name} SYSTEM PUBLIC ${LIBRARY_INCLUDE})
  target_compile_definitions(${name} PUBLIC ${LIBRARY_DEFINE})
  target_compile_options(${name} PRIVATE -w)
  set_target_properties(${name} PROPERTIES CXX_STANDARD 17 C_STANDARD 11 C_EXTENSIONS ON)
endfunction()

portable_library(portable_fmt ${sources}/fmtlib/src/format.cc ${sources}/fmtlib/src/os.cc INCLUDE ${sources}/fmtlib/include)
add_library(fmt::fmt ALIAS portable_fmt)

add_library(portable_json INTERFACE)
target_include_directories(portable_json SYSTEM INTERFACE ${sources}/nlohmann-json3/include)
add_library(nlohmann_json::nlohmann_json ALIAS portable_json)

file(GLOB spdlog ${sources}/spdlog/src/*.cpp)
list(FILTER spdlog EXCLUDE REGEX "/fmt\\.cpp$")
portable_library(portable_spdlog ${spdlog} INCLUDE ${sources}/spdlog/include DEFINE SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL)
target_link_libraries(portable_spdlog PUBLIC portable_fmt)
add_library(spdlog::spdlog ALIAS portable_spdlog)

file(GLOB yaml ${sources}/yaml-cpp/src/*.cpp)
portable_library(yaml-cpp ${yaml} INCLUDE ${sources}/yaml-cpp/include DEFINE YAML_CPP_STATIC_DEFINE)

# As its own build makes them of what it distributes.
configure_file(${sources}/pcre2/src/pcre2.h.generic ${CMAKE_BINARY_DIR}/portable/pcre2/pcre2.h COPYONLY)
configure_file(${sources}/pcre2/src/config.h.generic ${CMAKE_BINARY_DIR}/portable/pcre2/config.h COPYONLY)
configure_file(${sources}/pcre2/src/pcre2_chartables.c.dist ${CMAKE_BINARY_DIR}/portable/pcre2/pcre2_chartables.c COPYONLY)
set(pcre2 ${CMAKE_BINARY_DIR}/portable/pcre2/pcre2_chartables.c)
foreach(part auto_possess compile config context convert dfa_match error extuni find_bracket jit_compile maketables match match_data newline
        ord2utf pattern_info script_run serialize string_utils study substitute substring tables ucd valid_utf xclass)
  list(APPEND pcre2 ${sources}/pcre2/src/pcre2_${part}.c)
endforeach()
portable_library(portable_pcre2 ${pcre2} INCLUDE ${CMAKE_BINARY_DIR}/portable/pcre2 ${sources}/pcre2/src DEFINE PCRE2_STATIC)
target_compile_definitions(portable_pcre2 PRIVATE HAVE_CONFIG_H PCRE2_CODE_UNIT_WIDTH=8 SUPPORT_PCRE2_8 SUPPORT_UNICODE SUPPORT_JIT HAVE_MEMMOVE
                           HAVE_STDINT_H HAVE_INTTYPES_H HAVE_STRERROR _GNU_SOURCE)
add_library(PkgConfig::PCRE2 ALIAS portable_pcre2)

portable_library(portable_utf8proc ${sources}/utf8proc/utf8proc.c INCLUDE ${sources}/utf8proc DEFINE UTF8PROC_STATIC)
add_library(PkgConfig::UTF8PROC ALIAS portable_utf8proc)

portable_library(portable_xxhash ${sources}/xxhash/xxhash.c INCLUDE ${sources}/xxhash)
add_library(PkgConfig::XXHASH ALIAS portable_xxhash)

file(GLOB zlib ${sources}/zlib/*.c)
portable_library(portable_zlib ${zlib} INCLUDE ${sources}/zlib DEFINE)
target_compile_definitions(portable_zlib PRIVATE HAVE_UNISTD_H _LARGEFILE64_SOURCE=1)
add_library(PkgConfig::ZLIB ALIAS portable_zlib)

file(GLOB zstd ${sources}/libzstd/lib/common/*.c ${sources}/libzstd/lib/compress/*.c ${sources}/libzstd/lib/decompress/*.c)
portable_library(portable_zstd ${zstd} INCLUDE ${sources}/libzstd/lib)
target_compile_definitions(portable_zstd PRIVATE ZSTD_DISABLE_ASM XXH_NAMESPACE=ZSTD_)
add_library(PkgConfig::ZSTD ALIAS portable_zstd)

set(sodium ${sources}/libsodium/src/libsodium)
set(VERSION 1.0.18)
set(SODIUM_LIBRARY_VERSION_MAJOR 10)
set(SODIUM_LIBRARY_VERSION_MINOR 3)
set(SODIUM_LIBRARY_MINIMAL_DEF "")
configure_file(${sodium}/include/sodium/version.h.in ${CMAKE_BINARY_DIR}/portable/sodium/sodium/version.h @ONLY)
file(GLOB_RECURSE sodium_files ${sodium}/*.c)
portable_library(portable_sodium ${sodium_files}
                 INCLUDE ${CMAKE_BINARY_DIR}/portable/sodium ${sodium}/include ${sodium}/include/sodium
                         ${CMAKE_BINARY_DIR}/portable/sodium/sodium DEFINE SODIUM_STATIC)
target_compile_definitions(portable_sodium PRIVATE CONFIGURED=1 HAVE_PTHREAD=1 HAVE_SYS_MMAN_H=1 NATIVE_LITTLE_ENDIAN=1 _GNU_SOURCE)
add_library(PkgConfig::SODIUM ALIAS portable_sodium)

portable_library(portable_hwy ${sources}/highway/hwy/aligned_allocator.cc ${sources}/highway/hwy/targets.cc ${sources}/highway/hwy/per_target.cc
                 INCLUDE ${sources}/highway DEFINE HWY_STATIC_DEFINE)
if(TROIKA_PORTABLE STREQUAL x86_64)  # clang asks for this feature by name, Highway does not yet
  target_compile_options(portable_hwy PUBLIC -mevex512)
endif()
add_library(hwy::hwy ALIAS portable_hwy)

# Of oneDNN the products of matrices alone: what dnnl_sgemm and dnnl_gemm_bf16bf16f32 reach. The products of integers are in no
# section that these keep. What writes a kernel's instructions runs once, and takes a minute a file to compile where its calls are inlined.
if(TROIKA_PORTABLE STREQUAL x86_64)
  set(DNNL_CPU_THREADING_RUNTIME SEQ)
  set(DNNL_CPU_RUNTIME SEQ)
  set(DNNL_GPU_RUNTIME NONE)
  set(DNNL_GPU_VENDOR NONE)
  set(BUILD_GEMM_KERNELS_ALL ON)
  set(BUILD_PRIMITIVE_CPU_ISA_ALL ON)
  set(DNNL_VERSION_MAJOR 3)
  set(DNNL_VERSION_MINOR 7)
  set(DNNL_VERSION_PATCH 2)
  set(DNNL_VERSION_HASH N/A)
  foreach(header config version version_hash)
    configure_file(${sources}/onednn/include/oneapi/dnnl/dnnl_${header}.h.in ${CMAKE_BINARY_DIR}/portable/onednn/oneapi/dnnl/dnnl_${header}.h)
  endforeach()
  file(GLOB_RECURSE onednn ${sources}/onednn/src/cpu/gemm/*.cpp ${sources}/onednn/src/cpu/x64/gemm/*.cpp)
  list(FILTER onednn EXCLUDE REGEX "x64/gemm/s8x8s32/")
  foreach(part common/bfloat16 common/gemm common/utils common/verbose cpu/bfloat16 cpu/jit_utils/jit_utils cpu/jit_utils/linux_perf/linux_perf
          cpu/x64/cpu_isa_traits cpu/x64/gemm/s8x8s32/jit_avx512_core_gemv_s8x8s32)
    list(APPEND onednn ${sources}/onednn/src/${part}.cpp)
  endforeach()
  portable_library(portable_onednn ${onednn} INCLUDE ${CMAKE_BINARY_DIR}/portable/onednn ${sources}/onednn/include)
  target_include_directories(portable_onednn PRIVATE ${sources}/onednn/src)
  target_compile_definitions(portable_onednn PRIVATE __STDC_LIMIT_MACROS __STDC_CONSTANT_MACROS DISABLE_VERBOSE DNNL_DISABLE_PRIMITIVE_CACHE
                             DNNL_ENABLE_JIT_PROFILING=0 DNNL_X64=1)
  list(FILTER onednn INCLUDE REGEX "_autogen\\.cpp$")
  set_source_files_properties(${onednn} PROPERTIES COMPILE_OPTIONS -fno-inline)
  set(TROIKA_GEMM portable_onednn)
  set(TROIKA_GEMM_DEFINITIONS TROIKA_WITH_DNNL)
endif()

foreach(licence fmt=${sources}/fmtlib/LICENSE.rst spdlog=${sources}/spdlog/LICENSE yaml-cpp=${sources}/yaml-cpp/LICENSE pcre2=${sources}/pcre2/LICENCE
        utf8proc=${sources}/utf8proc/LICENSE.md xxhash=${sources}/xxhash/LICENSE libsodium=${sources}/libsodium/LICENSE zlib=${sources}/zlib/LICENSE
        zstd=${sources}/libzstd/LICENSE highway=${sources}/highway/LICENSE nlohmann-json=${sources}/nlohmann-json3/LICENSE.MIT
        llvm=${TROIKA_FETCHED}/environment/lib/python3/site-packages/ziglang/lib/libcxx/LICENSE.TXT
        zig=${TROIKA_FETCHED}/environment/lib/python3/site-packages/ziglang/LICENSE)
  list(APPEND TROIKA_LICENCES ${licence})
endforeach()
if(TROIKA_PORTABLE STREQUAL x86_64)
  list(APPEND TROIKA_LICENCES onednn=${sources}/onednn/LICENSE onednn-third-parties=${sources}/onednn/THIRD-PARTY-PROGRAMS)
endif()
