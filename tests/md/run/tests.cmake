# Physics over many steps.
set_tests_properties(test_drift test_averages test_npt test_group_averages PROPERTIES
  LABELS "long;physics" TIMEOUT 1800)
set_tests_properties(test_trajectories test_motion PROPERTIES LABELS physics TIMEOUT 600)
if(SUNDOG_SANITIZE)
  set_tests_properties(test_exchanges test_single_points PROPERTIES
    ENVIRONMENT SUNDOG_TEST_EVERY=5 TIMEOUT 600)
endif()
# Whole runs on GPUs: many in each program. They skip where there is no GPU.
get_property(gpu_tests DIRECTORY PROPERTY TESTS)
list(FILTER gpu_tests INCLUDE REGEX "^test_gpu_")
set_tests_properties(${gpu_tests} PROPERTIES TIMEOUT 600)
