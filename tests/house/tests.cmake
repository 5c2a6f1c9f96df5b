add_test(NAME test_check_floors
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/test_check_floors.sh ${CMAKE_SOURCE_DIR}/tools/check_floors)
add_test(NAME test_readme
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/test_readme.sh ${CMAKE_SOURCE_DIR} ${CMAKE_C_COMPILER})
