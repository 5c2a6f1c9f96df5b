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
endif()
