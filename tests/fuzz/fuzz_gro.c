/* md_gro_read: whatever it accepts is a sound state. */
#include "coordinates.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return try_coordinates("a.gro", data, size, md_gro_read);
}
