# add_fuzz_tests(<name> [RUNS <number>] FULL_RUNS <number> SEEDS <list> [SHORT_SEEDS <list>] [LABELS ...] [FIXTURES ...]
#                COMMAND <target of libFuzzer and its options>)
#   The test <name>, with label short, of so many inputs, the same each time, unless there is no RUNS; and <name>-full, with label
#   full, of so many, which `scripts/test --full` runs in its place. The inputs are made from files that a file lists.
#
# A target starts without randomisation of addresses and with an environment of always the same size, unless that is refused (as in
# some containers): what is explored depends on the order of pointers in tables. So equal runs try the same inputs, and a test does
# not find by chance what it did not find before.
find_program(SETARCH setarch)
mark_as_advanced(SETARCH)
set(SAME_ADDRESSES)
if(SETARCH)
  set(prefix ${SETARCH} ${CMAKE_HOST_SYSTEM_PROCESSOR} -R env -i PATH=/usr/bin:/bin)
  execute_process(COMMAND ${prefix} true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
  if(NOT refused)
    set(SAME_ADDRESSES ${prefix})
  endif()
endif()
# libFuzzer empties the allocator's quarantine once a second, which moves what is allocated afterwards.
set(SAME_INPUTS -seed=1 -purge_allocator_interval=-1 -len_control=0)

function(add_fuzz_tests name)
  cmake_parse_arguments(ARG "" "RUNS;FULL_RUNS;SEEDS;SHORT_SEEDS" "LABELS;FIXTURES;COMMAND" ${ARGN})
  if(NOT ARG_SHORT_SEEDS)
    set(ARG_SHORT_SEEDS ${ARG_SEEDS})
  endif()
  set(command ${SAME_ADDRESSES} ${ARG_COMMAND} ${SAME_INPUTS})
  if(ARG_RUNS)
    add_test(NAME ${name} COMMAND ${command} -seed_inputs=@${ARG_SHORT_SEEDS} -runs=${ARG_RUNS})
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED "${ARG_FIXTURES}" LABELS "${ARG_LABELS};short")
  endif()
  add_test(NAME ${name}-full COMMAND ${command} -seed_inputs=@${ARG_SEEDS} -runs=${ARG_FULL_RUNS})
  set_tests_properties(${name}-full PROPERTIES FIXTURES_REQUIRED "${ARG_FIXTURES}" LABELS "${ARG_LABELS};full" TIMEOUT 3600)
endfunction()
