# Compiler flags of all our own code: target sundog_flags, linked PRIVATE everywhere.
add_library(sundog_flags INTERFACE)
target_compile_definitions(sundog_flags INTERFACE _GNU_SOURCE)
target_compile_options(sundog_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wshadow -Wstrict-aliasing -Wundef -Wvla>
  $<$<COMPILE_LANGUAGE:C,CXX>:-fno-math-errno -fno-trapping-math>
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
  $<$<AND:$<BOOL:${SUNDOG_WERROR}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>)
# Bitwise repeatability: no contraction that depends on the optimiser's mood between gcc and clang.
target_compile_options(sundog_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>)
if(SUNDOG_SANITIZE STREQUAL "address")
  set(san -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
elseif(SUNDOG_SANITIZE STREQUAL "fuzzer")       # clang alone; targets link libFuzzer's main
  set(san -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow
    -fno-omit-frame-pointer -fno-sanitize-recover=undefined,float-cast-overflow)
elseif(SUNDOG_SANITIZE STREQUAL "thread")
  set(san -fsanitize=thread -fno-omit-frame-pointer)
endif()
if(san)
  target_compile_options(sundog_flags INTERFACE ${san})
  target_link_options(sundog_flags INTERFACE ${san})
endif()
