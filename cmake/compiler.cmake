# Flags for every target. No -march: the program runs on any machine of the architecture; no -ffast-math and no
# contraction: bits must not depend on how a loop was vectorised.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-unused-parameter -ffp-contract=off -g1)
if(TROIKA_WERROR)
  add_compile_options(-Werror)
endif()
# In C++20 gcc 12 warns of std::string's own code (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13 AND CMAKE_CXX_STANDARD GREATER 17)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow>")
endif()

# Without collections of its heap, which starts at the size of the precompiled header, gcc is a quarter faster; it takes
# 100 MB more at most.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(--param=ggc-min-heapsize=1048576)
endif()

# What is worth more than -O2 asks for it (module cpu).
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(CCACHE ccache)
if(CCACHE)
  # The precompiled header needs this sloppiness, else ccache refuses every file that uses it.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()

set(TROIKA_SANITIZE "" CACHE STRING "address,undefined or thread")
if(TROIKA_SANITIZE)
  add_compile_options(-fsanitize=${TROIKA_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TROIKA_SANITIZE})
endif()
