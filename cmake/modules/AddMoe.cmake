# Functions of this project's build. Everything MLIR offers is used as it is; these only remove repetition.

# moe_add_dialect(Moe moe [ENUMS] [ATTRS] [TYPES] [ATTR_INTERFACES] [OP_INTERFACES])
#   From <Name>Ops.td in the current directory: ops, dialect, and what is asked for; target MLIR<Name>OpsIncGen.
function(moe_add_dialect name namespace)
  cmake_parse_arguments(ARG "ENUMS;ATTRS;TYPES;ATTR_INTERFACES;OP_INTERFACES" "" "" ${ARGN})
  set(LLVM_TARGET_DEFINITIONS ${name}Ops.td)
  mlir_tablegen(${name}Ops.h.inc -gen-op-decls)
  mlir_tablegen(${name}Ops.cpp.inc -gen-op-defs)
  mlir_tablegen(${name}Dialect.h.inc -gen-dialect-decls -dialect=${namespace})
  mlir_tablegen(${name}Dialect.cpp.inc -gen-dialect-defs -dialect=${namespace})
  if(ARG_TYPES)
    mlir_tablegen(${name}Types.h.inc -gen-typedef-decls -typedefs-dialect=${namespace})
    mlir_tablegen(${name}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${namespace})
  endif()
  if(ARG_ENUMS)
    mlir_tablegen(${name}Enums.h.inc -gen-enum-decls)
    mlir_tablegen(${name}Enums.cpp.inc -gen-enum-defs)
  endif()
  if(ARG_ATTRS)
    mlir_tablegen(${name}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${namespace})
    mlir_tablegen(${name}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${namespace})
  endif()
  if(ARG_ATTR_INTERFACES)
    set(LLVM_TARGET_DEFINITIONS ${name}Interfaces.td)
    mlir_tablegen(${name}AttrInterfaces.h.inc -gen-attr-interface-decls)
    mlir_tablegen(${name}AttrInterfaces.cpp.inc -gen-attr-interface-defs)
  endif()
  if(ARG_OP_INTERFACES)
    set(LLVM_TARGET_DEFINITIONS ${name}Interfaces.td)
    mlir_tablegen(${name}OpInterfaces.h.inc -gen-op-interface-decls)
    mlir_tablegen(${name}OpInterfaces.cpp.inc -gen-op-interface-defs)
  endif()
  add_mlir_generic_tablegen_target(MLIR${name}OpsIncGen)
  add_mlir_doc(${name}Ops ${name}Dialect Dialects/ -gen-dialect-doc -dialect=${namespace})
endfunction()

# moe_add_passes(Name): Passes.td of the current directory -> Passes.h.inc, target Moe<Name>PassesIncGen.
function(moe_add_passes name)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name ${name})
  add_mlir_generic_tablegen_target(Moe${name}PassesIncGen)
  add_dependencies(moe-headers Moe${name}PassesIncGen)
  add_mlir_doc(Passes ${name}Passes Passes/ -gen-pass-doc)
endfunction()

# One umbrella target for all generated headers, so that libraries can be compiled in any order.
add_custom_target(moe-headers)

# Upstream's headers take most of a file's compile time: a set of them is compiled once and shared by all libraries, another one
# by those that make machine code, whose dialects are large. -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON does without, which shows
# what a file forgot to include.
file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp "")
add_library(moe-precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
add_library(moe-precompiled-lowering OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
target_compile_options(moe-precompiled PRIVATE -fno-exceptions)
target_compile_options(moe-precompiled-lowering PRIVATE -fno-exceptions)
target_precompile_headers(moe-precompiled PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Precompiled.h)
target_precompile_headers(moe-precompiled-lowering PRIVATE ${PROJECT_SOURCE_DIR}/cmake/PrecompiledLowering.h)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>") # lets ccache share it
endif()

# Clang builds the larger set on the other one, in half of the time of reading both.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(folder ${PROJECT_BINARY_DIR}/CMakeFiles)
  target_compile_options(moe-precompiled-lowering PRIVATE
    "SHELL:-Xclang -include-pch -Xclang ${folder}/moe-precompiled.dir/cmake_pch.hxx.pch")
  set_property(SOURCE ${folder}/moe-precompiled-lowering.dir/cmake_pch.hxx.cxx APPEND PROPERTY
    OBJECT_DEPENDS ${folder}/moe-precompiled.dir/cmake_pch.hxx.pch)
endif()

# moe_reuse_precompiled(Name Precompiled): an executable is compiled as the libraries are, so that their precompiled headers fit.
function(moe_reuse_precompiled name precompiled)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC -fno-exceptions)
  target_precompile_headers(${name} REUSE_FROM ${precompiled})
endfunction()

# moe_unity_groups(Target Prefix SOURCES...): sources that a unity build compiles together, as many at a time as elsewhere.
function(moe_unity_groups target prefix)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  set(count 0)
  set(size ${CMAKE_UNITY_BUILD_BATCH_SIZE})
  if(NOT size)
    set(size 8) # CMake's
  endif()
  foreach(source ${ARGN})
    math(EXPR group "${count} / ${size}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${prefix}${group})
    math(EXPR count "${count} + 1")
  endforeach()
endfunction()

# moe_add_library(Name SOURCES... [LOWERING] [LLVM_NAMES ...] [DEPENDS ...] [LINK ...] [MLIR ...]): a static library of this project.
#   LINK: libraries of this project; MLIR: upstream libraries (UpstreamLibraries.cmake);
#   LOWERING: its files include the dialects of machine code (LLVM, EmitC);
#   LLVM_NAMES: further sources, which use the names of namespace llvm: a unity build keeps them from those that use the names of mlir
function(moe_add_library name)
  cmake_parse_arguments(ARG "LOWERING" "" "LLVM_NAMES;DEPENDS;LINK;MLIR" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS} ${ARG_LLVM_NAMES})
  if(ARG_LLVM_NAMES)
    moe_unity_groups(${name} mlir ${ARG_UNPARSED_ARGUMENTS})
    moe_unity_groups(${name} llvm ${ARG_LLVM_NAMES})
  endif()
  add_dependencies(${name} moe-headers ${ARG_DEPENDS})
  target_compile_options(${name} PRIVATE -fno-exceptions)
  if(ARG_LOWERING)
    target_precompile_headers(${name} REUSE_FROM moe-precompiled-lowering)
  else()
    target_precompile_headers(${name} REUSE_FROM moe-precompiled)
  endif()
  if(ARG_LINK)
    target_link_libraries(${name} PUBLIC ${ARG_LINK})
  endif()
  if(ARG_MLIR)
    moe_link_upstream(${name} PUBLIC ${ARG_MLIR})
  else()
    moe_link_upstream(${name} PUBLIC MLIRIR)
  endif()
  set_property(GLOBAL APPEND PROPERTY MOE_LIBS ${name})
endfunction()
