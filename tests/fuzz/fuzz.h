/* What the fuzz targets share. A target is one file, fuzz_<reader>.c, with
 * LLVMFuzzerTestOneInput(): libFuzzer's main drives it in a build with the preset fuzz, replay.c in
 * every other one. */
#ifndef FUZZ_H
#define FUZZ_H
#include "sundog/sundog.h"
#include <stddef.h>
#include <stdint.h>

/* Stop, as a crash, with file and line: what a reader promised does not hold. */
#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #condition))
void fuzz_broken(const char *file, int line, const char *condition);

/* Write a file of the sandbox, a folder of this process alone; `name` may stand in a folder "inc/".
 * Returns its path, valid until the next call. */
const char *fuzz_write(const char *name, const void *bytes, size_t n_bytes);
void fuzz_remove(const char *name);
/* The folder itself, without a slash at the end. */
const char *fuzz_folder(void);

/* A failed reader must say why: one line, printable, that names a file of the sandbox (or
 * the option that is at fault). */
void fuzz_expect_text(sundog_status status);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif
