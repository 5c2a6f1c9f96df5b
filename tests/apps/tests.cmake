# The program from outside, one test a case.
function(sundog_cases script)
  foreach(case ${ARGN})
    add_test(NAME program_${case} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/apps/${script}
      $<TARGET_FILE:sundog_program> ${CMAKE_SOURCE_DIR} ${case})
    set_tests_properties(program_${case} PROPERTIES TIMEOUT 300)
  endforeach()
endfunction()
sundog_cases(test_program.sh usage devices plots trace input_errors grids start minimise files
  first_and_last restart signals impatient impatient_start endless two_runs suspended killed
  replicate)
sundog_cases(test_failures.sh blow_up broken_restart lincs_warnings memory restart_refused disk_full
  no_folder damaged_checkpoint previous_checkpoint changed_inputs)
# What other programs read of our files, where they are installed.
foreach(with gmx python)
  add_test(NAME foreign_${with} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/apps/test_foreign.sh
    $<TARGET_FILE:sundog_program> ${CMAKE_SOURCE_DIR} ${with})
  set_tests_properties(foreign_${with} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
endforeach()
add_test(NAME program_kills COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/apps/test_kills.sh
  $<TARGET_FILE:sundog_program> ${CMAKE_SOURCE_DIR} 18)
set_tests_properties(program_kills PROPERTIES TIMEOUT 900 LABELS long)
# Many processes (mpi_environment: tests/halo/tests.cmake).
if(SUNDOG_HAS_MPI AND NOT SUNDOG_SANITIZE)
  foreach(case ranks mixes exchanges settings restarts errors broken signals launcher lost
      copies)
    add_test(NAME processes_${case} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/apps/test_processes.sh
      $<TARGET_FILE:sundog_program> ${CMAKE_SOURCE_DIR} ${case})
    set_tests_properties(processes_${case} PROPERTIES TIMEOUT 300 LABELS mpi RUN_SERIAL ON
      ENVIRONMENT "${mpi_environment};MPIRUN=${MPIEXEC_EXECUTABLE}")
  endforeach()
  foreach(case hosts lost)
    add_test(NAME hosts_${case} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/apps/test_hosts.sh
      $<TARGET_FILE:sundog_program> ${CMAKE_SOURCE_DIR} ${case})
    set_tests_properties(hosts_${case} PROPERTIES TIMEOUT 300 LABELS mpi RUN_SERIAL ON
      SKIP_RETURN_CODE 77 ENVIRONMENT "${mpi_environment};MPIRUN=${MPIEXEC_EXECUTABLE}")
  endforeach()
endif()
