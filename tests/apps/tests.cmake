# The program from outside, one test a case.
foreach(case usage input_errors grids start blow_up broken_restart lincs_warnings minimise memory
    files first_and_last restart restart_refused signals impatient endless two_runs suspended killed
    replicate)
  add_test(NAME program_${case} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/apps/test_program.sh
    $<TARGET_FILE:sundog_program> ${CMAKE_SOURCE_DIR} ${case})
  set_tests_properties(program_${case} PROPERTIES TIMEOUT 300)
endforeach()
# What other programs read of our files, where they are installed.
foreach(with gmx python)
  add_test(NAME foreign_${with} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/apps/test_foreign.sh
    $<TARGET_FILE:sundog_program> ${CMAKE_SOURCE_DIR} ${with})
  set_tests_properties(foreign_${with} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
endforeach()
