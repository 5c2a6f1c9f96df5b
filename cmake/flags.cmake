# Compiler flags of all our own code: target sundog_flags, linked PRIVATE everywhere.
add_library(sundog_flags INTERFACE)
target_compile_definitions(sundog_flags INTERFACE _GNU_SOURCE)
target_compile_options(sundog_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-aliasing -Wundef -Wvla -fno-math-errno -fno-trapping-math
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
  $<$<BOOL:${SUNDOG_WERROR}>:-Werror>)
# Bitwise repeatability: no contraction that depends on the optimiser's mood between gcc and clang.
target_compile_options(sundog_flags INTERFACE -ffp-contract=off)
if(SUNDOG_SANITIZE STREQUAL "address")
  set(san -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
elseif(SUNDOG_SANITIZE STREQUAL "thread")
  set(san -fsanitize=thread -fno-omit-frame-pointer)
endif()
if(san)
  target_compile_options(sundog_flags INTERFACE ${san})
  target_link_options(sundog_flags INTERFACE ${san})
endif()
