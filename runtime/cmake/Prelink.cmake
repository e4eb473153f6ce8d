# moert_prelink(<name> [START_CODE] OBJECTS <object libraries> [ARCHIVES <files>])
#
# Links objects into one relocatable object, lib/<name>.o of the whole build, together with the members of the archives, of
# libgcc and of libc_nonshared that they use; what is left undefined is found in libc.so.6 and libm.so.6. START_CODE adds the
# compiler's Scrt1.o, crti.o and crtn.o, which an executable needs. (crtbeginS.o and crtendS.o are left out: they serve
# destructors of C++ statics and transactional memory, of which there are none.) Only `_start` and the runtime's own
# functions stay visible to a program's object and to whoever loads the result.
function(moert_find_crt variable file)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${file} OUTPUT_VARIABLE path
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${path}" OR NOT EXISTS "${path}")
    message(FATAL_ERROR "${CMAKE_C_COMPILER} finds no ${file}: install libc6-dev and a compiler's run-time library")
  endif()
  set(${variable} ${path} PARENT_SCOPE)
endfunction()

function(moert_prelink name)
  cmake_parse_arguments(ARG "START_CODE" "" "OBJECTS;ARCHIVES" ${ARGN})
  set(first)
  set(last)
  if(ARG_START_CODE)
    moert_find_crt(scrt1 Scrt1.o)
    moert_find_crt(crti crti.o)
    moert_find_crt(crtn crtn.o)
    set(first ${scrt1} ${crti})
    set(last ${crtn})
  endif()
  moert_find_crt(libgcc libgcc.a)
  moert_find_crt(nonshared libc_nonshared.a)
  set(objects)
  foreach(library ${ARG_OBJECTS})
    list(APPEND objects $<TARGET_OBJECTS:${library}>)
  endforeach()
  set(output ${CMAKE_BINARY_DIR}/lib/moe-mlir/${name}.o)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib/moe-mlir
    COMMAND ${CMAKE_CXX_COMPILER} -nostdlib -r -o ${output} ${first} ${objects} ${ARG_ARCHIVES} ${libgcc} ${nonshared} ${last}
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=moert_* --keep-global-symbol=_start ${output}
    DEPENDS ${ARG_OBJECTS} ${objects}
    COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Linking ${name}.o ahead")
  add_custom_target(${name} ALL DEPENDS ${output})
  set_property(TARGET ${name} PROPERTY MOERT_OBJECT ${output})
  install(FILES ${output} DESTINATION lib/moe-mlir)
endfunction()
