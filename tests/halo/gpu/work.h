/* Work for streams, as kernels. (Not host functions and copies: those of several streams may wait
 * for each other, which ranks that wait for each other do not survive.) */
#ifndef GPU_WORK_H
#define GPU_WORK_H
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
int work_delay(void *stream, unsigned us);                  /* one thread stands still */
int work_fill(void *stream, int n_blocks, unsigned us);     /* big blocks stand still */
int work_copy(void *stream, void *to, const void *from, size_t n_words);
#ifdef __cplusplus
}
#endif
#endif
