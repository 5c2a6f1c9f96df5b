/* Growing files and whole-file replacement (file.h).
 *
 * Raw write(2) with a buffer of our own instead of stdio: after a failed fwrite nobody can say how
 * much of a record reached the file, and a FILE cannot be cut back and used again.
 *
 * Replacement, with what a crash after each step leaves behind:
 *
 *      write and fsync <path>.tmp            old file | junk in .tmp, overwritten next time
 *      link old file to the kept name        old file, under two names
 *      rename .tmp over <path>               new file, old one under the kept name
 *      fsync the folder                      the names themselves are safe
 */
#include "md/out/file.h"
#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16 };

struct md_file {
    int fd;
    char *path;
    int64_t offset; /* end of the last whole record */
    size_t n_buffered;
    unsigned char buffer[BUFFER_BYTES];
};

static char *join(const char *a, const char *b)
{
    size_t n = strlen(a) + strlen(b) + 1;
    char *s = base_alloc(n);
    snprintf(s, n, "%s%s", a, b);
    return s;
}

/* All bytes or errno. */
static int write_all(int fd, const unsigned char *bytes, size_t n_bytes)
{
    while (n_bytes > 0) {
        ssize_t n = write(fd, bytes, n_bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) return EIO;
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

/* ---- growing files -------------------------------------------------------------------------- */

static sundog_status seek_to_end(const char *path, int fd, int64_t append_at)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return base_fail(SUNDOG_ERR_IO, "%s: cannot be examined: %s", path, strerror(errno));
    if (info.st_size < append_at)
        return base_fail(SUNDOG_ERR_IO,
                         "%s has %lld bytes but the restart goes on at byte %lld: it is not the "
                         "file that the checkpoint belongs to, or it was cut",
                         path, (long long)info.st_size, (long long)append_at);
    if (ftruncate(fd, append_at) != 0 || lseek(fd, append_at, SEEK_SET) < 0)
        return base_fail(SUNDOG_ERR_IO, "%s: cannot be cut to %lld bytes: %s", path,
                         (long long)append_at, strerror(errno));
    return SUNDOG_OK;
}

sundog_status md_file_open(const char *path, int64_t append_at, md_file **out)
{
    int flags = append_at < 0 ? O_WRONLY | O_CREAT | O_TRUNC : O_WRONLY;
    int fd = open(path, flags | O_CLOEXEC, 0666);
    if (fd < 0)
        return base_fail(SUNDOG_ERR_IO, "%s: cannot be opened for writing: %s", path,
                         strerror(errno));
    if (append_at >= 0) {
        sundog_status status = seek_to_end(path, fd, append_at);
        if (status != SUNDOG_OK) {
            close(fd);
            return status;
        }
    }
    md_file *file = base_alloc(sizeof *file);
    file->fd = fd;
    file->path = base_strdup(path);
    file->offset = append_at < 0 ? 0 : append_at;
    file->n_buffered = 0;
    *out = file;
    return SUNDOG_OK;
}

void md_file_drop_record(md_file *file)
{
    file->n_buffered = 0;
    /* Fails on devices and pipes, where there is nothing to cut. */
    if (ftruncate(file->fd, file->offset) == 0) lseek(file->fd, file->offset, SEEK_SET);
}

static sundog_status write_through(md_file *file, const void *bytes, size_t n_bytes)
{
    int error = write_all(file->fd, bytes, n_bytes);
    if (error == 0) return SUNDOG_OK;
    md_file_drop_record(file);
    return base_fail(SUNDOG_ERR_IO,
                     "%s: writing failed: %s (the file ends with the last record "
                     "that was written whole)",
                     file->path, strerror(error));
}

static sundog_status flush_buffer(md_file *file)
{
    size_t n = file->n_buffered;
    file->n_buffered = 0;
    return n > 0 ? write_through(file, file->buffer, n) : SUNDOG_OK;
}

sundog_status md_file_write(md_file *file, const void *bytes, size_t n_bytes)
{
    if (n_bytes > BUFFER_BYTES - file->n_buffered) BASE_TRY(flush_buffer(file));
    if (n_bytes > BUFFER_BYTES) return write_through(file, bytes, n_bytes);
    memcpy(file->buffer + file->n_buffered, bytes, n_bytes);
    file->n_buffered += n_bytes;
    return SUNDOG_OK;
}

sundog_status md_file_write_be32(md_file *file, const uint32_t *words, size_t n_words)
{
    for (size_t i = 0; i < n_words; i++) {
        if (BUFFER_BYTES - file->n_buffered < 4) BASE_TRY(flush_buffer(file));
        unsigned char *p = file->buffer + file->n_buffered;
        p[0] = (unsigned char)(words[i] >> 24);
        p[1] = (unsigned char)(words[i] >> 16);
        p[2] = (unsigned char)(words[i] >> 8);
        p[3] = (unsigned char)words[i];
        file->n_buffered += 4;
    }
    return SUNDOG_OK;
}

sundog_status md_file_end_record(md_file *file)
{
    BASE_TRY(flush_buffer(file));
    off_t end = lseek(file->fd, 0, SEEK_CUR);
    if (end >= 0) file->offset = end; /* a pipe has no offset */
    return SUNDOG_OK;
}

int64_t md_file_offset(const md_file *file)
{
    return file->offset;
}

const char *md_file_path(const md_file *file)
{
    return file->path;
}

sundog_status md_file_close(md_file **file)
{
    if (!*file) return SUNDOG_OK;
    sundog_status status = SUNDOG_OK;
    /* Network file systems report a full disk as late as here. */
    if (close((*file)->fd) != 0 && errno != EINTR)
        status = base_fail(SUNDOG_ERR_IO, "%s: closing failed: %s; the end of the file may be lost",
                           (*file)->path, strerror(errno));
    base_free((*file)->path);
    base_free(*file);
    *file = NULL;
    return status;
}

/* ---- whole-file replacement ----------------------------------------------------------------- */

sundog_status md_replace_begin(const char *path, md_replace *out)
{
    char *temporary = join(path, ".tmp");
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        sundog_status status =
            base_fail(SUNDOG_ERR_IO, "%s: cannot be created: %s", temporary, strerror(errno));
        base_free(temporary);
        return status;
    }
    *out = (md_replace){.fd = fd, .path = base_strdup(path), .temporary = temporary};
    return SUNDOG_OK;
}

static sundog_status fail_replace(const md_replace *replace, const char *what, int error)
{
    return base_fail(SUNDOG_ERR_IO,
                     "%s: %s failed: %s (a file of this name that was there before "
                     "is unchanged)",
                     replace->path, what, strerror(error));
}

sundog_status md_replace_write(md_replace *replace, const void *bytes, size_t n_bytes)
{
    int error = write_all(replace->fd, bytes, n_bytes);
    return error ? fail_replace(replace, "writing", error) : SUNDOG_OK;
}

static void end_replace(md_replace *replace)
{
    if (replace->fd >= 0) close(replace->fd);
    base_free(replace->path);
    base_free(replace->temporary);
    *replace = (md_replace){.fd = -1};
}

void md_replace_cancel(md_replace *replace)
{
    if (!replace->temporary) return;
    unlink(replace->temporary);
    end_replace(replace);
}

/* Give the present file a second name; it stays in place under its first one. Falls back to a
 * rename on file systems without hard links. 0 or errno. */
static int keep_old_file(const char *path, const char *kept)
{
    char *step = join(kept, ".tmp");
    int error = 0;
    unlink(step);
    if (link(path, step) == 0) {
        if (rename(step, kept) != 0) error = errno;
        unlink(step); /* still there when both names were one file already */
    } else if (errno != ENOENT) {
        if (rename(path, kept) != 0) error = errno;
    }
    base_free(step);
    return error;
}

/* Make the names in the folder of `path` durable. Some file systems cannot sync a folder; there
 * the rename is as safe as it gets. */
static void sync_folder(const char *path)
{
    char *folder = base_strdup(path);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder ? 1 : 0] = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    base_free(folder);
}

sundog_status md_replace_commit(md_replace *replace, const char *keep_previous)
{
    const char *what = "syncing";
    int error = 0;
    if (fsync(replace->fd) != 0 && errno != EINVAL && errno != EROFS) error = errno;
    if (!error) {
        what = "closing";
        int fd = replace->fd;
        replace->fd = -1;
        if (close(fd) != 0 && errno != EINTR) error = errno;
    }
    if (!error && keep_previous) {
        what = "keeping the previous file";
        error = keep_old_file(replace->path, keep_previous);
    }
    if (!error) {
        what = "renaming";
        if (rename(replace->temporary, replace->path) != 0) error = errno;
    }
    if (error) {
        sundog_status status = fail_replace(replace, what, error);
        md_replace_cancel(replace);
        return status;
    }
    sync_folder(replace->path);
    end_replace(replace);
    return SUNDOG_OK;
}
