/* md_pdb_read: whatever it accepts is a sound state. */
#include "coordinates.h"

#include "md/in/pdb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return try_coordinates("a.pdb", data, size, md_pdb_read);
}
