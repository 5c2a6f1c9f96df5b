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
