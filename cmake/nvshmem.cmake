# NVSHMEM: found by itself, never required. SUNDOG_NVSHMEM=AUTO (used when CUDA and NVSHMEM 3.4 or
# newer are there), ON (an error when not), OFF. Looked for in NVSHMEM_HOME (variable or
# environment), the Python package nvidia-nvshmem-cu13, the HPC SDK, and the system's folders;
# tools/bootstrap-nvshmem fetches it. Defines SUNDOG_HAS_NVSHMEM, TRUE or FALSE: whether the plug-in
# is built. The library itself never needs NVSHMEM: it loads the plug-in when that is there.
# The environment variable of the same name is the default.
if(NOT "$ENV{SUNDOG_NVSHMEM}" STREQUAL "")
  set(SUNDOG_NVSHMEM $ENV{SUNDOG_NVSHMEM} CACHE STRING "Fabric nvshmem: AUTO, ON or OFF")
else()
  set(SUNDOG_NVSHMEM AUTO CACHE STRING "Fabric nvshmem: AUTO, ON or OFF")
endif()
set_property(CACHE SUNDOG_NVSHMEM PROPERTY STRINGS AUTO ON OFF)
set(SUNDOG_HAS_NVSHMEM FALSE)
set(nvshmem_missing "there is no CUDA compiler")

if(SUNDOG_NVSHMEM AND SUNDOG_HAS_CUDA)
  set(nvshmem_hints ${NVSHMEM_HOME} $ENV{NVSHMEM_HOME})
  find_program(SUNDOG_PYTHON python3)
  if(SUNDOG_PYTHON AND NOT nvshmem_hints)
    execute_process(COMMAND ${SUNDOG_PYTHON} -c
      "import importlib.util as u; print(*u.find_spec('nvidia.nvshmem').submodule_search_locations)"
      OUTPUT_VARIABLE nvshmem_wheel OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND nvshmem_hints ${nvshmem_wheel})
  endif()
  file(GLOB nvshmem_sdk $ENV{NVHPC_ROOT}/comm_libs/nvshmem
    /opt/nvidia/hpc_sdk/Linux_*/*/comm_libs/nvshmem)
  list(APPEND nvshmem_hints ${nvshmem_sdk} ${CMAKE_SOURCE_DIR}/build/nvshmem)
  find_path(NVSHMEM_INCLUDE_DIR nvshmem.h HINTS ${nvshmem_hints}
    PATH_SUFFIXES include nvshmem nvshmem_13 include/nvshmem_13)
  find_library(NVSHMEM_HOST_LIBRARY NAMES libnvshmem_host.so.3 nvshmem_host HINTS ${nvshmem_hints}
    PATH_SUFFIXES lib nvshmem/13)
  find_library(NVSHMEM_DEVICE_LIBRARY NAMES libnvshmem_device.a HINTS ${nvshmem_hints}
    PATH_SUFFIXES lib nvshmem/13)
  set(nvshmem_missing "none was found; tools/bootstrap-nvshmem fetches it, NVSHMEM_HOME names it")
  if(NVSHMEM_INCLUDE_DIR AND NVSHMEM_HOST_LIBRARY AND NVSHMEM_DEVICE_LIBRARY)
    file(STRINGS ${NVSHMEM_INCLUDE_DIR}/non_abi/nvshmem_version.h nvshmem_line
      REGEX "NVSHMEM_VENDOR_BASE_VERSION_STRING|NVSHMEM_VENDOR_M[AI][JN]OR_VERSION ")
    string(REGEX REPLACE ".*MAJOR_VERSION ([0-9]+).*MINOR_VERSION ([0-9]+).*" "\\1.\\2"
      NVSHMEM_VERSION "${nvshmem_line}")
    set(nvshmem_missing "${NVSHMEM_INCLUDE_DIR} is of version ${NVSHMEM_VERSION}; 3.4 is needed")
    if(NVSHMEM_VERSION VERSION_GREATER_EQUAL 3.4)
      set(SUNDOG_HAS_NVSHMEM TRUE)
    endif()
  endif()
endif()

if(SUNDOG_HAS_NVSHMEM)
  message(STATUS "NVSHMEM: ${NVSHMEM_VERSION}, ${NVSHMEM_HOST_LIBRARY}")
elseif(SUNDOG_NVSHMEM AND NOT SUNDOG_NVSHMEM STREQUAL "AUTO")
  message(FATAL_ERROR "SUNDOG_NVSHMEM is ${SUNDOG_NVSHMEM}, but ${nvshmem_missing}")
else()
  message(STATUS "NVSHMEM: not built (SUNDOG_NVSHMEM=${SUNDOG_NVSHMEM})")
endif()
