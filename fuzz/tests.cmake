# Fuzzing, in the full tier: one entry builds preset fuzz, then each target runs for a minute from its corpus.
add_test(NAME fuzz_build COMMAND ${CMAKE_SOURCE_DIR}/fuzz/build.sh)
set_tests_properties(fuzz_build PROPERTIES LABELS "fuzz;full" FIXTURES_SETUP fuzz_build PROCESSORS 2 COST 300 TIMEOUT 900)
set(TROIKA_FUZZ_SECONDS 60)
foreach(target ${fuzz_targets})
  if(target MATCHES "model_configs|programs|templates|sweeps")  # files that users write themselves
    set(TROIKA_FUZZ_SECONDS 15)
  endif()
  add_test(NAME fuzz_${target} COMMAND ${CMAKE_SOURCE_DIR}/fuzz/run.sh ${target} ${TROIKA_FUZZ_SECONDS})
  set_tests_properties(fuzz_${target} PROPERTIES LABELS "fuzz;full" FIXTURES_REQUIRED fuzz_build COST 60 TIMEOUT 300)
endforeach()
