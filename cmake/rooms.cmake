# A room is a folder under src/ and one static library, troika_<room>.
#
#   troika_room(NAME [TORCH] [DEPS lib ...])
#
# Every *.cc in the folder (and below) that is not a test belongs to the library. Tests stand beside the code and the file
# name tells the kind: x_test.cc (unit), x_contract_test.cc, x_parity_test.cc, x_golden_test.cc, x_fault_test.cc,
# x_process_test.cc, x_timed_test.cc (measures time: has the machine to itself), x_gpu_test.cc. All files of one kind in one
# room make one program <room>_<kind>_test with that CTest label. TROIKA_SHARDS_<program>, set before the room, cuts it into
# that many CTest entries. Entries that measure time have the machine to themselves.
set(TROIKA_TEST_KINDS contract parity golden fault process timed gpu)

add_library(troika_pch OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
target_link_libraries(troika_pch PUBLIC troika_torch fmt::fmt)
target_include_directories(troika_pch PUBLIC ${CMAKE_SOURCE_DIR}/src)
target_precompile_headers(troika_pch PRIVATE <ATen/ATen.h> <fmt/format.h> <string> <vector> <memory> <map>)

function(troika_room name)
  cmake_parse_arguments(ROOM "TORCH" "" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|_test_support\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$|_test_support\\.cc$")
  if(NOT sources)
    add_library(troika_${name} INTERFACE)
    return()
  endif()
  add_library(troika_${name} STATIC ${sources})
  target_include_directories(troika_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(troika_${name} PUBLIC ${ROOM_DEPS} fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)
  if(ROOM_TORCH)
    target_link_libraries(troika_${name} PUBLIC troika_torch)
    target_precompile_headers(troika_${name} REUSE_FROM troika_pch)
  endif()
  if(TROIKA_TESTS)
    troika_room_tests(${name} "${ROOM_TORCH}" "${tests}")
  endif()
endfunction()

function(troika_room_tests name torch tests)
  set(support ${tests})
  list(FILTER support INCLUDE REGEX "_test_support\\.cc$")
  list(FILTER tests EXCLUDE REGEX "_test_support\\.cc$")
  foreach(kind ${TROIKA_TEST_KINDS})
    set(of_kind ${tests})
    list(FILTER of_kind INCLUDE REGEX "_${kind}_test\\.cc$")
    list(FILTER tests EXCLUDE REGEX "_${kind}_test\\.cc$")
    troika_test_program(${name} ${kind} "${torch}" "${support}" "${of_kind}")
  endforeach()
  troika_test_program(${name} unit "${torch}" "${support}" "${tests}")
endfunction()

function(troika_test_program room kind torch support sources)
  if(NOT sources OR (kind STREQUAL "gpu" AND NOT TROIKA_TORCH_DIR))
    return()
  endif()
  set(program ${room}_${kind}_test)
  add_executable(${program} ${sources} ${support})
  target_link_libraries(${program} PRIVATE troika_${room} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${program} PRIVATE TROIKA_SOURCE_DIR="${CMAKE_SOURCE_DIR}" TROIKA_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_compile_options(${program} PRIVATE $<$<CONFIG:Release>:-O1>)  # compiles in two thirds of the time
  if(torch)
    target_precompile_headers(${program} REUSE_FROM troika_pch)
    target_compile_options(${program} PRIVATE -fPIC)  # as the header was compiled; executables get -fPIE by default
  endif()
  set(environment "OMP_NUM_THREADS=1;GLOG_minloglevel=2")
  if(TROIKA_SANITIZE)  # a refused allocation is a null pointer, as without a sanitizer
    list(APPEND environment "ASAN_OPTIONS=allocator_may_return_null=1" "TSAN_OPTIONS=allocator_may_return_null=1")
  endif()
  if(TROIKA_SHARDS_${program})
    math(EXPR last "${TROIKA_SHARDS_${program}} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${program}_${shard} COMMAND ${program} --gtest_brief=1)
      set_tests_properties(${program}_${shard} PROPERTIES LABELS ${kind} TIMEOUT 600 COST 40
        ENVIRONMENT "${environment};GTEST_TOTAL_SHARDS=${TROIKA_SHARDS_${program}};GTEST_SHARD_INDEX=${shard}")
    endforeach()
  else()
    add_test(NAME ${program} COMMAND ${program} --gtest_brief=1)
    set_tests_properties(${program} PROPERTIES LABELS ${kind} TIMEOUT 600 ENVIRONMENT "${environment}")
  endif()
  # Those of engine_commands' faults start several processes with time limits each.
  if(kind STREQUAL "timed" OR (room STREQUAL "engine_commands" AND kind STREQUAL "fault"))
    set_tests_properties(${program} PROPERTIES RUN_SERIAL ON)
  endif()
  if(kind STREQUAL "process" OR room MATCHES "commands$")  # these start the programs
    add_dependencies(${program} troika troika-engine)
  endif()
endfunction()
