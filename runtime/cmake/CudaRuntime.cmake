# Finds the CUDA runtime of version 13: its headers and libcudart_static.a. Looked at in this order:
#
#   1. MOERT_CUDA_ROOT, if given (and then nothing else);
#   2. a CUDA toolkit: $CUDA_HOME, $CUDA_PATH, /usr/local/cuda;
#   3. nvidia/cu13 of the Python that Python3_EXECUTABLE names, where nvidia-cuda-runtime and nvidia-cuda-crt install it.
#
# Sets MOERT_CUDA_INCLUDE and MOERT_CUDA_LIBRARY, or leaves them empty: then the runtime is built without lib/cuda.
set(MOERT_CUDA_ROOT "" CACHE PATH "Folder of the CUDA runtime (include, lib or lib64)")

function(moert_find_cuda)
  if(MOERT_CUDA_ROOT)
    set(roots ${MOERT_CUDA_ROOT})
  else()
    set(roots $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda)
    if(Python3_EXECUTABLE)
      execute_process(COMMAND ${Python3_EXECUTABLE} -c "import nvidia; print(';'.join(p + '/cu13' for p in nvidia.__path__))"
                      OUTPUT_VARIABLE wheels OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      list(APPEND roots ${wheels})
    endif()
  endif()
  set(include)
  set(library)
  foreach(root ${roots})
    set(header ${root}/include/cuda_runtime_api.h)
    if(NOT EXISTS ${header} OR NOT EXISTS ${root}/include/crt/host_defines.h)
      continue()
    endif()
    file(STRINGS ${header} version REGEX "^#define CUDART_VERSION +13[0-9][0-9][0-9]")
    file(GLOB archives ${root}/lib64/libcudart_static.a ${root}/lib/libcudart_static.a)
    if(version AND archives)
      set(include ${root}/include)
      list(GET archives 0 library)
      break()
    endif()
  endforeach()
  if(library)
    message(STATUS "CUDA runtime: ${library}")
  else()
    message(STATUS "CUDA runtime 13 not found (pip install nvidia-cuda-runtime nvidia-cuda-crt, or MOERT_CUDA_ROOT): "
                   "the runtime is built without CUDA")
  endif()
  set(MOERT_CUDA_INCLUDE ${include} PARENT_SCOPE)
  set(MOERT_CUDA_LIBRARY ${library} PARENT_SCOPE)
endfunction()
