# SAME_ADDRESSES: the words before a fuzz target that start it without randomisation of addresses and with an environment of always
# the same size, or none where that is refused (as in some containers); SAME_INPUTS: options of libFuzzer. What is explored depends
# on the order of pointers in tables: with both, equal runs try the same inputs, so that a test does not find by chance what it did
# not find before.
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
set(SAME_INPUTS -seed=1 -purge_allocator_interval=-1)
