/* The last frames are enough: they hold step, time and coordinates, which no other run shares. The
 * whole of a trajectory of terabytes could not be read at each checkpoint. */
#include "md/out/tail.h"
#include "md/out/crc64.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { TAIL_BYTES = 1 << 16, PIECE_BYTES = 1 << 13 };

sundog_status md_tail_sum(const char *path, int64_t end, uint64_t *sum)
{
    unsigned char bytes[PIECE_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return base_fail(SUNDOG_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    sundog_status status = SUNDOG_OK;
    *sum = 0;
    for (int64_t at = end > TAIL_BYTES ? end - TAIL_BYTES : 0; at < end;) {
        size_t wanted = end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;
        ssize_t n = pread(fd, bytes, wanted, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            status = base_fail(SUNDOG_ERR_IO, "%s: reading failed: %s", path,
                               n < 0 ? strerror(errno) : "the file is too short");
            break;
        }
        *sum = md_crc64(*sum, bytes, (size_t)n);
        at += n;
    }
    close(fd);
    return status;
}
