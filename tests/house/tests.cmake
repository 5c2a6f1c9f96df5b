add_test(NAME test_check_floors
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/test_check_floors.sh ${CMAKE_SOURCE_DIR}/tools/check_floors)
