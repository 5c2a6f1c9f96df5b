add_test(NAME test_check_floors
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/test_check_floors.sh ${CMAKE_SOURCE_DIR}/tools/check_floors)
add_test(NAME test_readme
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/test_readme.sh ${CMAKE_SOURCE_DIR} ${CMAKE_C_COMPILER})
add_test(NAME test_check_text
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/test_check_text.sh ${CMAKE_SOURCE_DIR}/tools/check_text)
set_tests_properties(test_check_text PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME test_check_exports
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/test_check_exports.sh
    ${CMAKE_SOURCE_DIR}/tools/check_exports ${CMAKE_C_COMPILER})
add_test(NAME test_supported
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/test_supported.sh $<TARGET_FILE:sundog_program>
    ${CMAKE_SOURCE_DIR}/README.md)
add_test(NAME test_failure_list
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/test_failure_list.sh ${CMAKE_SOURCE_DIR})
