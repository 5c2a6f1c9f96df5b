/* How this room writes files.
 *
 * md_file: a file that grows by records (frames, rows). A record is on its way to the disk (all
 * bytes handed to the system) when md_file_end_record returns. When a write fails, the file is cut
 * back to its last whole record, so what is there stays readable and the call may be repeated once
 * there is room again.
 *
 * md_replace: a file that is replaced whole. The bytes go to "<path>.tmp"; commit syncs them, then
 * renames. Whoever looks at <path>, at any time and after any crash, sees the old file or the new
 * one, never a part.
 */
#ifndef MD_FILE_H
#define MD_FILE_H
#include "base/status.h"

#include <string.h>

typedef struct md_file md_file;

/* append_at < 0: create anew. Otherwise cut the existing file to that many bytes and go on there;
 * an error if the file is missing or shorter. */
sundog_status md_file_open(const char *path, int64_t append_at, md_file **out);
sundog_status md_file_write(md_file *file, const void *bytes, size_t n_bytes);
/* A float as md_file_write_be32 takes it. */
static inline uint32_t md_float_bits(double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return bits;
}
/* 32-bit words in big endian (XDR) order. */
sundog_status md_file_write_be32(md_file *file, const uint32_t *words, size_t n_words);
sundog_status md_file_end_record(md_file *file);
/* Drop what was written since the last md_file_end_record. */
void md_file_drop_record(md_file *file);
int64_t md_file_offset(const md_file *file); /* end of the last whole record */
const char *md_file_path(const md_file *file);
sundog_status md_file_close(md_file **file); /* accepts NULL, leaves NULL */

typedef struct md_replace {
    int fd;
    char *path, *temporary;
} md_replace;

sundog_status md_replace_begin(const char *path, md_replace *out);
sundog_status md_replace_write(md_replace *replace, const void *bytes, size_t n_bytes);
/* keep_previous: NULL, or the name under which the old file (if there is one) stays. Commit and
 * cancel both end the replacement; a failed commit has removed the temporary file. */
sundog_status md_replace_commit(md_replace *replace, const char *keep_previous);
void md_replace_cancel(md_replace *replace);
#endif
