# The installed package: headers, both libraries, CMake package, pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sundog DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT library)
install(TARGETS sundog sundog_shared EXPORT sundog-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT library
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(EXPORT sundog-targets NAMESPACE sundog::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sundog COMPONENT library)

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/sundogConfig.cmake.in ${CMAKE_BINARY_DIR}/sundogConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sundog)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sundogConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/sundogConfig.cmake ${CMAKE_BINARY_DIR}/sundogConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sundog COMPONENT library)

file(RELATIVE_PATH SUNDOG_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/sundog.pc.in ${CMAKE_BINARY_DIR}/sundog.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/sundog.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT library)
