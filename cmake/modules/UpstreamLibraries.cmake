# How LLVM and MLIR are linked. With their archives, a tool starts in a third of the time: the shared libraries have 350,000
# relocations, which take 15 ms at every start. It costs space (240 MB for moe-compile), and a linker that is quick at it, so
# it is done only with LLD and where LLVM's package has all archives.
#
# moe-upstream: what an executable links that calls LLVM or MLIR; libraries of this project bring it along (moe_link_upstream).
include(CheckCXXSourceRuns)
option(MOE_LINK_ARCHIVES "Link LLVM's and MLIR's archives, not their shared libraries, if LLD links and they are complete" ON)

# The files of all archives, and the libraries of the system that LLVM needs, or what is missing.
function(moe_find_archives archives system missing)
  get_property(libraries GLOBAL PROPERTY MLIR_ALL_LIBS)
  set(files)
  set(lacks)
  list(APPEND libraries ${LLVM_AVAILABLE_LIBS})
  list(FILTER libraries EXCLUDE REGEX "^MLIRCAPI|Test|^LLVMExegesis") # of MLIR's tests, interfaces to C, and one tool
  foreach(library ${libraries})
    if(TARGET ${library})
      get_target_property(type ${library} TYPE)
      get_target_property(file ${library} LOCATION)
      if(type STREQUAL STATIC_LIBRARY AND EXISTS "${file}")
        list(APPEND files ${file})
      elseif(type STREQUAL STATIC_LIBRARY AND library MATCHES "^(LLVM|MLIR)")
        list(APPEND lacks ${library})
      endif()
    endif()
  endforeach()
  foreach(library MLIRIR MLIRRegisterAllDialects LLVMSupport LLVMX86CodeGen)
    if(NOT files MATCHES "/lib${library}\\.a")
      list(APPEND lacks lib${library}.a)
    endif()
  endforeach()
  set(needed)
  if(TARGET LLVMSupport)
    get_target_property(needed LLVMSupport INTERFACE_LINK_LIBRARIES)
    list(FILTER needed EXCLUDE REGEX "^LLVM")
  endif()
  foreach(library ${needed})
    if((library MATCHES "::" AND NOT TARGET ${library}) OR (IS_ABSOLUTE "${library}" AND NOT EXISTS "${library}"))
      list(APPEND lacks ${library})
    endif()
  endforeach()
  set(${archives} ${files} PARENT_SCOPE)
  set(${system} ${needed} PARENT_SCOPE)
  set(${missing} ${lacks} PARENT_SCOPE)
endfunction()

# What makes the start of executables quick that are position independent, as is fit for programs that read files of strangers:
# MOE_PACK_RELOCATIONS (half a millisecond), where the loader knows them (glibc 2.36), and MOE_STATIC_CXX (two and a half: 18,000 type
# descriptions refer to the C++ library by name otherwise). Targets with the property MOE_SANITIZED go without the latter, as
# AddressSanitizer looks for functions of the shared library.
function(moe_check_link_flags)
  set(program "#include <string>\nint main(int argc, char **) { return std::string(argc, 'a').empty(); }")
  set(pack -Wl,-z,pack-relative-relocs)
  set(static -static-libstdc++ -static-libgcc)
  # An older LLD only warns of what it does not know.
  set(CMAKE_REQUIRED_LINK_OPTIONS -fuse-ld=lld -pie ${pack} -Wl,--fatal-warnings)
  check_cxx_source_runs("${program}" MOE_HAS_PACKED_RELOCATIONS)
  set(CMAKE_REQUIRED_LINK_OPTIONS -fuse-ld=lld -pie ${static})
  check_cxx_source_runs("${program}" MOE_HAS_STATIC_CXX)
  if(MOE_HAS_PACKED_RELOCATIONS)
    set(MOE_PACK_RELOCATIONS ${pack} PARENT_SCOPE)
  endif()
  if(MOE_HAS_STATIC_CXX)
    set(MOE_STATIC_CXX ${static} PARENT_SCOPE)
  endif()
endfunction()

add_library(moe-upstream INTERFACE)
if(MOE_LINK_ARCHIVES AND LLVM_USE_LINKER STREQUAL "lld")
  moe_find_archives(MOE_ARCHIVES system missing)
  if(missing)
    message(STATUS "Linking LLVM's shared libraries, as its archives lack ${missing} (docs/rationale/build.md)")
    set(MOE_ARCHIVES)
  endif()
endif()
if(MOE_ARCHIVES)
  set(LLVM_LINK_LLVM_DYLIB OFF) # else add_llvm_executable links libLLVM.so, too
  # LLVM's own list has libraries for parts that no tool uses.
  moe_check_link_flags()
  target_link_options(moe-upstream INTERFACE -pie -Wl,--as-needed ${MOE_PACK_RELOCATIONS}
    "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:MOE_SANITIZED>>>:${MOE_STATIC_CXX}>")
  target_link_libraries(moe-upstream INTERFACE ${MOE_ARCHIVES} ${system})
else()
  target_link_libraries(moe-upstream INTERFACE LLVM)
endif()

# moe_link_upstream(Target PUBLIC|PRIVATE LIBRARIES...): MLIR's libraries by name, which are linked in one of the ways above.
function(moe_link_upstream target scope)
  if(MOE_ARCHIVES)
    target_link_libraries(${target} ${scope} moe-upstream)
  else()
    mlir_target_link_libraries(${target} ${scope} ${ARGN})
  endif()
endfunction()
