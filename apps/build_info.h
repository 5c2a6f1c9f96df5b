/* What was built: filled in by CMake at every build (cmake/build_info.cmake). */
#ifndef BUILD_INFO_H
#define BUILD_INFO_H
extern const char *const build_commit;   /* "1a2b3c4" or "1a2b3c4-dirty"; "unknown" without git */
extern const char *const build_compiler; /* "GNU 12.2.0" */
extern const char *const build_flags;
extern const char *const build_type;
#endif
