# Writes OUT (a .c file) with commit, compiler and flags; touches it only when something changed.
# SUNDOG_COMMIT: of a copy without its history, or with another's, whoever made it knows better.
if(DEFINED ENV{SUNDOG_COMMIT})
  set(commit $ENV{SUNDOG_COMMIT})
else()
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=10
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(commit unknown)
  endif()
endif()
file(WRITE ${OUT}.new "#include \"build_info.h\"

const char *const build_commit = \"${commit}\";
const char *const build_compiler = \"${COMPILER}\";
const char *const build_flags = \"${FLAGS}\";
const char *const build_type = \"${TYPE}\";
")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${OUT}.new ${OUT})
