# The library is installed to a folder of its own, and the examples are built against that alone.
# (Not with sanitizers: a program without them cannot load a library with them.)
if(NOT SUNDOG_SANITIZE)
  string(CONCAT installed_library "rm -rf prefix && "
    "${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR} --component library --prefix prefix >/dev/null "
    "&& ${CMAKE_SOURCE_DIR}/tools/check_installed prefix")
  add_test(NAME installed_library COMMAND sh -c "${installed_library}")
  set_tests_properties(installed_library PROPERTIES LABELS halo TIMEOUT 120
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
endif()

# Exchange of device memory: label gpu, exit 77 without one. They need the library alone.
if(SUNDOG_HAS_CUDA)
  file(GLOB gpu_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/gpu/test_*.c)
  add_library(sundog_gpu_work STATIC ${CMAKE_CURRENT_LIST_DIR}/gpu/work.cu)
  target_link_libraries(sundog_gpu_work PRIVATE sundog_cuda_flags)
  foreach(source ${gpu_sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${name} PRIVATE sundog_flags sundog_gpu_work sundog CUDA::cudart_static)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300 LABELS gpu
      RUN_SERIAL ON)
  endforeach()
  # Ranks in processes with a GPU each, started without MPI: fabric nvshmem.
  add_executable(test_gpu_nvshmem ${CMAKE_CURRENT_LIST_DIR}/gpu/test_gpu_exchange.c
    ${CMAKE_CURRENT_LIST_DIR}/gpu/forked_ranks.c)
  target_include_directories(test_gpu_nvshmem
    PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src)
  target_compile_definitions(test_gpu_nvshmem PRIVATE RANKS_FORKED)
  target_link_libraries(test_gpu_nvshmem
    PRIVATE sundog_flags sundog_gpu_work sundog CUDA::cudart_static)
  add_test(NAME test_gpu_nvshmem COMMAND test_gpu_nvshmem)
  set_tests_properties(test_gpu_nvshmem PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 LABELS gpu
    RUN_SERIAL ON)
endif()

# The tests again with ranks in many processes, from the same sources (ranks.h). Processes x
# threads: 8 x 1 serves teams of 1 to 8 ranks, 4 x 2 and 3 x 3 mixes in which the last process may
# hold fewer ranks than the others. More processes than cores: they must sleep when they wait.
if(SUNDOG_HAS_MPI AND NOT SUNDOG_SANITIZE)
  set(mpi_environment
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_base_warn_component_unused=0
    OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe)
  function(sundog_mpi_program name source)
    add_executable(${name} ${source} ${CMAKE_SOURCE_DIR}/tests/halo/mpi_ranks.c)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src)
    target_compile_definitions(${name} PRIVATE RANKS_MPI)
    target_link_libraries(${name} PRIVATE sundog_flags sundog MPI::MPI_C m)
  endfunction()
  foreach(subject team plan exchange protocol dead_rank)
    set(program test_${subject}_mpi)
    sundog_mpi_program(${program} ${CMAKE_CURRENT_LIST_DIR}/test_${subject}.c)
    foreach(shape 8x1 4x2 3x3)
      string(REPLACE "x" ";" counts ${shape})
      list(GET counts 0 n_processes)
      list(GET counts 1 n_threads)
      add_test(NAME ${program}_${shape} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG}
        ${n_processes} $<TARGET_FILE:${program}>)
      set_tests_properties(${program}_${shape} PROPERTIES LABELS "mpi"
        TIMEOUT ${SUNDOG_TEST_TIMEOUT} ENVIRONMENT "${mpi_environment};RANKS_THREADS=${n_threads}")
      if(subject STREQUAL "dead_rank")    # a tenth of a second, and all ranks must get to run
        set_tests_properties(${program}_${shape} PROPERTIES RUN_SERIAL ON)
      endif()
      if(subject MATCHES "protocol|dead_rank" AND shape STREQUAL "3x3")
        set_property(TEST ${program}_${shape} APPEND PROPERTY LABELS long)
      endif()
    endforeach()
  endforeach()
  sundog_mpi_program(killed_mpi ${CMAKE_CURRENT_LIST_DIR}/killed_mpi.c)
  add_test(NAME test_killed_mpi COMMAND ${CMAKE_CURRENT_LIST_DIR}/run_killed ${MPIEXEC_EXECUTABLE}
    ${MPIEXEC_NUMPROC_FLAG} $<TARGET_FILE:killed_mpi>)
  set_tests_properties(test_killed_mpi PROPERTIES LABELS "mpi" RUN_SERIAL ON
    TIMEOUT ${SUNDOG_TEST_TIMEOUT} ENVIRONMENT "${mpi_environment}")
endif()
