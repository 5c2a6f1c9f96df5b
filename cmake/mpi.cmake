# MPI: found by itself, never required. SUNDOG_MPI=AUTO (used when MPI-3.1 is there), ON (an error
# when not), OFF. Defines SUNDOG_HAS_MPI, TRUE or FALSE, for the rooms' lists of sources. The
# library is linked against the MPI that is found, since no two of them have the same binary
# interface; MPI_C_COMPILER=mpicc.mpich or -DMPI_HOME=... choose another than the system's.
# The environment variable of the same name is the default.
if(NOT "$ENV{SUNDOG_MPI}" STREQUAL "")
  set(SUNDOG_MPI $ENV{SUNDOG_MPI} CACHE STRING "Many processes: AUTO, ON or OFF")
else()
  set(SUNDOG_MPI AUTO CACHE STRING "Many processes: AUTO, ON or OFF")
endif()
set_property(CACHE SUNDOG_MPI PROPERTY STRINGS AUTO ON OFF)
set(SUNDOG_HAS_MPI FALSE)

if(SUNDOG_MPI AND NOT SUNDOG_SANITIZE)
  if("${MPI_C_COMPILER}" MATCHES "mpicc(\\.[a-z]+)$")       # Debian's names: the launcher's alike
    find_program(MPIEXEC_EXECUTABLE NAMES mpiexec${CMAKE_MATCH_1})
  endif()
  find_package(MPI 3.1 QUIET COMPONENTS C)
  if(MPI_C_FOUND)
    set(SUNDOG_HAS_MPI TRUE)
  elseif(NOT SUNDOG_MPI STREQUAL "AUTO")
    message(FATAL_ERROR "SUNDOG_MPI is ${SUNDOG_MPI}, but no MPI of version 3.1 or newer was "
      "found; install libopenmpi-dev or libmpich-dev, or set MPI_C_COMPILER to its mpicc")
  endif()
endif()

if(SUNDOG_HAS_MPI)
  message(STATUS "Many processes: MPI ${MPI_C_VERSION}, ${MPI_C_LIBRARIES}")
else()
  message(STATUS "Many processes: not built (SUNDOG_MPI=${SUNDOG_MPI})")
endif()
